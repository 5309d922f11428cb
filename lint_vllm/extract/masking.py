"""Template text is covered by harmless characters of equal length, so that a strict parser can read around it.

Covered are Go and Jinja expressions (``{{ }}``, ``{% %}``, ``{# #}``), GitHub expressions (``${{ }}``), directives of Terraform
templates (``%{ if }``) and characters that no YAML parser accepts. Offsets do not move; the covered places are remembered, so that values that overlap them are unknown.
A line that holds template tags alone becomes a comment.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable
from dataclasses import field, replace

from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern

MAX_TAG = 4000
"""Characters of one template tag; a longer one is taken for text that only looks like a tag."""

_OPENING = pattern(r"\$?\{\{|\{%|(?<!\$)\{#|^[ \t]*%\{(?=~?[ \t]*(?:if|for|else|end))", re.MULTILINE)
_CLOSING = {"{{": "}}", "{%": "%}", "{#": "#}", "%{": "}"}
_UNREADABLE = pattern("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_KEYWORD = pattern(r"(?:\{[{%]|%\{)[-~+]?\s*([A-Za-z]+)?")
_BLOCK_HEADER = pattern(r"(?:^|[\s:-])[|>][-+0-9]{0,2}[ \t]*(?:#.*)?$")
_OPENS = {"if", "range", "for", "with"}
_SCOPES = {"define", "block", "macro", "call", "filter", "raw"}
_TURNS = {"else", "elif", "elseif"}
_CLOSES = {"end", "endif", "endfor", "endwith", "enddefine", "endblock", "endmacro", "endcall", "endfilter", "endraw"}
_SILENT = _OPENS | _SCOPES | _TURNS | _CLOSES | {"set", "import", "from", "fail", "break", "continue"}


@dataclass(frozen=True, slots=True)
class Region:
    """A covered piece of the file: one tag, or all the tags of a line that holds nothing else."""

    start: int
    end: int
    alone: bool = False
    inserts: bool = False
    """Stands alone and yields text that may hold anything (``{{ toYaml .Values.args }}``)."""


@dataclass(frozen=True)
class Masked:
    """``text`` has the length of the file; ``regions`` are in order and do not overlap."""

    text: str
    regions: tuple[Region, ...] = ()
    oddities: tuple[int, ...] = ()
    """Offsets of covered single characters that are no template."""
    _branches: tuple[tuple[int, int], ...] = ()
    """Ranges between the tags of conditions and loops."""
    _turns: tuple[tuple[int, int], ...] = ()
    """From this offset on, that branch (index, -1 for none) is the innermost one."""
    _starts: list[int] = field(default_factory=list, repr=False)

    def overlapping(self, start: int, end: int) -> tuple[Region, ...]:
        """The regions that share a character with ``[start, end)``."""
        if not self.regions:
            return ()
        first = max(bisect.bisect_right(self._starts, start) - 1, 0)
        last = bisect.bisect_left(self._starts, end)
        return tuple(r for r in self.regions[first:last] if r.end > start and r.start < end)

    def covering(self, offsets: Iterable[int]) -> Masked:
        """The same with some more single characters covered."""
        more = sorted({*self.oddities, *offsets})
        chars = list(self.text)
        for at in more:
            chars[at] = "X"
        return replace(self, text="".join(chars), oddities=tuple(more))

    def blanked(self, ranges: Iterable[tuple[int, int]]) -> Masked:
        """The same with some ranges made blank, save for a document marker at their start."""
        text, pieces, at = self.text, [], 0
        for start, end in ranges:
            keep = start + 3 if text.startswith("---", start) else start
            pieces += [text[at:keep], re.sub(r"[^\r\n]", " ", text[keep:end])]
            at = end
        return replace(self, text="".join([*pieces, text[at:]]))

    def conditional(self, outer: int, inner: int) -> bool:
        """Whether offset ``inner`` stands in a branch or loop of the template that does not hold ``outer`` as well."""
        at = bisect.bisect_right(self._turns, (inner, len(self._branches))) - 1
        branch = self._turns[at][1] if at >= 0 else -1
        if branch < 0:
            return False
        start, end = self._branches[branch]
        return not start <= outer < end


def mask(text: str) -> Masked:
    """Cover the templates and the unreadable characters of a text."""
    oddities = tuple(m.start() for m in _UNREADABLE.finditer(text))
    clean = _UNREADABLE.sub("X", text) if oddities else text
    tags = _tags(clean)
    if not tags:
        return Masked(clean, oddities=oddities)
    regions = _regions(clean, tags)
    pieces: list[str] = []
    at = 0
    for region, column in zip(regions, _comment_columns(clean, regions), strict=True):
        start = _line_start(clean, region.start) if region.alone else region.start
        pieces.append(clean[at:start])
        length = region.end - start
        if not region.alone:
            pieces.append("X" * length)
        elif length > column:
            pieces.append(" " * column + "#" + "X" * (length - column - 1))
        else:
            pieces.append(" " * length)
        at = region.end
    pieces.append(clean[at:])
    branches, turns = _branches(clean, tags)
    return Masked("".join(pieces), regions, oddities, branches, turns, [r.start for r in regions])


def _tags(text: str) -> list[tuple[int, int]]:
    """Start and end of every template tag, in order."""
    tags: list[tuple[int, int]] = []
    last = {closing: text.rfind(closing) for closing in _CLOSING.values()}
    at = 0
    while found := _OPENING.search(text, at):
        closing = _CLOSING[found.group().lstrip("$ \t")]
        end = _tag_end(text, found.end(), closing) if last[closing] >= found.end() else -1
        if end < 0:
            at = found.end()
        else:
            tags.append((found.end() - len(found.group().lstrip(" \t")), end))
            at = end
    return tags


def _tag_end(text: str, at: int, closing: str) -> int:
    """The end of the tag whose inside starts at ``at``; strings of Go may hold the closing characters. -1: no tag."""
    limit = at + MAX_TAG
    while True:
        end = text.find(closing, at, limit)
        if end < 0:
            return -1
        quote = text.find("`", at, end)
        if quote < 0 or closing != "}}":
            return end + len(closing) + (text.startswith("}", end + 2) and closing == "}}" and text[at : at + 1] == "{")
        unquote = text.find("`", quote + 1, limit)
        if unquote < 0:
            return end + len(closing)
        at = unquote + 1


def _line_start(text: str, offset: int) -> int:
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def _line_end(text: str, offset: int) -> int:
    newline = text.find("\n", offset)
    return len(text) if newline < 0 else newline


def _regions(text: str, tags: list[tuple[int, int]]) -> tuple[Region, ...]:
    regions: list[Region] = []
    number = 0
    while number < len(tags):
        start, end = tags[number]
        last = number
        begin = text.rfind("\n", 0, start) + 1
        if not text[begin:start].strip():
            while last + 1 < len(tags) and not text[end : tags[last + 1][0]].strip(" \t"):
                last += 1
                end = tags[last][1]
            if not text[end : _line_end(text, end)].strip():
                words = [_keyword(text, tag) for tag in tags[number : last + 1]]
                regions.append(Region(start, end, True, any(w not in _SILENT and w != "#" for w in words)))
                number = last + 1
                continue
        regions.extend(Region(*tag) for tag in tags[number : last + 1])
        number = last + 1
    return tuple(regions)


def _keyword(text: str, tag: tuple[int, int]) -> str:
    """``if``, ``end`` ...; ``#`` for a comment or an assignment, the empty string for an expression."""
    inner = text[tag[0] : min(tag[1], tag[0] + 40)]
    if inner.startswith("{#") or re.match(r"\{\{-?\s*(/\*|\$\w+\s*:?=)", inner):
        return "#"
    found = _KEYWORD.match(inner)
    return (found.group(1) or "") if found else ""


def _comment_columns(text: str, regions: tuple[Region, ...]) -> list[int]:
    """The column for the comment that replaces each lone tag: it must neither end nor widen a block scalar around it."""
    alone = {_line_start(text, r.start) for r in regions if r.alone}
    columns = [0] * len(regions)
    following = 0
    bottom = len(text)
    for number in range(len(regions) - 1, -1, -1):
        if not regions[number].alone:
            continue
        following = _next_indent(text, _line_end(text, regions[number].end) + 1, bottom, following)
        columns[number] = following
        bottom = _line_start(text, regions[number].start)
    before, header, top = 0, False, 0
    for number, region in enumerate(regions):
        if not region.alone:
            continue
        line = _line_start(text, region.start)
        if (found := _last_line(text, top, line, alone)) is not None:
            before = len(found) - len(found.lstrip(" "))
            header = _BLOCK_HEADER.search(found.rstrip()) is not None
        top = line
        own = region.start - line
        wanted = columns[number] if header else min(columns[number], before)
        columns[number] = max(own, wanted) if own < wanted else own
    return columns


def _next_indent(text: str, at: int, bottom: int, otherwise: int) -> int:
    while at < bottom:
        end = min(_line_end(text, at), bottom)
        line = text[at:end]
        if line.strip():
            return len(line) - len(line.lstrip(" "))
        at = end + 1
    return otherwise if bottom < len(text) else 0


def _last_line(text: str, top: int, bottom: int, alone: set[int]) -> str | None:
    """The last line with content between two offsets that is no lone tag."""
    end = bottom
    while end > top:
        start = text.rfind("\n", 0, end - 1) + 1
        line = text[start:end]
        if line.strip() and start not in alone:
            return line
        end = start
    return None


def _branches(text: str, tags: list[tuple[int, int]]) -> tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]]:
    ranges: list[tuple[int, int]] = []
    turns: list[tuple[int, int]] = []
    open_: list[int] = []

    def begin(offset: int) -> None:
        ranges.append((offset, len(text) + 1))
        open_.append(len(ranges) - 1)
        turns.append((offset, open_[-1]))

    def close(offset: int) -> None:
        branch = open_.pop()
        if branch >= 0:
            ranges[branch] = (ranges[branch][0], offset)
        turns.append((offset, open_[-1] if open_ else -1))

    for tag in tags:
        word = _keyword(text, tag)
        if word in _OPENS:
            begin(tag[1])
        elif word in _SCOPES:
            open_.append(-1)
            turns.append((tag[1], -1))
        elif word in _TURNS and open_ and open_[-1] >= 0:
            close(tag[0])
            begin(tag[1])
        elif word in _CLOSES and open_:
            close(tag[0])
    return tuple(ranges), tuple(turns)
