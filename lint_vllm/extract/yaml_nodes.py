"""YAML as a light tree whose keys and values know every character's place in the file.

Only events of the parser are used (nothing is constructed): an error keeps what stood before it, an alias keeps its place of
use, and an alias bomb stays small because nothing is copied. Scalars are decoded here, with one origin for each character,
and compared with the parser's own reading; where the two differ the value stands for the scalar as a whole.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from lint_vllm.extract.context import Unreadable
from lint_vllm.extract.masking import Masked, mask
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

MAX_CHARACTERS = 4_000_000
MAX_EVENTS = 400_000
MAX_NESTING = 100
MAX_TOKENS_DEEP = 1_000
"""Levels at which reading stops: the parser's time grows with the square of the levels that are open."""
MAX_ALIASED = 50_000
"""Nodes of one document that stand there through aliases; more is an alias bomb."""
MAX_REPAIRS = 6
"""Lines of one document that are blanked, one after the other, to read past an error."""
MAX_PAIRS = 20_000
"""Entries of one mapping after merges."""

TEMPLATE = "template expression"


@dataclass(eq=False)
class Scalar:
    """A leaf. ``start`` and ``end`` enclose what is written: quotes, or block header to last line."""

    page: Page = field(repr=False)
    start: int
    end: int
    style: str
    """The quote or block sign; empty for a plain scalar."""
    raw: str = field(repr=False)
    """The parser's reading, with covered templates still covered."""
    tag: str | None = None
    use: Span | None = None
    """The alias (``*name``) through which the value is used here."""
    stop: int = field(default=0, repr=False)
    """Where the parser stopped: of a block scalar, after its trailing empty lines."""

    @cached_property
    def text(self) -> Text:
        """The decoded value."""
        return _decode(self)

    @property
    def value(self) -> str:
        return self.text.value

    @property
    def name(self) -> str:
        """The value as a key of a mapping; cheaper than ``value``, which places every character."""
        return self.value if self.page.masked.regions or self.page.masked.oddities else self.raw

    @property
    def span(self) -> Span:
        return self.page.span(self.start, self.end)

    @property
    def place(self) -> Span:
        """Where the value is used: the alias, or the scalar itself."""
        return self.use or self.span

    @property
    def templated(self) -> bool:
        """Whether part of the value is a template expression."""
        return bool(self.page.masked.overlapping(self.start, self.end))

    @property
    def null(self) -> bool:
        return self.style == "" and self.raw in ("", "~", "null", "Null", "NULL") and self.tag is None

    @cached_property
    def word(self) -> Word:
        """The value as one argument."""
        if self.templated:
            return self._filled() or Word(self.text, self.place, self.style, TEMPLATE)
        return Word(self.text, self.place, self.style, None, defined=self.span if self.use else None)

    def _filled(self) -> Word | None:
        """The value with those tags replaced that a file beside the template explains; ``None`` where none is."""
        if self.page.values is None:
            return None
        text, parts, at = self.text, [], 0
        defined: Span | None = None
        for found in _VALUE_TAG.finditer(text.value):
            value = self.page.values(found.group("path"), "Values." in found.group())
            if value is None or value.templated:
                continue
            tag = text[found.start() : found.end()]
            alone = len(tag) == len(text)
            parts += [text[at : found.start()], value.text if alone else Text.placed(value.value, tag.span)]
            defined = value.span if alone else defined
            at = found.end()
        parts.append(text[at:])
        if at == 0:
            return None
        joined = Text.join([part for part in parts if part.value], text[0:0])
        unknown = TEMPLATE if "{{" in joined.value or "{%" in joined.value else None
        return Word(joined, self.place, self.style, unknown, defined)

    @property
    def literal(self) -> object:
        """The value with the type that YAML 1.1 (``yaml.safe_load``) gives it."""
        return self.value if self.style or self.tag or self.templated else resolve(self.value)


@dataclass(eq=False)
class Sequence:
    """A list, block or flow."""

    page: Page = field(repr=False)
    start: int
    end: int
    items: list[Node] = field(default_factory=list)
    use: Span | None = None

    @property
    def span(self) -> Span:
        return self.page.span(self.start, self.end)

    @property
    def place(self) -> Span:
        return self.use or self.span

    @property
    def literal(self) -> object:
        return literal(self)


@dataclass(frozen=True, slots=True)
class Pair:
    key: Scalar
    value: Node
    merged: bool = False
    """Came in through a merge key (``<<``)."""

    @property
    def span(self) -> Span:
        return self.key.span.to(self.value.place)


@dataclass(eq=False)
class Mapping:
    """A mapping, block or flow. Look-ups see merge keys; of duplicate keys the last one counts."""

    page: Page = field(repr=False)
    start: int
    end: int
    pairs: list[Pair] = field(default_factory=list)
    use: Span | None = None
    _busy: bool = field(default=False, repr=False)
    _index: dict[str, Pair] | None = field(default=None, repr=False)

    @property
    def span(self) -> Span:
        return self.page.span(self.start, self.end)

    @property
    def place(self) -> Span:
        return self.use or self.span

    @property
    def entries(self) -> dict[str, Pair]:
        """Key -> entry in effect, in the order of the text."""
        if self._index is not None:
            return self._index
        if self._busy:
            return {}
        self._busy = True
        own: dict[str, Pair] = {}
        merged: dict[str, Pair] = {}
        for pair in self.pairs:
            if pair.key.raw == "<<" and pair.key.style == "":
                for pool in pair.value.items if isinstance(pair.value, Sequence) else [pair.value]:
                    if isinstance(pool, Mapping):
                        for name, entry in pool.entries.items():
                            if len(merged) < MAX_PAIRS:
                                merged.setdefault(name, Pair(entry.key, entry.value, True))
            else:
                own[pair.key.name] = pair
        merged.update(own)
        self._index = merged
        self._busy = False
        return merged

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[tuple[str, Pair]]:
        return iter(self.entries.items())

    def pair(self, *names: str) -> Pair | None:
        """The entry of the first of some keys that is there."""
        entries = self.entries
        return next((entries[name] for name in names if name in entries), None)

    def get(self, *path: str) -> Node | None:
        """The value at a path of keys."""
        node: Node | None = self
        for name in path:
            if not isinstance(node, Mapping):
                return None
            pair = node.entries.get(name)
            node = pair.value if pair else None
        return node

    def map(self, *path: str) -> Mapping | None:
        node = self.get(*path)
        return node if isinstance(node, Mapping) else None

    def items(self, *path: str) -> list[Node]:
        """The items of the list at a path; empty when there is none."""
        node = self.get(*path)
        return node.items if isinstance(node, Sequence) else []

    def scalar(self, *path: str) -> Scalar | None:
        """The scalar at a path; ``None`` when absent or null."""
        node = self.get(*path)
        return node if isinstance(node, Scalar) and not node.null else None

    def string(self, *path: str) -> str | None:
        found = self.scalar(*path)
        return found.value if found else None

    @property
    def literal(self) -> object:
        return literal(self)


Node: TypeAlias = "Scalar | Sequence | Mapping"


@dataclass
class Page:
    """A YAML text: a file, or a scalar that holds YAML itself. Nodes count offsets from the start of ``origin``."""

    origin: Text
    masked: Masked
    documents: list[Node] = field(default_factory=list)
    problems: list[Unreadable] = field(default_factory=list)
    values: Callable[[str, bool], Scalar | None] | None = None
    """Looks a dotted path up: of a chart's ``.Values`` (second argument true), or of a play's variables."""

    memo: dict[str, Any] = field(default_factory=dict, repr=False)
    """What was looked up in all documents, under the name of who asked."""

    @property
    def source(self) -> SourceFile:
        return self.origin.source

    def span(self, start: int, end: int) -> Span:
        return self.origin[start:end].span

    def conditional(self, outer: Node, inner: Node) -> bool:
        """Whether ``inner`` is there only under a template condition that does not cover ``outer`` as well."""
        return inner.page is self and self.masked.conditional(outer.start, inner.start)


_FILTERS = r"(?:\|\s*(?:s?quote|toString|to_json|string|int(?:64)?|trim|default(?:\s+(?:\"[^\"\n]*\"|[\w.]+)|\([^()\n]*\)))\s*)*"
_VALUE_TAG = pattern(
    r"\{\{-?\s*(?:\$?\.Values\.|\.(?=[A-Z][A-Z0-9_]*\b))?(?P<path>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\s*" + _FILTERS + r"-?\}\}"
)
"""A tag that only names a value: ``.Values.model | quote`` (Helm), ``vllm_model | default('x')`` (Jinja), ``.MODEL`` (Taskfile)."""


class _Event(Protocol):
    """What the parser yields."""

    start_mark: Any
    end_mark: Any


def parse(origin: Text) -> Page:
    """Read every document of a text. Errors cost the line they stand on; they are listed in ``problems``.

    Definitions of custom resources are left out: they are long and only describe what others may write.
    """
    page = Page(origin, mask(origin.value[:MAX_CHARACTERS]))
    if _DEFINITION.search(page.masked.text):
        page.masked = page.masked.blanked(
            (start, end) for start, end in _document_ranges(page.masked.text) if _DEFINITION.search(page.masked.text, start, end)
        )
    if len(origin) > MAX_CHARACTERS:
        page.problems.append(Unreadable(page.span(0, 0), f"more than {MAX_CHARACTERS:,} characters; the rest was not read"))
    budget = [MAX_EVENTS]
    documents, failure = _read(page, page.masked.text, 0, budget)
    if failure is not None and "unexpected ':'" in failure[1]:
        # YAML 1.2 allows host:port and a:b in flow collections, libyaml does not: cover the colon.
        page.masked = page.masked.covering(m.start() for m in _INNER_COLON.finditer(page.masked.text))
        documents, failure = _read(page, page.masked.text, 0, budget)
    if failure is None:
        page.documents = documents
        return page
    for start, end in _document_ranges(page.masked.text):
        page.documents += _read_with_repairs(page, start, end, budget)
        if budget[0] <= 0:
            page.problems.append(Unreadable(page.span(start, start), f"more than {MAX_EVENTS:,} tokens; the rest was not read"))
            break
    return page


_DEFINITION = pattern(r"^kind:[ \t]+CustomResourceDefinition[ \t]*$", re.MULTILINE)
_DOCUMENT = pattern(r"^---(?=\s|$)", re.MULTILINE)
_INNER_COLON = pattern(r"(?<=[\w./)}-]):(?=[\w/.$({-])")


def _document_ranges(text: str) -> Iterator[tuple[int, int]]:
    starts = [m.start() for m in _DOCUMENT.finditer(text)]
    if not starts or text[: starts[0]].strip():
        starts.insert(0, 0)
    yield from zip(starts, [*starts[1:], len(text)], strict=True)


def _read_with_repairs(page: Page, start: int, end: int, budget: list[int]) -> list[Node]:
    """One document; a line on which the parser stops is blanked and the document read again, a few times."""
    text = page.masked.text[start:end]
    best: list[Node] = []
    for attempt in range(MAX_REPAIRS + 1):
        documents, failure = _read(page, text, start, budget)
        if failure is None:
            return documents or best
        at, reason = failure
        if attempt == 0:
            page.problems.append(Unreadable(page.span(*_rest_of_line(page.masked.text, min(start + at, max(end - 1, 0)))), reason))
        best = documents or best
        line = _offending_line(text, at)
        if line is None or budget[0] <= 0:
            break
        text = text[: line[0]] + " " * (line[1] - line[0]) + text[line[1] :]
    return best


def _rest_of_line(text: str, at: int) -> tuple[int, int]:
    """The content of the line that holds an offset."""
    start = text.rfind("\n", 0, at) + 1
    newline = text.find("\n", at)
    line = text[start : len(text) if newline < 0 else newline]
    if not line.strip():
        return at, at
    return start + len(line) - len(line.lstrip()), start + len(line.rstrip())


def _offending_line(text: str, at: int) -> tuple[int, int] | None:
    """The line at the error, or the last line with content before it."""
    at = min(at, len(text))
    while at >= 0:
        start = max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1
        newline = text.find("\n", start)
        line = text[start : len(text) if newline < 0 else newline]
        if line.strip() and not line.lstrip().startswith("#"):
            return start, start + len(line.rstrip("\r"))
        at = start - 1
    return None


def _read(page: Page, text: str, base: int, budget: list[int]) -> tuple[list[Node], tuple[int, str] | None]:
    """The documents of a text, and where and why reading stopped (an offset into the text)."""
    from _ruamel_yaml import CParser  # type: ignore[import-not-found]
    from ruamel.yaml.error import YAMLError

    builder = _Builder(page, base)
    parser = CParser(text)
    try:
        while budget[0] > 0:
            event = parser.get_event()
            if event is None:
                return builder.finish(), None
            budget[0] -= 1
            builder.take(event)
            if builder.skipped > MAX_TOKENS_DEEP:
                return builder.finish(), (event.start_mark.index, f"nested more than {MAX_TOKENS_DEEP:,} levels deep")
        return builder.finish(), (0, "too many YAML tokens")
    except YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        at = getattr(mark, "index", None)
        if at is None:
            at = getattr(error, "position", 0) or 0
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
        context = getattr(error, "context", None)
        return builder.finish(), (int(at), f"invalid YAML: {problem}" + (f" {context}" if context else ""))
    except (UnicodeError, MemoryError) as error:
        return builder.finish(), (0, f"invalid YAML: {error}")


@dataclass
class _Frame:
    node: Sequence | Mapping
    key: Scalar | None = None
    keyed: bool = False
    size: int = 1
    """Nodes in it, those behind aliases included."""


class _Builder:
    """Events in, tree out."""

    def __init__(self, page: Page, base: int) -> None:
        self.page = page
        self.base = base
        self.documents: list[Node] = []
        self.frames: list[_Frame] = []
        self.anchors: dict[str, Node] = {}
        self.sizes: dict[int, int] = {}
        """Nodes below a list or mapping, by the identity of the node."""
        self.aliased = 0
        self.skipped = 0

    def take(self, event: _Event) -> None:
        kind = type(event).__name__
        start, end = event.start_mark.index + self.base, event.end_mark.index + self.base
        if kind == "ScalarEvent":
            if not self.skipped:
                self._scalar(event, start, end)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            if self.skipped or len(self.frames) >= MAX_NESTING:
                self.skipped += 1
                return
            start = self._after_properties(event, start)
            node: Sequence | Mapping = (Mapping if kind[0] == "M" else Sequence)(self.page, start, max(start, end))
            self._add(node, event)
            self.frames.append(_Frame(node))
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            if self.skipped:
                self.skipped -= 1
                if not self.skipped:
                    self._place(Scalar(self.page, start, start, "", ""))
                return
            self._close(self.frames.pop(), end if end > start else None)
        elif kind == "AliasEvent":
            if not self.skipped:
                self._alias(str(getattr(event, "anchor", "")), start, end)
        elif kind == "DocumentStartEvent":
            self.anchors = {}
            self.sizes = {}
            self.aliased = 0

    def finish(self) -> list[Node]:
        while self.frames:
            self._close(self.frames.pop(), None)
        return self.documents

    def _close(self, frame: _Frame, end: int | None) -> None:
        node = frame.node
        self.sizes[id(node)] = frame.size
        if self.frames:
            self.frames[-1].size += frame.size
        if isinstance(node, Mapping) and frame.key is not None:
            node.pairs.append(Pair(frame.key, Scalar(self.page, frame.key.end, frame.key.end, "", "")))
            frame.key = None
        last: Node | None = None
        if isinstance(node, Mapping):
            last = node.pairs[-1].value if node.pairs else None
        elif node.items:
            last = node.items[-1]
        if end is not None:
            node.end = end
        elif last is not None:
            node.end = max(node.end, last.place.end)

    def _scalar(self, event: Any, start: int, end: int) -> None:
        style = event.style or ""
        start = self._after_properties(event, start)
        stop = end
        if style in ("|", ">"):
            end = start + len(self.page.masked.text[start:end].rstrip())
        self._add(Scalar(self.page, start, max(start, end), style, event.value, event.tag, stop=stop), event)

    def _after_properties(self, event: Any, start: int) -> int:
        """Past an anchor and a tag before the content."""
        if event.anchor is None and event.tag is None:
            return start
        text = self.page.masked.text
        found = _PROPERTIES.match(text, start)
        return found.end() if found else start

    def _alias(self, name: str, start: int, end: int) -> None:
        target = self.anchors.get(name)
        use = self.page.span(start, end)
        size = self.sizes.get(id(target), 1)
        if target is None or any(frame.node is target for frame in self.frames) or not self._affords(size, use):
            self._place(Scalar(self.page, start, end, "", ""))
            return
        if self.frames:
            self.frames[-1].size += size
        if isinstance(target, Scalar):
            self._place(Scalar(self.page, target.start, target.end, target.style, target.raw, target.tag, use, target.stop))
        elif isinstance(target, Sequence):
            self._place(Sequence(self.page, target.start, target.end, target.items, use))
        else:
            self._place(Mapping(self.page, target.start, target.end, target.pairs, use, _index=target.entries))

    def _affords(self, size: int, use: Span) -> bool:
        """Whether the document stays small with one more alias; the first that makes it too large is a problem of the page."""
        before = self.aliased
        self.aliased += size
        if before <= MAX_ALIASED < self.aliased:
            reason = f"aliases stand for more than {MAX_ALIASED:,} values; this one and later ones were not followed"
            self.page.problems.append(Unreadable(use, reason))
        return self.aliased <= MAX_ALIASED

    def _add(self, node: Node, event: Any) -> None:
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        self._place(node)

    def _place(self, node: Node) -> None:
        if not self.frames:
            self.documents.append(node)
            return
        frame = self.frames[-1]
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
        elif frame.key is None and not frame.keyed:
            if isinstance(node, Scalar):
                frame.key = node
            else:
                frame.keyed = True
        elif frame.keyed:
            frame.keyed = False
        else:
            assert frame.key is not None
            frame.node.pairs.append(Pair(frame.key, node))
            frame.key = None


_PROPERTIES = pattern(r"(?:[&!][^\s,\[\]{}]*(?:[ \t]+|(?=[\r\n,\[\]{}])|$)(?:[ \t]*(?:#[^\r\n]*)?(?:\r\n?|\n)[ \t]*)*)+")


# Decoding of scalars ------------------------------------------------------------------------------------------------------


class _Out:
    """Characters with their source ranges, in the making."""

    def __init__(self) -> None:
        self.value: list[str] = []
        self.starts: list[int] = []
        self.stops: list[int] = []

    def copy(self, text: str, start: int, end: int) -> None:
        self.value.append(text[start:end])
        self.starts.extend(range(start, end))
        self.stops.extend(range(start + 1, end + 1))

    def put(self, chars: str, start: int, end: int) -> None:
        self.value.append(chars)
        self.starts.extend([start] * len(chars))
        self.stops.extend([end] * len(chars))


def _decode(scalar: Scalar) -> Text:
    page, text = scalar.page, scalar.page.masked.text
    start, end = scalar.start, scalar.end
    if scalar.style == "" and "\n" not in text[start:end] and "\r" not in text[start:end]:
        if text[start:end] == scalar.raw and not page.masked.oddities:
            return page.origin[start:end]
        out = _Out()
        out.copy(text, start, end)
    elif scalar.style in ("|", ">"):
        out = _block(text, scalar)
    else:
        out = _flow(text, scalar)
    value = "".join(out.value)
    if value != scalar.raw:
        return Text.placed(_uncovered(scalar), scalar.span)
    return _restore(scalar, value, out)


def _uncovered(scalar: Scalar) -> str:
    """The parser's reading of a scalar that could not be followed character by character."""
    regions = scalar.page.masked.overlapping(scalar.start, scalar.end)
    return scalar.page.origin.value[scalar.start : scalar.end] if regions else scalar.raw


def _restore(scalar: Scalar, value: str, out: _Out) -> Text:
    """Put the template text back where it was covered."""
    page = scalar.page
    original = page.origin.value
    starts, stops = out.starts, out.stops
    regions = page.masked.overlapping(scalar.start, scalar.end)
    if regions or page.masked.oddities:
        chars = list(value)
        for at in page.masked.oddities[
            bisect.bisect_left(page.masked.oddities, scalar.start) : bisect.bisect_left(page.masked.oddities, scalar.end)
        ]:
            i = bisect.bisect_left(starts, at)
            if i < len(starts) and starts[i] == at:
                chars[i] = original[at]
        for region in reversed(regions):
            left = region.start
            if region.alone:
                left = max(original.rfind("\n", 0, left), original.rfind("\r", 0, left)) + 1
            i, j = bisect.bisect_left(starts, left), bisect.bisect_left(starts, region.end)
            inner = range(max(region.start, scalar.start), min(region.end, scalar.end))
            chars[i:j] = original[inner.start : inner.stop]
            starts[i:j] = inner
            stops[i:j] = range(inner.start + 1, inner.stop + 1)
        value = "".join(chars)
    origin = page.origin
    inside = origin[scalar.start + (1 if scalar.style in ("'", '"') else 0) : scalar.end]
    anchor = inside.starts[0] if inside.value else inside.anchor
    if starts and len(starts) == stops[-1] - starts[0] and starts[-1] + 1 == stops[-1]:
        piece = origin[starts[0] : stops[-1]]
        return Text(page.source, value, piece.starts, piece.stops, anchor)
    if isinstance(origin.starts, range) and origin.starts[:1] == range(1):
        return Text(page.source, value, tuple(starts), tuple(stops), anchor)
    return Text(
        page.source,
        value,
        tuple(origin.starts[i] for i in starts),
        tuple(origin.stops[max(i - 1, 0)] for i in stops),
        anchor,
    )


_BREAK = pattern(r"\r\n|\n|\r")
_SIMPLE = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "\t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ",
    '"': '"', "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_HEX = {"x": 2, "u": 4, "U": 8}
_FLOW_STOP = {"": re.compile(r"[ \t]*[\r\n]"), "'": re.compile(r"''|[ \t]*[\r\n]"), '"': re.compile(r"\\|[ \t]*[\r\n]")}


def _flow(text: str, scalar: Scalar) -> _Out:
    """Plain and quoted scalars: line breaks fold into blanks, escapes are decoded."""
    out = _Out()
    style = scalar.style
    at, end = scalar.start, scalar.end
    if style:
        at, end = at + 1, end - 1
    stop = _FLOW_STOP[style]
    while at < end:
        found = stop.search(text, at, end)
        if found is None:
            out.copy(text, at, end)
            break
        out.copy(text, at, found.start())
        if found.group() == "''":
            out.put("'", found.start(), found.end())
            at = found.end()
        elif found.group() == "\\":
            at = _escape(text, found.start(), end, out)
        else:
            at = _fold(text, found.start(), end, out)
    return out


def _fold(text: str, start: int, end: int, out: _Out) -> int:
    """Line breaks with the blanks around them, from the first blank on: a blank, or one break fewer than stood there."""
    at, breaks = start, []
    while at < end and text[at] in " \t\r\n":
        found = _BREAK.match(text, at, end)
        if found:
            breaks.append((at, found.end()))
            at = found.end()
        else:
            at += 1
    if len(breaks) == 1:
        out.put(" ", start, at)
    for left, right in breaks[1:]:
        out.put("\n", left, right)
    return at


def _escape(text: str, at: int, end: int, out: _Out) -> int:
    code = text[at + 1 : at + 2]
    if code in _HEX:
        stop = at + 2 + _HEX[code]
        try:
            out.put(chr(int(text[at + 2 : stop], 16)), at, stop)
        except (ValueError, OverflowError):
            out.copy(text, at, min(stop, end))
        return stop
    found = _BREAK.match(text, at + 1, end)
    if found:  # an escaped line break joins without a blank
        at = found.end()
        while at < end and text[at] in " \t":
            at += 1
        breaks = 0
        while at < end and (found := _BREAK.match(text, at, end)):
            out.put("\n", at, found.end())
            breaks += 1
            at = found.end()
            while at < end and text[at] in " \t":
                at += 1
        return at
    out.put(_SIMPLE.get(code, code), at, at + 2)
    return at + 2


_HEADER = pattern(r"[|>]([-+]?)([1-9]?)([-+]?)[^\r\n]*(?:\r\n|\n|\r|$)")


def _block(text: str, scalar: Scalar) -> _Out:
    """Literal and folded scalars. With an explicit indentation indicator the parent's indentation is found by trying."""
    header = _HEADER.match(text, scalar.start)
    if header is None:
        return _Out()
    chomp = header.group(1) or header.group(3)
    lines = _block_lines(text, header.end(), scalar.stop)
    first = next((blank for begin, blank, stop, _ in lines if blank < stop - begin), 0)
    if not header.group(2):
        first = first or max((blank for _, blank, _, _ in lines), default=0)
        return _block_with(text, scalar, lines, first, chomp)
    out = _Out()
    for indent in range(int(header.group(2)), max(first, int(header.group(2))) + 1):
        out = _block_with(text, scalar, lines, indent, chomp)
        if "".join(out.value) == scalar.raw:
            break
    return out


def _block_lines(text: str, at: int, end: int) -> list[tuple[int, int, int, int]]:
    """(start, leading blanks, end, end with its break) of each line between two offsets."""
    return [
        (found.start(), len(found.group(1)), found.end(2), found.end())
        for found in _LINE.finditer(text, at, end)
        if found.start() < found.end()
    ]


_LINE = pattern(r"( *)([^\r\n]*)(?:\r\n|\n|\r|$)")


def _block_with(text: str, scalar: Scalar, lines: list[tuple[int, int, int, int]], indent: int, chomp: str) -> _Out:
    out = _Out()
    folded = scalar.style == ">"
    pending: tuple[int, int] | None = None  # the break after the last content line
    blanks: list[tuple[int, int]] = []
    leading_blank = False
    for begin, blank, stop, after in lines:
        if blank < indent and begin + blank < stop:
            break
        if stop - begin <= indent and begin + blank == stop:  # nothing but indentation
            blanks.append((stop, after))
            continue
        content = begin + indent
        trailing_blank = text[content] in " \t"
        if pending is not None:
            if folded and not leading_blank and not trailing_blank:
                if not blanks:
                    out.put(" ", pending[0], content)
            else:
                out.put("\n", *pending)
        for left, right in blanks:
            out.put("\n", left, right)
        blanks = []
        leading_blank = trailing_blank
        out.copy(text, content, stop)
        pending = (stop, after) if after > stop else None
    if pending is not None and chomp != "-":
        out.put("\n", *pending)
    if chomp == "+":
        for left, right in blanks:
            if right > left:
                out.put("\n", left, right)
    return out


# Typed values -------------------------------------------------------------------------------------------------------------

_BOOLEANS = {"yes": True, "no": False, "true": True, "false": False, "on": True, "off": False}
_INTEGER = pattern(r"[-+]?(?:0b[01_]+|0x[0-9a-fA-F_]+|0[0-7_]*|[1-9][0-9_]*)$")
_FLOAT = pattern(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?|\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
)


def resolve(value: str) -> object:
    """A plain scalar as ``yaml.safe_load`` types it (YAML 1.1: ``1e3`` and ``08`` stay strings, ``on`` is true)."""
    if value in ("", "~", "null", "Null", "NULL"):
        return None
    lowered = value.lower()
    if lowered in _BOOLEANS and value in (lowered, lowered.upper(), lowered.capitalize()):
        return _BOOLEANS[lowered]
    if len(value) > 100:
        return value
    if _INTEGER.match(value):
        digits = value.replace("_", "").lstrip("+-")
        sign = -1 if value.startswith("-") else 1
        if digits.startswith("0b"):
            return sign * int(digits[2:] or "0", 2)
        if digits.startswith("0x"):
            return sign * int(digits[2:] or "0", 16)
        return sign * (int(digits, 8) if digits.startswith("0") and digits != "0" else int(digits or "0"))
    if _FLOAT.match(value):
        return float(value.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
    return value


def literal(node: Node, _depth: int = 0, _budget: list[int] | None = None) -> object:
    """A node as plain Python values, typed as YAML 1.1 does; very large or deep ones are cut off with ``None``."""
    budget = [MAX_PAIRS] if _budget is None else _budget
    budget[0] -= 1
    if budget[0] < 0 or _depth > MAX_NESTING:
        return None
    if isinstance(node, Scalar):
        return node.literal
    if isinstance(node, Sequence):
        return [literal(item, _depth + 1, budget) for item in node.items]
    return {name: literal(pair.value, _depth + 1, budget) for name, pair in node}
