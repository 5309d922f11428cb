"""Comments that speak to lint-vllm, in any carrier, and the findings that such a comment silences.

``# lint-vllm: gpu=L4 context=4096`` states facts (read by ``facts.comments``); ``# lint-vllm: ignore[MEM022] reason``
silences. Both may stand in one comment; ``#``, ``//``, ``;``, ``--``, ``/*``, ``<!--`` and ``{{/*`` open it, so that every
file kind can carry it, also inside block scalars and notebook cells.

An ignore holds for the line it ends, for the line below when it stands alone, and for the whole launch when that line
begins one (a comment cannot stand inside a continued shell line or a folded scalar). It holds for the file when it says
``ignore-file`` or stands in the head of the file, before any content.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import field

from lint_vllm.diagnostic import Edit, Suppression
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Launch
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span

_COMMENT = pattern(r"(?P<open>\#|//|;|--|/\*|<!--|\{\{-?[ \t]*/\*|\{\#)[ \t]*lint-vllm[ \t]*:(?P<body>[^\r\n]*)")
# Where a comment ends inside its line: the closing mark of its kind, or the end of a JSON string (notebook cells).
_CLOSERS = {"/*": "*/", "<!--": "-->", "{#": "#}", "{{": "*/"}
_JSON_END = pattern(r'(\\n)?",?[ \t]*\Z|\\n')
_FACT = pattern(
    r"[ \t,;]*(?P<key>[A-Za-z][A-Za-z0-9_-]*)="
    r"""(?:"(?P<double>[^"\r\n]*)"|'(?P<single>[^'\r\n]*)'|\\"(?P<escaped>[^"\\\r\n]*)\\"|(?P<bare>[^\s,;"'\\]+))"""
)
_IGNORE = pattern(r"[ \t,;]*(?P<scope>ignore-file|ignore)\b(?:\[(?P<codes>[^\]\r\n]*)\])?:?[ \t]*(?P<reason>.*)", re.IGNORECASE)
_CODE = pattern(r"[^\s,;]+")


@dataclass(frozen=True, slots=True)
class StatedFact:
    """``key=value`` of a comment; the key in lower case with dashes, the value without its quotes."""

    key: str
    value: str
    span: Span


@dataclass(frozen=True, slots=True)
class Ignore:
    """One ``ignore[...]``. ``codes`` are codes or names in lower case with their places; empty means every rule."""

    codes: tuple[tuple[str, Span], ...]
    reason: str
    whole_file: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Directive:
    """One comment. ``span`` runs from the comment mark to its end; ``alone`` when nothing else stands on its line.

    ``target`` is the line it speaks about: its own, or the next line with content when it stands alone; ``None`` at the
    end of a file. ``indent`` counts the blanks before the line's first character. ``head``: before any content.
    """

    span: Span
    facts: tuple[StatedFact, ...]
    ignore: Ignore | None
    line: int
    target: int | None
    alone: bool
    head: bool
    indent: int
    rest: str = ""
    """Words that are neither a fact nor an ignore: most likely a slip of the pen."""


def directives(source: SourceFile) -> tuple[Directive, ...]:
    """Every comment of a file that speaks to lint-vllm, in order. Linear in the length of the file."""
    if "lint-vllm" not in source.text:
        return ()
    head = _head_end(source)
    return tuple(d for match in _COMMENT.finditer(source.text) if (d := _read(source, match, head)) is not None)


def _read(source: SourceFile, match: re.Match[str], head_end: int) -> Directive | None:
    start = match.start()
    line = source.position(start)[0]
    before = source.text[source.line_starts[line - 1] : start]
    if not _opens_a_comment(before, match["open"]):
        return None
    body_start, body = match.start("body"), _trimmed(match["open"], match["body"])
    alone = not before.strip(" \t\"'-*")
    head = alone and line < head_end
    facts: list[StatedFact] = []
    at = 0
    while (found := _FACT.match(body, at)) is not None:
        span = source.span(body_start + found.start("key"), body_start + found.end())
        value = next(found[name] for name in ("double", "single", "escaped", "bare") if found[name] is not None)
        facts.append(StatedFact(found["key"].lower().replace("_", "-"), value, span))
        at = found.end()
    ignore = _ignore(source, body, at, body_start, head)
    rest = "" if ignore is not None else body[at:].strip()
    if not facts and ignore is None and not rest:
        return None
    return Directive(
        span=source.span(start, body_start + len(body.rstrip())),
        facts=tuple(facts),
        ignore=ignore,
        line=line,
        target=_next_content(source, line) if alone else line,
        alone=alone,
        head=head,
        indent=len(before) - len(before.lstrip(" \t")),
        rest=rest,
    )


def _ignore(source: SourceFile, body: str, at: int, body_start: int, head: bool) -> Ignore | None:
    words = _IGNORE.match(body, at)
    if words is None:
        return None
    codes: tuple[tuple[str, Span], ...] = ()
    if words["codes"] is not None:
        offset = body_start + words.start("codes")
        codes = tuple(
            (code.group().lower(), source.span(offset + code.start(), offset + code.end()))
            for code in _CODE.finditer(words["codes"])
        )
    whole_file = head or words["scope"].lower() == "ignore-file"
    span = source.span(body_start + words.start("scope"), body_start + len(body.rstrip()))
    return Ignore(codes, words["reason"].strip(), whole_file, span)


def _opens_a_comment(before: str, mark: str) -> bool:
    """A mark inside a word or an address (``https://``, ``a;b`` is fine) opens no comment."""
    if mark in ("#", "//", "--", ";"):
        return not before or before[-1] in " \t\"'>;,(){}[]" or not before.strip()
    return True


def _trimmed(mark: str, body: str) -> str:
    closer = _CLOSERS.get(mark) or (_CLOSERS["{{"] if mark.startswith("{{") else None)
    if closer is not None and (at := body.find(closer)) >= 0:
        body = body[:at]
    if (end := _JSON_END.search(body)) is not None and not _quotes_balance(body[: end.end()]):
        body = body[: end.start()]
    return body


def _quotes_balance(text: str) -> bool:
    return text.count('"') % 2 == 0 and "\\n" not in text


def _is_comment(text: str) -> bool:
    return text.startswith(("#", "//", ";", "--", "/*", "*", "<!--", "{{/*", "{{- /*", "{#"))


def _head_end(source: SourceFile) -> int:
    """The first line that is neither blank nor a comment."""
    for number in range(1, len(source.line_starts) + 1):
        text = source.line_text(number).strip()
        if text and text != "---" and not _is_comment(text):
            return number
    return len(source.line_starts) + 1


def _next_content(source: SourceFile, line: int) -> int | None:
    for number in range(line + 1, min(line + 50, len(source.line_starts)) + 1):
        text = source.line_text(number).strip()
        if text and not _is_comment(text):
            return number
    return None


@dataclass(frozen=True, slots=True)
class UnusedIgnore:
    """An ignore that silenced nothing (``codes`` empty: none of it did; else those codes did not), and how to remove it."""

    directive: Directive
    codes: tuple[str, ...]
    span: Span
    edit: Edit


@dataclass
class Suppressions:
    """The ignores of one file. :meth:`match` remembers which were of use, so that the rest can be reported."""

    ignores: tuple[Directive, ...] = ()
    _used: set[tuple[int, str]] = field(default_factory=set, repr=False)

    @classmethod
    def of(cls, source: SourceFile, enabled: bool = True) -> Suppressions:
        """``enabled`` is False under ``--no-inline-ignores``."""
        return cls(tuple(d for d in directives(source) if d.ignore is not None) if enabled else ())

    def match(self, code: str, name: str, span: Span, launch: Launch | None = None) -> Suppression | None:
        """The comment that silences a finding at ``span``, if there is one. Findings in other files are never matched."""
        for index, directive in enumerate(self.ignores):
            ignore = directive.ignore
            if ignore is None or directive.span.source is not span.source or not _covers(directive, span, launch):
                continue
            if not ignore.codes:
                self._used.add((index, "*"))
                return Suppression("comment", ignore.reason)
            for wanted, _ in ignore.codes:
                if wanted in (code.lower(), name.lower()):
                    self._used.add((index, wanted))
                    return Suppression("comment", ignore.reason)
        return None

    def unused(self, judged: Collection[str] | None = None) -> tuple[UnusedIgnore, ...]:
        """What silenced nothing. Codes and names outside ``judged`` (rules that did not run) are left alone."""
        found: list[UnusedIgnore] = []
        wanted = None if judged is None else {name.lower() for name in judged}
        for index, directive in enumerate(self.ignores):
            ignore = directive.ignore
            if ignore is None:
                continue
            if not ignore.codes:
                if (index, "*") not in self._used:
                    found.append(_whole(directive))
                continue
            idle = [c for c, _ in ignore.codes if (index, c) not in self._used and (wanted is None or c in wanted)]
            if len(idle) == len(ignore.codes):
                found.append(_whole(directive))
            elif idle:
                found.append(_partly(directive, ignore, idle))
        return tuple(found)


def _covers(directive: Directive, span: Span, launch: Launch | None) -> bool:
    ignore = directive.ignore
    if ignore is not None and ignore.whole_file:
        return True
    if directive.target is None:
        return False
    if span.line <= directive.target <= span.end_line or span.line <= directive.line <= span.end_line:
        return True
    if launch is None or launch.source is not span.source:
        return False
    begins = {launch.command.line, launch.block.line}
    return directive.target in begins or directive.line in begins


def _whole(directive: Directive) -> UnusedIgnore:
    source, span, ignore = directive.span.source, directive.span, directive.ignore
    if directive.facts and ignore is not None:
        start, end = ignore.span.start, ignore.span.end
        while start > 0 and source.text[start - 1] in " \t,;":
            start -= 1
    elif directive.alone and not source.line_text(directive.line)[: span.start - source.line_starts[directive.line - 1]].strip():
        starts = source.line_starts
        start = starts[directive.line - 1]
        end = starts[directive.line] if directive.line < len(starts) else len(source.text)
    else:
        start, end = span.start, _comment_end(source, directive)
        while start > 0 and source.text[start - 1] in " \t":
            start -= 1
    return UnusedIgnore(directive, (), ignore.span if ignore is not None else span, Edit(source.span(start, end), ""))


def _comment_end(source: SourceFile, directive: Directive) -> int:
    mark = directive.span.text[:4]
    for opener, closer in (("<!--", "-->"), ("/*", "*/"), ("{{", "}}"), ("{#", "#}")):
        if mark.startswith(opener):
            at = source.text.find(closer, directive.span.end, directive.span.end + 40)
            if at >= 0:
                return at + len(closer)
    return directive.span.end


def _partly(directive: Directive, ignore: Ignore, idle: list[str]) -> UnusedIgnore:
    kept = ", ".join(span.text for code, span in ignore.codes if code not in idle)
    inside = ignore.codes[0][1].to(ignore.codes[-1][1])
    first = next(span for code, span in ignore.codes if code in idle)
    return UnusedIgnore(directive, tuple(idle), first, Edit(inside, kept))
