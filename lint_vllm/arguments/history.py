"""When a flag, variable, key or keyword came, changed and went; what changes between two releases."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import field

from lint_vllm.arguments.schema import valid_keys as _valid_keys
from lint_vllm.arguments.tables import FlagTable, Option, data_text, history_of, known_releases, load, release_key, states_of
from lint_vllm.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Successor:
    """What replaces a name that went: ``words`` for people, ``flag`` where one flag (or variable) stands in.

    ``delete_is_safe``: leaving it out keeps the behaviour. ``rename_is_safe``: the value can be kept under the new name. ``key``:
    the value stands behind this key of the new flag, which takes JSON. ``single``: another new name for exactly one value.
    ``values``: values that mean another one under the new name; what is not in it cannot be translated.
    """

    words: str
    flag: str | None
    delete_is_safe: bool
    rename_is_safe: bool
    source: str
    key: str | None = None
    single: str | None = None
    values: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class History:
    """Life of a name. ``spans`` are ``(first release, first release without it | None)``, oldest first."""

    name: str
    spans: tuple[tuple[str, str | None], ...]
    deprecated_in: str | None = None
    successor: Successor | None = None

    @property
    def introduced(self) -> str:
        return self.spans[0][0]

    @property
    def removed(self) -> str | None:
        """The release without it, when the newest known one is without it."""
        return self.spans[-1][1]

    def present(self, release: str) -> bool:
        key = release_key(release)
        return any(release_key(a) <= key and (b is None or key < release_key(b)) for a, b in self.spans)

    def removed_before(self, release: str) -> str | None:
        """The release that dropped it, when it existed before ``release`` and does not exist in it."""
        key = release_key(release)
        gone = [b for _, b in self.spans if b is not None and release_key(b) <= key]
        return gone[-1] if gone and not self.present(release) else None

    def introduced_after(self, release: str) -> str | None:
        """The release that brings it (back) after ``release``."""
        key = release_key(release)
        later = [a for a, _ in self.spans if release_key(a) > key]
        return later[0] if later and not self.present(release) else None


@functools.lru_cache(maxsize=1)
def _successors() -> Mapping[str, Successor]:
    rows = json.loads(data_text("successors.json"))
    return {
        name: Successor(
            words=row["words"],
            flag=row.get("flag"),
            delete_is_safe=row.get("delete_is_safe", False),
            rename_is_safe=row.get("rename_is_safe", False),
            source=row["source"],
            key=row.get("key"),
            single=row.get("single"),
            values=row.get("values", {}),
        )
        for row in rows
        for name in row["names"]
    }


def successor_of(name: str) -> Successor | None:
    """What replaces a removed or deprecated flag (``--task``) or variable (``VLLM_USE_V1``)."""
    return _successors().get(name)


def _spans(points: list[tuple[str, bool]]) -> tuple[tuple[str, str | None], ...]:
    spans: list[tuple[str, str | None]] = []
    start: str | None = None
    for release, present in points:
        if present and start is None:
            start = release
        elif not present and start is not None:
            spans.append((start, release))
            start = None
    if start is not None:
        spans.append((start, None))
    return tuple(spans)


@functools.lru_cache(maxsize=1)
def _flag_points() -> dict[str, tuple[dict[str, bool], str | None]]:
    """Every spelling -> release of a step -> whether the spelling exists from there; and first deprecation."""
    present: dict[str, dict[str, bool]] = {}
    deprecated: dict[str, str] = {}
    for (key,), steps in history_of("options").items():
        if not key.startswith("-"):
            continue
        last: frozenset[str] = frozenset()
        for release, state in states_of(steps):
            now = frozenset() if state is None else frozenset(state.get("flags", (key,)))
            for flag in now - last:
                present.setdefault(flag, {})[release] = True
            for flag in last - now:
                present.setdefault(flag, {}).setdefault(release, False)
            if state is not None and state.get("deprecated") is True:
                for flag in now:
                    deprecated.setdefault(flag, release)
            last = now
    return {flag: (points, deprecated.get(flag)) for flag, points in present.items()}


def flag_history(name: str) -> History | None:
    """Life of an option spelling (``--task``, ``-tp``, ``--no-enable-prefix-caching``); ``None`` if it never existed."""
    flag = name if name.startswith("-") else "--" + name.replace("_", "-")
    found = _flag_points().get(flag)
    if found is None:
        return None
    points, deprecated = found
    ordered = sorted(points.items(), key=lambda item: release_key(item[0]))
    return History(flag, _spans(ordered), deprecated, successor_of(flag))


@functools.lru_cache(maxsize=1024)
def env_history(name: str) -> History | None:
    """Life of an environment variable of ``vllm/envs.py``; ``None`` for names that vLLM never read there."""
    steps = history_of("env").get((name,))
    if steps is None:
        return None
    return History(name, _spans([(release, state is not None) for release, state in steps]), None, successor_of(name))


@functools.lru_cache(maxsize=1024)
def keyword_history(owner: str, name: str) -> History | None:
    """Life of a keyword argument of ``LLM``, ``EngineArgs`` or ``AsyncEngineArgs``."""
    owners = (owner, "EngineArgs") if owner == "LLM" else (owner,)
    points: list[tuple[str, bool]] = []
    for release in known_releases():
        points.append((release, any(_present(history_of("python").get((who, name)), release) for who in owners)))
    spans = _spans(points)
    return History(name, spans, None, successor_of("--" + name.replace("_", "-"))) if spans else None


@functools.lru_cache(maxsize=1024)
def key_history(cls: str, key: str) -> History | None:
    """Life of a key of a configuration class."""
    steps = history_of("classes").get((cls, key))
    if steps is None:
        return None
    return History(key, _spans([(release, state is not None) for release, state in states_of(steps)]))


def _present(steps: list[list[object]] | None, release: str) -> bool:
    last = False
    for at, state in steps or ():
        if release_key(str(at)) > release_key(release):
            break
        last = state is not None
    return last


def valid_keys(cls: str, release: str) -> frozenset[str]:
    """Keys that a configuration class takes in a known release; empty for a class it does not have."""
    return _valid_keys(load(release), cls)


def choices(flag: str, release: str) -> tuple[str, ...] | None:
    """The values a flag is limited to in a known release; ``None`` for no list."""
    option = load(release).lookup(flag)
    if option is None or option.choices is None:
        return None
    return tuple("None" if choice is None else str(choice) for choice in option.choices)


def is_switch(flag: str, release: str) -> bool:
    option = load(release).lookup(flag)
    return option is not None and option.is_switch


def negative_of(flag: str, release: str) -> str | None:
    """The spelling that turns a switch off in a known release."""
    option = load(release).lookup(flag)
    return option.negative if option is not None else None


@dataclass(frozen=True, slots=True)
class Change:
    """One difference between two releases.

    ``kind``: ``added``, ``removed``, ``default`` (before/after), ``choices`` (before/after), ``deprecated``.
    """

    kind: str
    flag: str
    dest: str
    before: object = None
    after: object = None
    successor: Successor | None = None


def changes(old: str, new: str) -> tuple[Change, ...]:
    """What an upgrade from one known release to another changes, by flag."""
    a, b = load(old), load(new)
    found: list[Change] = []
    for flag in sorted(set(a.by_flag) | set(b.by_flag)):
        before, after = a.by_flag.get(flag), b.by_flag.get(flag)
        if after is None and before is not None:
            found.append(Change("removed", flag, before.dest, successor=successor_of(flag)))
        elif before is None and after is not None:
            found.append(Change("added", flag, after.dest))
        elif before is not None and after is not None and flag == after.flag:
            found += _moved(before, after)
    return tuple(found)


def _moved(before: Option, after: Option) -> list[Change]:
    found = []
    if before.default != after.default:
        found.append(Change("default", after.flag, after.dest, before.default, after.default))
    if before.choices != after.choices:
        found.append(Change("choices", after.flag, after.dest, before.choices, after.choices))
    if after.deprecated and not before.deprecated:
        found.append(Change("deprecated", after.flag, after.dest, successor=successor_of(after.flag)))
    return found


def newly_ambiguous(prefix: str, table: FlagTable) -> tuple[str, ...]:
    """The options of a release that an abbreviation could mean; one entry means it is read as that."""
    if prefix in table.by_flag:
        return (prefix,)
    return tuple(sorted(flag for flag in table.by_flag if flag.startswith(prefix)))


def once_took_value(flag: str) -> bool:
    """Whether a switch took a value in some known release (``--enable-chunked-prefill=false`` up to 0.8)."""
    options = (load(release).by_flag.get(flag) for release in known_releases())
    return any(option is not None and not option.is_switch for option in options)
