"""JSON as a tree whose strings know every character's place. Comments and trailing commas are read over; an error costs
the rest of the value that holds it, never what stood before."""

from __future__ import annotations

import json
import re
from dataclasses import field

from lint_vllm.extract.context import Unreadable
from lint_vllm.extract.structure import Leaf, Map, Pair, Seq, Tree
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

MAX_DEPTH = 200
MAX_VALUES = 2_000_000

_SPACE = pattern(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/|#[^\n]*)*", re.DOTALL)
_STRING = pattern(r'"((?:[^"\\\n]|\\.)*)"', re.DOTALL)
_ATOM = pattern(r"[^\s,:{}\[\]\"]+")
_ESCAPE = pattern(r"\\(?:u([0-9a-fA-F]{4})(?:\\u([dD][c-fC-F][0-9a-fA-F]{2}))?|(.))", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


@dataclass(frozen=True, slots=True)
class Document:
    root: Tree | None
    problems: tuple[Unreadable, ...] = ()


def parse_json(text: Text) -> Document:
    """The value of a text; what could be read of it when it is broken."""
    parser = _Parser(text)
    root = parser.value(0)
    return Document(root, tuple(parser.problems[:1]))


def decode_json_string(body: Text) -> Text:
    """The inside of a JSON string without its escapes."""
    value = body.value
    if "\\" not in value:
        return body
    characters: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    at = 0
    while at < len(value):
        escape = _ESCAPE.match(value, at) if value[at] == "\\" else None
        end = escape.end() if escape else at + 1
        decoded = value[at]
        if escape:
            decoded, end = _unescaped(escape)
        characters.append(decoded)
        starts.append(body.starts[at])
        stops.append(body.stops[end - 1])
        at = end
    return Text(body.source, "".join(characters), tuple(starts), tuple(stops), body.anchor)


def _unescaped(escape: re.Match[str]) -> tuple[str, int]:
    first, second, simple = escape.groups()
    if simple is not None:
        return _SIMPLE.get(simple, simple), escape.end()
    code = int(first, 16)
    if second and 0xD800 <= code < 0xDC00:
        return chr(0x10000 + ((code - 0xD800) << 10) + (int(second, 16) - 0xDC00)), escape.end()
    end = escape.start() + 6
    return (chr(code) if not 0xD800 <= code < 0xE000 else "\ufffd"), end


@dataclass
class _Parser:
    text: Text
    at: int = 0
    problems: list[Unreadable] = field(default_factory=list)
    values: int = 0

    def value(self, depth: int) -> Tree | None:
        self._skip()
        content = self.text.value
        self.values += 1
        if self.at >= len(content) or depth > MAX_DEPTH or self.values > MAX_VALUES:
            self._fail("it ends too early" if self.at >= len(content) else "it is nested too deeply or too long")
            return None
        char = content[self.at]
        if char == "{":
            return self._map(depth)
        if char == "[":
            return self._list(depth)
        if char == '"':
            return self._string()
        atom = _ATOM.match(content, self.at)
        if atom is None:
            self._fail(f"unexpected {char!r}")
            return None
        place = self.text[atom.start() : atom.end()]
        self.at = atom.end()
        return Leaf(Word(place, place.span), _literal(place.value))

    def _map(self, depth: int) -> Map:
        start = self.at
        self.at += 1
        pairs: list[Pair] = []
        while True:
            self._skip()
            if self._takes("}"):
                break
            if self._takes(","):
                continue
            key = self._string()
            if key is None:
                self._fail("a key in quotes is missing")
                break
            self._skip()
            if not self._takes(":"):
                self._fail("a colon is missing")
                break
            value = self.value(depth + 1)
            if value is None:
                break
            pairs.append(Pair(key.word, value, key.span.to(value.span)))
            if self.problems:
                break
        return Map(self._span(start), tuple(pairs))

    def _list(self, depth: int) -> Seq:
        start = self.at
        self.at += 1
        items: list[Tree] = []
        while True:
            self._skip()
            if self._takes("]"):
                break
            if self._takes(","):
                continue
            value = self.value(depth + 1)
            if value is None:
                break
            items.append(value)
            if self.problems:
                break
        return Seq(self._span(start), tuple(items))

    def _string(self) -> Leaf | None:
        found = _STRING.match(self.text.value, self.at)
        if found is None:
            return None
        self.at = found.end()
        content = decode_json_string(self.text[found.start(1) : found.end(1)])
        return Leaf(Word(content, self._span(found.start()), '"'), content.value)

    def _span(self, start: int) -> Span:
        return self.text[start : self.at].span

    def _skip(self) -> None:
        found = _SPACE.match(self.text.value, self.at)
        if found:
            self.at = found.end()

    def _takes(self, char: str) -> bool:
        if self.text.value.startswith(char, self.at):
            self.at += 1
            return True
        return False

    def _fail(self, reason: str) -> None:
        if not self.problems:
            self.problems.append(Unreadable(self.text[self.at : self.at + 1].span, f"this is not valid JSON: {reason}"))


def _literal(value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
