"""What a Python expression is worth to a reader who does not run it: known scalars, lists, tables, names, or not known.

Lists and tables are mutable and shared, as in Python, so that a command built with ``append`` and ``+=`` ends up whole.
``conditional`` marks what was added under a condition, ``soft`` a default that the caller of the script may override.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from lint_vllm.extract.shell_values import Piece, ShellWord
from lint_vllm.launch import Word
from lint_vllm.source import Span, Text

MISSING: Any = type("Missing", (), {"__repr__": lambda self: "MISSING"})()
"""The literal of a value that is not known (``None`` is a value of Python)."""


@dataclass(slots=True, eq=False)
class Scalar:
    """A string, number, boolean or ``None``. ``place`` is the expression; ``text`` is ``str()`` of it, with origins.

    With ``unknown`` set, ``text`` is the expression as written, except for strings that are known in part: there
    ``holes`` are the unknown parts, as start, end and reason in ``text``.
    """

    place: Text
    text: Text
    literal: Any = MISSING
    unknown: str | None = None
    defined: Span | None = None
    quote: str = ""
    soft: bool = False
    holes: tuple[Hole, ...] = ()
    joined: Many | None = None
    """The list that ``" ".join`` made this of."""

    @property
    def known(self) -> bool:
        return self.unknown is None

    def used_at(self, place: Text) -> Scalar:
        """The same value behind a name that stands at ``place``."""
        if not self.known and not self.holes:
            return replace(self, place=place, text=place)
        return replace(self, place=place, defined=self.defined or self.text.span)


@dataclass(slots=True)
class Item:
    value: Value
    conditional: bool = False


@dataclass(slots=True, eq=False)
class Many:
    """A list or tuple. ``open`` says why it may hold more than ``items``."""

    place: Text
    items: list[Item] = field(default_factory=list)
    open: str | None = None
    depth: int = 0
    """Number of conditions around its creation."""


@dataclass(slots=True)
class Entry:
    key: Scalar
    value: Value
    conditional: bool = False

    @property
    def span(self) -> Span:
        value = self.value.place.span
        return self.key.place.span.to(value) if value.start >= self.key.place.span.start else self.key.place.span


@dataclass(slots=True, eq=False)
class Table:
    """A dict, or the keyword arguments of a call."""

    place: Text
    entries: list[Entry] = field(default_factory=list)
    open: str | None = None
    depth: int = 0
    origin: str = ""
    """``EngineArgs`` for the fields of an engine-arguments object, ``os.environ`` for a copy of the environment."""

    def get(self, key: object) -> Entry | None:
        return next((e for e in reversed(self.entries) if e.key.literal == key), None)

    def put(self, key: Scalar, value: Value, conditional: bool) -> None:
        """Assign a key: a value set under a condition where another stood before is not known."""
        old = self.get(key.literal) if key.known else None
        if old is None:
            self.entries.append(Entry(key, value, conditional))
            return
        if conditional:
            value = joined(old.value, value)
        self.entries[self.entries.index(old)] = Entry(key, value, conditional and old.conditional)


@dataclass(slots=True, eq=False)
class Symbol:
    """Something imported or built in, by its full name: ``vllm.LLM``."""

    place: Text
    name: str


@dataclass(slots=True, eq=False)
class Callable_:
    """A function or class of the file, or a bound method."""

    place: Text
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
    scope: Any
    owner: Callable_ | None = None
    """The class of a method."""
    bases: tuple[str, ...] = ()
    attributes: dict[str, Value] = field(default_factory=dict)
    """Of a class: fields of the class and of ``self``, taken together."""
    runs: int = 0
    busy: bool = False


@dataclass(slots=True, eq=False)
class Instance:
    """An object that a call returned: what was called, with what, and the object whose method it was."""

    place: Text
    name: str
    arguments: tuple[Value, ...] = ()
    keywords: Table | None = None
    receiver: Value | None = None
    kind: Callable_ | None = None
    """The class, for an object of a class of the file."""
    attributes: dict[str, Value] = field(default_factory=dict)


Hole: TypeAlias = "tuple[int, int, str]"
Value: TypeAlias = "Scalar | Many | Table | Symbol | Callable_ | Instance"


def unknown(place: Text, reason: str) -> Scalar:
    return Scalar(place, place, unknown=reason)


def computed(place: Text) -> str:
    """The reason for what only a run of the program could tell."""
    code = " ".join(place.value.split())
    return f"{code if len(code) <= 60 else code[:57] + '...'} is computed at run time"


def constant(place: Text, literal: object, soft: bool = False) -> Scalar:
    """A computed value, which stands as a whole for the expression that yields it."""
    value = str(literal)
    text = place if place.value == value else Text.placed(value, place.span)
    return Scalar(place, text, literal, soft=soft)


def known_literal(value: Value) -> Any:
    """The Python object of a wholly known value, else ``MISSING``."""
    if isinstance(value, Scalar):
        return value.literal if value.known else MISSING
    if isinstance(value, Many):
        items = [known_literal(i.value) for i in value.items]
        if value.open or any(i.conditional for i in value.items) or any(i is MISSING for i in items):
            return MISSING
        return items
    if isinstance(value, Table):
        pairs = [(e.key.literal, known_literal(e.value)) for e in value.entries]
        if value.open or any(e.conditional for e in value.entries):
            return MISSING
        if any(v is MISSING or k is MISSING for k, v in pairs):
            return MISSING
        return dict(pairs)
    return MISSING


def why_unknown(value: Value) -> str | None:
    """The reason why a value is not wholly known; ``None`` when it is."""
    if isinstance(value, Scalar):
        return value.unknown
    if known_literal(value) is not MISSING:
        return None
    if isinstance(value, Many):
        return value.open or next(filter(None, (why_unknown(i.value) for i in value.items)), "parts depend on a condition")
    if isinstance(value, Table):
        inner = (why_unknown(e.key) or why_unknown(e.value) for e in value.entries)
        return value.open or next(filter(None, inner), "parts depend on a condition")
    return computed(value.place)


def word_of(value: Value, conditional: bool = False) -> Word:
    """A value as an argument: its ``str()``; lists and tables as they are written."""
    if isinstance(value, Scalar):
        if value.holes:
            return ShellWord(
                value.text, value.place.span, value.quote, value.unknown, None, conditional, pieces_of(value, conditional)
            )
        return Word(value.text, value.place.span, value.quote, value.unknown, value.defined, conditional)
    return Word(value.place, value.place.span, unknown=why_unknown(value), conditional=conditional)


def truth(value: Value) -> bool | None:
    """Whether a condition holds; ``None`` when it depends on run time. Defaults that can be overridden do depend on it."""
    if isinstance(value, Scalar):
        return bool(value.literal) if value.known and not value.soft else None
    if isinstance(value, Many):
        return True if any(not i.conditional for i in value.items) else None if value.items or value.open else False
    if isinstance(value, Table):
        return True if any(not e.conditional for e in value.entries) else None if value.entries or value.open else False
    return None


DEPENDS = "the value depends on a condition"


def joined(first: Value, second: Value) -> Value:
    """What is known where one of two values holds."""
    if first is second:
        return first
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        if first.known and second.known and first.literal == second.literal and type(first.literal) is type(second.literal):
            return replace(first, soft=first.soft or second.soft)
        if not first.known and not second.known and first.text.value == second.text.value:
            return first
        return Scalar(first.place, first.place, unknown=DEPENDS)
    if isinstance(first, Many) and isinstance(second, Many):
        return _joined_many(first, second)
    if isinstance(first, Table) and isinstance(second, Table):
        return _joined_tables(first, second)
    for one, other in ((first, second), (second, first)):
        if isinstance(one, Scalar) and (one.literal is None or not one.known):
            return other
    if isinstance(first, Symbol) and isinstance(second, Symbol) and first.name == second.name:
        return first
    return Scalar(first.place, first.place, unknown=DEPENDS)


def _same(first: Value, second: Value) -> bool:
    if first is second:
        return True
    if isinstance(first, Scalar) and isinstance(second, Scalar):
        return first.text.value == second.text.value and first.known == second.known
    return False


def _joined_many(first: Many, second: Many) -> Many:
    together = 0
    for one, other in zip(first.items, second.items, strict=False):
        if not _same(one.value, other.value):
            break
        together += 1
    items = [Item(i.value, i.conditional or j.conditional) for i, j in zip(first.items[:together], second.items, strict=False)]
    rest = [*first.items[together:], *second.items[together:]]
    items += [Item(i.value, True) for i in rest]
    longest = first if len(first.items) >= len(second.items) else second
    return Many(longest.place, items, first.open or second.open, max(first.depth, second.depth))


def _joined_tables(first: Table, second: Table) -> Table:
    entries: list[Entry] = []
    for entry in first.entries:
        other = second.get(entry.key.literal) if entry.key.known else None
        if other is None:
            entries.append(Entry(entry.key, entry.value, True))
        else:
            entries.append(Entry(entry.key, joined(entry.value, other.value), entry.conditional or other.conditional))
    for entry in second.entries:
        if not entry.key.known or first.get(entry.key.literal) is None:
            entries.append(Entry(entry.key, entry.value, True))
    origin = first.origin if first.origin == second.origin else ""
    return Table(first.place, entries, first.open or second.open, max(first.depth, second.depth), origin)


def soften(value: Value) -> Value:
    """A default: known, but the caller may give another."""
    return replace(value, soft=True) if isinstance(value, Scalar) and value.known else value


def hole(place: Text, reason: str) -> Scalar:
    """An unknown part of a string; it stands there as written."""
    return Scalar(place, place, unknown=reason, holes=((0, len(place), reason),))


def concatenated(place: Text, parts: Iterable[Scalar]) -> Scalar:
    """One string of several; unknown parts become holes."""
    pieces = list(parts)
    text = Text.join([p.text for p in pieces], empty=place[:0])
    holes: list[Hole] = []
    at = 0
    for piece in pieces:
        own = piece.holes or (() if piece.known else ((0, len(piece.text), piece.unknown or ""),))
        holes += [(at + start, at + end, reason) for start, end, reason in own]
        at += len(piece.text)
    literal = MISSING if holes else text.value
    return Scalar(place, text, literal, holes[0][2] if holes else None, soft=any(p.soft for p in pieces), holes=tuple(holes))


def sliced(whole: Scalar, start: int, end: int, place: Text | None = None) -> Scalar:
    """A part of a string, with the holes that lie in it."""
    text = whole.text[start:end]
    holes = tuple((max(s, start) - start, min(e, end) - start, r) for s, e, r in whole.holes if s < end and start < e)
    literal = MISSING if holes else text.value
    return Scalar(place or text, text, literal, holes[0][2] if holes else None, soft=whole.soft, holes=holes)


def pieces_of(value: Scalar, conditional: bool = False) -> tuple[Piece, ...]:
    """A string as known and unknown pieces."""
    if value.known or not value.holes:
        return (Piece(value.text, value.unknown, conditional),)
    pieces: list[Piece] = []
    at = 0
    for start, end, reason in value.holes:
        if at < start:
            pieces.append(Piece(value.text[at:start], None, conditional))
        pieces.append(Piece(value.text[start:end], reason, conditional))
        at = end
    if at < len(value.text):
        pieces.append(Piece(value.text[at:], None, conditional))
    return tuple(pieces)


def each(value: Value) -> list[Item] | None:
    """The rounds of a loop over a value; ``None`` when they are not known."""
    if isinstance(value, Many) and value.open is None:
        return value.items
    if isinstance(value, Table) and value.open is None:
        return [Item(e.key, e.conditional) for e in value.entries]
    return None
