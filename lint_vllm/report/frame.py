"""The lines of source a finding points at, with the marked characters underlined."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

from lint_vllm.redaction import Redactor
from lint_vllm.source import Span

MAX_WIDTH = 160
MAX_LINES = 6


def frame(span: Span, redactor: Redactor, label: str = "") -> Iterator[tuple[str, str]]:
    """(gutter, text) pairs: source lines with their number as gutter, underlines with an empty one."""
    first, last = span.line, max(span.line, span.end_line if span.end_column > 1 else span.end_line - 1)
    shown = list(range(first, last + 1))
    if len(shown) > MAX_LINES:
        shown = shown[: MAX_LINES - 1]
    for number in shown:
        line = redactor.line(span.source.line_text(number))
        start = span.column - 1 if number == first else len(line) - len(line.lstrip())
        end = span.end_column - 1 if number == span.end_line else len(line)
        text, start, end = _window(line, start, min(max(end, start), len(line)))
        yield str(number), printable(text)
        mark = _blank(text[:start]) + "^" * max(1, _width(text[start:end]))
        yield "", f"{mark} {label}".rstrip() if number == shown[-1] else mark
    if len(shown) < last - first + 1:
        yield "...", f"({last - first + 1 - len(shown)} more lines)"


def printable(text: str) -> str:
    """Text that cannot steer a terminal: control characters are shown as a dot, tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c == "\t" or c.isprintable() else "·" for c in text)


def _window(line: str, start: int, end: int) -> tuple[str, int, int]:
    """The part of a long line around the mark."""
    if len(line) <= MAX_WIDTH:
        return line, start, end
    left = max(0, min(start - 40, len(line) - MAX_WIDTH))
    part = line[left : left + MAX_WIDTH]
    head, tail = ("..." if left else ""), ("..." if left + MAX_WIDTH < len(line) else "")
    shift = len(head) - left
    return f"{head}{part}{tail}", start + shift, min(end + shift, len(head) + len(part))


def _blank(text: str) -> str:
    return "".join("\t" if c == "\t" else " " * _width(c) for c in text)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)
