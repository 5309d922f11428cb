"""What files say about accelerators: the vocabulary, reading it out of a text, and turning a value into cards.

The vocabulary (``Hint.kind``) and the tables of instance types are ``data/hints.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import PurePath
from typing import Any, cast

from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.facts.card import Card
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Hint
from lint_vllm.packaged import data_text
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span

_SUFFIXES = {"yaml": (".yaml", ".yml", ".tpl", ".gotmpl", ".j2", ".jinja"), "py": (".py", ".ipynb"), "ipynb": (".ipynb",)}
_EXPRESSION = pattern(r"^(?P<lead>[ \t]*(?:-[ \t]+)?)(?:key|labelKey)[ \t]*:[ \t]*[\"']?(?P<key>[\w./-]+)", re.MULTILINE)
_ITEM = pattern(r"[\w.:!+-]+")


@dataclass(frozen=True, slots=True)
class Kind:
    """One way in which files name an accelerator; see the note in ``data/hints.json``."""

    id: str
    says: str
    regex: str | None = None
    needles: tuple[str, ...] = ()
    card: str | None = None
    count: str | None = None
    memory: str | None = None
    device: str | None = None
    vendor: str | None = None
    devices: Mapping[str, str] | None = None
    vendors: Mapping[str, str] | None = None
    labels: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    map: Mapping[str, Any] | None = None
    files: tuple[str, ...] = ()

    @property
    def pattern(self) -> re.Pattern[str] | None:
        return None if self.regex is None else _compiled(self.regex)


@dataclass(frozen=True, slots=True)
class Reading:
    """What one hint comes to: any of ``cards``; how many of them the process has, or the machine."""

    hint: Hint
    says: str
    cards: tuple[Card, ...] = ()
    count: int | None = None
    node_count: int | None = None
    memory_mib: int | None = None
    limit_mib: int | None = None
    profile: str | None = None
    device: str | None = None
    vendor: str | None = None

    @property
    def origin(self) -> str:
        return f"{self.says} {self.hint.value}".strip()


def kinds() -> Mapping[str, Kind]:
    """The vocabulary: id -> kind."""
    return _kinds()


def hints_in_text(source: SourceFile, span: Span | None = None) -> tuple[Hint, ...]:
    """Everything that a file, or a part of it, says about accelerators, in order of the text.

    ``value`` is exactly as written; several values of one node selector expression are joined by ``, ``.
    """
    start, end = (0, len(source.text)) if span is None else (span.start, span.end)
    found = [*_plain_hints(source, start, end), *_expression_hints(source, start, end)]
    return tuple(sorted(found, key=lambda hint: (hint.span.start, hint.span.end)))


# -- text --------------------------------------------------------------------------------------------------------------


def _plain_hints(source: SourceFile, start: int, end: int) -> Iterator[Hint]:
    text = source.text
    for kind in _kinds().values():
        # the needles save most patterns from being compiled at all
        if kind.regex is None or not _reads(kind, source.path) or not any(key in text for key in (*kind.needles, *kind.labels)):
            continue
        for match in _compiled(kind.regex).finditer(text, start, end):
            groups = match.groupdict()
            name = "value" if groups.get("value") is not None else "value2"
            value = groups[name].strip()
            number = groups.get("count") or groups.get("count2")
            if not value or _is_comment_line(text, match.start(), kind):
                continue
            at = match.start(name)
            yield Hint(kind.id, value, source.span(at, at + len(value)), int(number) if number else None)


def _is_comment_line(text: str, at: int, kind: Kind) -> bool:
    """Commented-out settings say nothing; ``#SBATCH`` lines are comments that count."""
    line = text[text.rfind("\n", 0, at) + 1 : at].lstrip()
    return (
        line.startswith(("#", "//")) and not line.startswith(("#SBATCH", "#PBS", "#$", "#BSUB")) and not kind.id.startswith("slurm")
    )


def _reads(kind: Kind, path: str) -> bool:
    if not kind.files:
        return True
    suffix = PurePath(path).suffix.lower()
    return any(suffix in _SUFFIXES[group] for group in kind.files)


def _expression_hints(source: SourceFile, start: int, end: int) -> Iterator[Hint]:
    """``key: LABEL`` with ``operator: In`` and ``values``, as node affinity, node pools and charts write them."""
    labels = _labels()
    for match in _EXPRESSION.finditer(source.text, start, end):
        kind = labels.get(match["key"])
        if kind is not None:
            yield from _expression(source, kind, match, end)


def _expression(source: SourceFile, kind: str, match: re.Match[str], end: int) -> Iterator[Hint]:
    column, first = len(match["lead"]), source.position(match.start())[0]
    values: list[tuple[str, int]] = []
    inside = False
    for number in range(first + 1, min(first + 40, len(source.line_starts)) + 1):
        line, offset = source.line_text(number), source.line_starts[number - 1]
        stripped = line.lstrip(" \t")
        if not stripped or stripped.startswith("#"):
            continue
        indent = len(line) - len(stripped)
        if indent < column or offset >= end:
            break
        if stripped.startswith("operator") and not re.match(r"operator[ \t]*:[ \t]*[\"']?In\b", stripped):
            return
        if stripped.startswith(("values", "labelValues")):
            inside, stripped = True, stripped.partition(":")[2]
            values += [(m.group(), offset + line.rindex(stripped) + m.start()) for m in _ITEM.finditer(stripped.split(" #")[0])]
        elif inside and stripped.startswith("-"):
            item = _ITEM.search(stripped[1:])
            if item is not None:
                values.append((item.group(), offset + indent + 1 + item.start()))
        elif indent == column:
            inside = False
    if values:
        last, at = values[-1]
        yield Hint(kind, ", ".join(v for v, _ in values), source.span(values[0][1], at + len(last)))


# -- readings ----------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def read(hint: Hint) -> Reading | None:
    """What a hint comes to; ``None`` for a kind outside the vocabulary."""
    kind = _kinds().get(hint.kind)
    if kind is None:
        return None
    device = kind.device or _by_prefix(kind.devices, hint.value)
    reading = Reading(hint, kind.says, device=device, vendor=kind.vendor or _by_prefix(kind.vendors, hint.value))
    if kind.memory is not None and hint.value.isdigit():
        field = "limit_mib" if kind.memory == "limit-mib" else "memory_mib"
        return replace(reading, **{field: int(hint.value)})  # type: ignore[arg-type]
    count = hint.count
    if kind.card == "mig":
        return replace(reading, profile=hint.value, count=count)
    cards: list[Card] = []
    node: int | None = None
    for value in _choices(kind, hint.value):
        name, _, tail = value.partition(":") if kind.card in ("choices", "grammar") else (value, "", "")
        for card, machine in _cards_of(kind, name):
            cards.append(card)
            node = machine if node is None or machine is None else min(node, machine)
        if count is None and kind.count == "given" and tail.strip().isdigit():
            count = int(tail)
    if kind.count == "given" and count is None and kind.card in (None, "grammar") and hint.value.strip("\"'").isdigit():
        count = int(hint.value.strip("\"'"))
    if kind.count == "node":
        node, count = (count if count is not None else node), None
    return replace(reading, cards=tuple(cards), count=count, node_count=node)


def _by_prefix(names: Mapping[str, str] | None, value: str) -> str | None:
    return next((meant for prefix, meant in (names or {}).items() if value.lower().startswith(prefix)), None)


def _choices(kind: Kind, value: str) -> Iterator[str]:
    if kind.card == "grammar":
        yield from _dstack(value)
    elif kind.card == "choices":
        inner = value.strip().strip("{}[]")
        for part in re.split(r"[,\n]", inner):
            words = re.sub(r"\s*:\s*", ":", part.strip().lstrip("- ").strip("\"'{}[] "))
            if words:
                yield words.replace('"', "").replace("'", "")
    elif ", " in value:
        yield from value.split(", ")
    else:
        yield value


def _dstack(value: str) -> Iterator[str]:
    """``A100:80GB:2``, ``nvidia:24GB``, ``H100,A100:8``: names (with the size that narrows them), then ``:count``."""
    parts = [p.strip().strip("\"'") for p in value.strip().strip("\"'").split(":")]
    size = next((p for p in parts if re.fullmatch(r"\d+(?:GB|G)", p, re.IGNORECASE)), "")
    count = next((p for p in parts if re.fullmatch(r"\d+", p)), "")
    for name in next((p for p in parts if re.search(r"[A-Za-z]{1,2}\d|RTX", p) and p != size), "").split(","):
        if name:
            yield f"{name} {size}".strip() + (f":{count}" if count else "")


def _cards_of(kind: Kind, value: str) -> Iterator[tuple[Card, int | None]]:
    """Cards that a value may stand for, each with the number in the machine where the tables tell it."""
    if kind.card in ("table", "choices", "family"):
        rows = _family_rows(kind, value) if kind.card == "family" else _rows(kind, value)
        for row in rows:
            card = find(row["gpu"]) if row.get("gpu") else None
            if card is None:
                continue
            if "share_gib" in row:
                if row["share_gib"] is None:
                    continue
                card = replace(
                    card, total=Quantity(row["share_gib"] * GIB * 0.9, row["share_gib"] * GIB * 0.95, row["share_gib"] * GIB)
                )
            yield card, row.get("count")
        if not rows and kind.card == "choices" and (card := find(value)) is not None:
            yield card, None
        return
    if kind.card == "map" and kind.map is not None and (meant := _folded(kind.id).get(value.lower(), "")) != "":
        names = meant if isinstance(meant, list) else [meant]
        counts = [n for n in names if isinstance(n, int)]
        found = [card for n in names if isinstance(n, str) and (card := find(n)) is not None]
        for card in found:
            yield card, counts[0] if counts else None
        if found:
            return
    if kind.card in ("map", "name", "product", "grammar") and kind.id != "slurm-partition":
        name = re.sub(r"-SHARED$", "", value)
        spelled = {"vast": name.replace("_", " "), "slurm-gres": name.upper()}.get(kind.id, name.rstrip("!+"))
        card = find(spelled)
        if card is not None:
            yield card, None


def _rows(kind: Kind, value: str) -> list[Mapping[str, Any]]:
    wanted = value.lower().removeprefix("ml.")  # SageMaker writes ml.g5.xlarge
    return [row for table in kind.tables if (row := _table(table).get(wanted)) is not None][:1]


def _family_rows(kind: Kind, value: str) -> list[Mapping[str, Any]]:
    found = {}
    for table in kind.tables:
        for name, row in _table(table).items():
            if name.startswith(value.lower() + ".") and row.get("gpu"):
                found[row["gpu"]] = {"gpu": row["gpu"]}
    return list(found.values())


@cache
def _folded(kind: str) -> Mapping[str, Any]:
    return {key.lower(): value for key, value in (_kinds()[kind].map or {}).items() if value is not None}


# -- data --------------------------------------------------------------------------------------------------------------


def find(name: str) -> Card | None:
    """:func:`lint_vllm.facts.cards.find_card`, loaded on first use."""
    from lint_vllm.facts.cards import find_card

    return find_card(name)


@cache
def _data() -> Mapping[str, Any]:
    text = data_text("hints.json")
    return cast("Mapping[str, Any]", json.loads(text))


@cache
def _kinds() -> Mapping[str, Kind]:
    found = {}
    for row in _data()["hints"]:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in row.items() if key != "sources"}
        found[row["id"]] = Kind(**{"says": row["id"], **values})
    return found


@cache
def _labels() -> Mapping[str, str]:
    return {label: kind.id for kind in _kinds().values() for label in kind.labels}


@cache
def _table(name: str) -> Mapping[str, Mapping[str, Any]]:
    return {key.lower(): row for key, row in _data()["tables"][name].items()}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
