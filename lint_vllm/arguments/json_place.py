"""Where a key or value stands inside JSON text."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Literal

from lint_vllm.arguments.model import Argument
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

_SPACE = pattern(r"[ \t\r\n]*")
_STRING = pattern(r'"((?:[^"\\]|\\.)*)"', re.S)
_BARE = pattern(r"[^\s,\]}]+")
_Range = tuple[int, int]


def json_key_span(text: Text, path: Sequence[str]) -> Span | None:
    """The key at ``path`` without its quotes; list items are reached by their index as text. ``None``: not found."""
    found = _find(text.value, tuple(path))
    return text[found[0][0] : found[0][1]].span if found and found[0] else None


def json_value_span(text: Text, path: Sequence[str]) -> Span | None:
    """The value at ``path`` as written (strings with their quotes); an empty path is the whole value."""
    found = _find(text.value, tuple(path))
    return text[found[1][0] : found[1][1]].span if found else None


def key_place(argument: Argument, key: str) -> Span | None:
    """The key of a structured value, in JSON or as the carrier writes mappings (Python, YAML, escaped JSON)."""
    return _place(argument, key, "key")


def value_place(argument: Argument, key: str) -> Span | None:
    """The plain value behind a key, as :func:`key_place` finds it."""
    return _place(argument, key, "value")


def _place(argument: Argument, key: str, group: Literal["key", "value"]) -> Span | None:
    content = argument.words[-1].content if argument.words else None
    found = None
    if content is not None:
        found = json_key_span(content, [key]) if group == "key" else json_value_span(content, [key])
    if found is not None or argument.value_span is None:
        return found
    whole = argument.value_span
    pattern = rf"(?<![\w.-])(?P<key>{re.escape(key)})(?![\w-])(?:\\?[\"'])?[ \t]*[:=][ \t]*(?P<value>[\w.+/-]*)"
    places = list(re.finditer(pattern, whole.text))
    if len(places) != 1 or not places[0][group]:
        return None
    return Span(whole.source, whole.start + places[0].start(group), whole.start + places[0].end(group))


def _find(text: str, path: tuple[str, ...]) -> tuple[_Range | None, _Range] | None:
    try:
        start = _skip(text, 0)
        key: _Range | None = None
        for part in path:
            found: tuple[_Range | None, int] | None
            if text[start] == "{":
                found = _member(text, start, part)
            elif text[start] == "[":
                found = _element(text, start, part)
            else:
                return None
            if found is None:
                return None
            key, start = found
        return key, (start, _end(text, start))
    except (IndexError, ValueError, RecursionError):
        return None


def _skip(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def _member(text: str, at: int, wanted: str) -> tuple[_Range, int] | None:
    """The last member of that name, as JSON readers keep the last."""
    found = None
    at = _skip(text, at + 1)
    while text[at] != "}":
        match = _STRING.match(text, at)
        if match is None:
            return found
        value = _skip(text, _skip(text, match.end()) + 1)
        if json.loads(match.group()) == wanted:
            found = ((match.start(1), match.end(1)), value)
        at = _skip(text, _end(text, value))
        if text[at] == ",":
            at = _skip(text, at + 1)
    return found


def _element(text: str, at: int, wanted: str) -> tuple[None, int] | None:
    at, index = _skip(text, at + 1), 0
    while text[at] != "]":
        if str(index) == wanted:
            return None, at
        at = _skip(text, _end(text, at))
        if text[at] == ",":
            at = _skip(text, at + 1)
        index += 1
    return None


def _end(text: str, at: int) -> int:
    if text[at] == '"':
        match = _STRING.match(text, at)
        if match is None:
            raise ValueError
        return match.end()
    if text[at] not in "{[":
        match = _BARE.match(text, at)
        if match is None:
            raise ValueError
        return match.end()
    depth = 0
    while at < len(text):
        if text[at] == '"':
            at = _end(text, at)
            continue
        depth += text[at] in "{["
        depth -= text[at] in "}]"
        at += 1
        if not depth:
            return at
    raise ValueError
