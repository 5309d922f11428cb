"""The options, variables and configuration classes of each vLLM release, read from the shipped history.

The data (``lint_vllm/data/flags/*.jsonl``) was written by vLLM's own parsers, release by release (``tools/dump_flags.py``);
each line holds one thing and the releases in which it changed. A table of one release is put together on first use.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any, Literal

from lint_vllm import packaged
from lint_vllm.frozen import dataclass

Relation = Literal["exact", "between", "newer", "older"]
State = dict[str, Any]
Steps = list[tuple[str, "State | None"]]


@functools.lru_cache(maxsize=1024)
def release_key(release: str) -> tuple[int, ...]:
    """``0.10.1.1`` -> (0, 10, 1, 1); suffixes such as ``rc1`` and ``.post1`` are cut off."""
    numbers: list[int] = []
    for part in release.strip().lstrip("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def data_text(name: str) -> str:
    """The text of a data file of this part."""
    return packaged.data_text(f"flags/{name}")


@functools.lru_cache(maxsize=1)
def known_releases() -> tuple[str, ...]:
    """Every release with a table, oldest first."""
    return tuple(json.loads(data_text("releases.json")))


@functools.lru_cache(maxsize=8)
def history_of(file: str) -> dict[tuple[str, ...], list[Any]]:
    """Name -> ``[[release, changes | None], ...]`` of one data file (``options``, ``env``, ``classes``, ``enums``, ``python``)."""
    found: dict[tuple[str, ...], list[Any]] = {}
    for line in json.loads("[" + data_text(f"{file}.jsonl").strip().replace("\n", ",") + "]"):
        found[tuple(line[:-1])] = line[-1]
    return found


def states_of(steps: list[Any]) -> Iterator[tuple[str, State | None]]:
    """The full state after each step; ``None`` where the thing is gone."""
    state: State | None = None
    for release, changes in steps:
        if changes is None:
            state = None
        elif state is None:
            state = dict(changes)
        else:
            state = {key: value for key, value in {**state, **changes}.items() if key not in changes.get("-", ()) and key != "-"}
        yield release, state


def _at(steps: list[Any], key: tuple[int, ...]) -> State | None:
    found: State | None = None
    for release, state in states_of(steps):
        if release_key(release) > key:
            break
        found = state
    return found


def _all_at(file: str, release: str) -> dict[tuple[str, ...], State]:
    key = release_key(release)
    states = ((name, _at(steps, key)) for name, steps in history_of(file).items())
    return {name: state for name, state in states if state is not None}


def release_table(release: str) -> dict[str, Any]:
    """The whole table of a known release, as ``tools/dump_flags.py`` wrote it (names sorted)."""
    classes: dict[str, Any] = {}
    for name, state in _all_at("classes", release).items():
        if len(name) == 1:
            classes[name[0]] = {**state, "fields": {}}
        else:
            classes[name[0]]["fields"][name[1]] = state
    return {
        "release": release,
        "options": {name: state for (name,), state in _all_at("options", release).items()},
        "classes": classes,
        "enums": {name: state["members"] for (name,), state in _all_at("enums", release).items()},
        "env": {name: state for (name,), state in _all_at("env", release).items()},
        "python": _grouped("python", release),
        "values": _grouped("values", release),
    }


def _grouped(file: str, release: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for owner, name in _all_at(file, release):
        found.setdefault(owner, []).append(name)
    return found


@dataclass(frozen=True, slots=True)
class Option:
    """One option of one release.

    ``type`` names the converter: ``int``, ``human_readable_int``, ``optional(str)``, ``dataclass(KVTransferConfig)``.
    ``kind``: ``store``, ``append``, ``true``/``false`` (plain switches), ``bool`` (a switch with negative spellings ``off``),
    or the name of vLLM's own action. ``only`` is ``serve`` or ``api_server`` where the other start-up lacks it.
    """

    flag: str
    dest: str
    flags: tuple[str, ...]
    kind: str = "store"
    off: frozenset[str] = frozenset()
    type: str = "str"
    nargs: str | int | None = None
    choices: tuple[object, ...] | None = None
    const: object = None
    default: object = None
    required: bool = False
    deprecated: bool = False
    mentions_deprecated: bool = False
    """The help text speaks of deprecation, which may concern a value only."""
    group: str | None = None
    only: str | None = None

    @property
    def is_switch(self) -> bool:
        return self.kind in ("true", "false", "const", "bool")

    @property
    def is_json(self) -> bool:
        return any(word in self.type for word in ("json", "dict", "dataclass", "from_cli", "keywords"))

    @property
    def wants_integer(self) -> bool:
        return "int" in self.type and not self.is_json

    @property
    def config_class(self) -> str | None:
        """The configuration class whose fields are the keys of the JSON value."""
        for word in ("dataclass(", "from_cli(", "from_json(", "keywords("):
            _, found, rest = self.type.partition(word)
            if found:
                return rest.partition(")")[0]
        return None

    @property
    def takes_many(self) -> bool:
        """Swallows every word up to the next option."""
        return self.nargs in ("+", "*")

    @property
    def negative(self) -> str | None:
        """The spelling that turns a switch off; ``None`` for a switch that can only be left out."""
        if self.kind != "bool":
            return None
        plain = f"--no-{self.flag[2:]}"
        return plain if plain in self.off else min(self.off, default=None)


def _option(flag: str, state: State) -> Option:
    nargs = state.get("nargs")
    choices = state.get("choices")
    return Option(
        flag=flag,
        dest=state["dest"],
        flags=tuple(state.get("flags", (flag,))),
        kind=state.get("kind", "store"),
        off=frozenset(state.get("off", ())),
        type=state.get("type", "str"),
        nargs=nargs,
        choices=None if choices is None else tuple(choices),
        const=state.get("const"),
        default=state.get("default"),
        required=bool(state.get("required")),
        deprecated=state.get("deprecated") is True,
        mentions_deprecated="deprecated" in state,
        group=state.get("group"),
        only=state.get("only"),
    )


@dataclass(frozen=True, slots=True)
class ClassField:
    """One key of a configuration class: ``type`` is a shape such as ``["union", "int", "none"]``."""

    name: str
    type: Any
    default: object
    settable: bool = True
    validator: str | None = None
    limits: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ConfigClass:
    """``extra`` is ``forbid`` where an unknown key is an error, else ``ignore``."""

    name: str
    extra: str
    fields: Mapping[str, ClassField]


@dataclass(frozen=True, eq=False)
class FlagTable:
    """Everything one release accepts."""

    release: str
    options: tuple[Option, ...]

    @functools.cached_property
    def by_flag(self) -> Mapping[str, Option]:
        """Every spelling -> option; positionals are not in it."""
        return {flag: option for option in self.options if option.flag.startswith("-") for flag in option.flags}

    @functools.cached_property
    def by_dest(self) -> Mapping[str, Option]:
        found: dict[str, Option] = {}
        for option in self.options:
            found.setdefault(option.dest, option)
        return found

    @functools.cached_property
    def defaults(self) -> Mapping[str, object]:
        return {option.dest: option.default for option in self.options}

    @functools.cached_property
    def env(self) -> Mapping[str, State]:
        return {name: state for (name,), state in _all_at("env", self.release).items()}

    @functools.cached_property
    def enums(self) -> Mapping[str, Mapping[str, object]]:
        return {name: state["members"] for (name,), state in _all_at("enums", self.release).items()}

    @functools.cached_property
    def classes(self) -> Mapping[str, ConfigClass]:
        heads: dict[str, str] = {}
        fields: dict[str, dict[str, ClassField]] = {}
        for name, state in _all_at("classes", self.release).items():
            if len(name) == 1:
                heads[name[0]] = state["extra"]
                continue
            limits = {key: state[key] for key in state if key not in ("type", "default", "init", "validator")}
            fields.setdefault(name[0], {})[name[1]] = ClassField(
                name[1], state["type"], state["default"], state.get("init", True), state.get("validator"), limits
            )
        return {name: ConfigClass(name, extra, fields.get(name, {})) for name, extra in heads.items()}

    @functools.cached_property
    def python(self) -> Mapping[str, frozenset[str]]:
        """``LLM``, ``EngineArgs``, ``AsyncEngineArgs`` -> keyword arguments. ``LLM`` hands what it does not name to EngineArgs."""
        found = _grouped("python", self.release)
        found["LLM"] = [*found.get("LLM", ()), *found.get("EngineArgs", ())]
        return {owner: frozenset(names) for owner, names in found.items()}

    @functools.cached_property
    def values(self) -> Mapping[str, frozenset[str]]:
        """Dest -> the values that vLLM itself brings for an option that takes any string (``quantization``, ``load_format``,
        ``kv_cache_dtype``, ``tool_call_parser``, ``reasoning_parser``). Plug-ins may add more; absent: not known."""
        return {dest: frozenset(values) for dest, values in _grouped("values", self.release).items()}

    def lookup(self, name: str) -> Option | None:
        """By dest, or by any spelling with or without dashes."""
        dashed = "--" + name.lstrip("-").replace("_", "-")
        return self.by_flag.get(name) or self.by_flag.get(dashed) or self.by_dest.get(name.lstrip("-").replace("-", "_"))


@functools.lru_cache(maxsize=64)
def load(release: str) -> FlagTable:
    """The table of a known release. Raises ``KeyError`` for one without a table (see :func:`table_for`)."""
    if release not in known_releases():
        raise KeyError(release)
    return FlagTable(release, tuple(_option(name, state) for (name,), state in _all_at("options", release).items()))


@dataclass(frozen=True, slots=True)
class TableChoice:
    """The table a version is read with, and how the two relate."""

    table: FlagTable
    relation: Relation


def table_release(version: str) -> tuple[str, Relation]:
    """The known release whose table a version is read with: the newest that is not newer; the oldest for older ones."""
    wanted, releases = release_key(version), known_releases()
    if not wanted or wanted > release_key(releases[-1]):
        return releases[-1], "newer"
    if wanted < release_key(releases[0]):
        return releases[0], "older"
    found = max((r for r in releases if release_key(r) <= wanted), key=release_key)
    return found, "exact" if release_key(found) == wanted else "between"


def table_for(version: str) -> TableChoice:
    release, relation = table_release(version)
    return TableChoice(load(release), relation)
