"""TOML as a tree whose strings know every character's place (the standard library's parser gives no places)."""

from __future__ import annotations

from dataclasses import dataclass, field

from lint_vllm.extract.structure import Leaf, Map, Pair, Seq, Tree
from lint_vllm.launch import Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Text

MAX_DEPTH = 60

_SPACE = pattern(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = pattern(r"[ \t]*(?:([A-Za-z0-9_-]+)|\"([^\"\n]*)\"|'([^'\n]*)')[ \t]*")
_TABLE = pattern(r"[ \t]*\[{1,2}([^\]\n]+)\]{1,2}[ \t]*(?:#[^\n]*)?(?:\r?\n|$)")
_ATOM = pattern(r"[^\s,\]}#]+")
_ESCAPE = pattern(r"\\(?:([btnfr\"\\e])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|[ \t]*\r?\n\s*)")
_SIMPLE = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b", '"': '"', "\\": "\\"}


def parse_toml(text: Text) -> Map:
    """Tables nest by their dotted names; lines that are no TOML are passed over."""
    return _Parser(text).document()


@dataclass
class _Table:
    start: int
    end: int
    pairs: list[Pair | tuple[Word, _Table]] = field(default_factory=list)
    children: dict[str, _Table] = field(default_factory=dict)


@dataclass
class _Parser:
    text: Text
    at: int = 0

    def document(self) -> Map:
        value = self.text.value
        root = current = _Table(0, len(value))
        while True:
            self._skip()
            if self.at >= len(value):
                break
            header = _TABLE.match(value, self.at) if value[self.at] == "[" else None
            if header:
                inner = self.text[header.start(1) : header.end(1)].strip("[] \t")
                current = root
                for part in _dotted(inner):
                    bare = part.strip(" \t\"'")
                    current = _child(current, Word(bare, bare.span), header.end())
                self.at = header.end()
                continue
            pair = self._pair(0)
            if pair is None:
                newline = value.find("\n", self.at)
                self.at = len(value) if newline < 0 else newline + 1
                continue
            names, node = pair
            holder = current
            for name in names[:-1]:
                holder = _child(holder, name, self.at)
            holder.pairs.append(Pair(names[-1], node, names[-1].span.to(node.span)))
            holder.end = current.end = self.at
        return self._map(root)

    def _map(self, table: _Table) -> Map:
        pairs = []
        for pair in table.pairs:
            if isinstance(pair, Pair):
                pairs.append(pair)
            else:
                inner = self._map(pair[1])
                pairs.append(Pair(pair[0], inner, pair[0].span.to(inner.span)))
        return Map(self.text[table.start : max(table.end, table.start)].span, tuple(pairs))

    def _pair(self, depth: int) -> tuple[list[Word], Tree] | None:
        names: list[Word] = []
        while True:
            key = _KEY.match(self.text.value, self.at)
            if key is None:
                return None
            group = key.lastindex or 1
            names.append(Word(self.text[key.start(group) : key.end(group)], self.text[key.start(group) : key.end(group)].span))
            self.at = key.end()
            if self._takes("."):
                continue
            if not self._takes("="):
                return None
            break
        value = self._value(depth + 1)
        return (names, value) if value is not None else None

    def _value(self, depth: int) -> Tree | None:
        value = self.text.value
        while value[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        start = self.at
        if depth > MAX_DEPTH or start >= len(value):
            return None
        for quote in ('"""', "'''", '"', "'"):
            if value.startswith(quote, start):
                return self._string(quote)
        if value[start] == "[":
            return self._array(depth)
        if value[start] == "{":
            return self._inline(depth)
        atom = _ATOM.match(value, start)
        if atom is None:
            return None
        self.at = atom.end()
        place = self.text[start : self.at]
        return Leaf(Word(place, place.span), _number(place.value))

    def _string(self, quote: str) -> Leaf | None:
        value, start = self.text.value, self.at
        at = start + len(quote)
        if len(quote) == 3 and value.startswith("\n", at):
            at += 1
        elif len(quote) == 3 and value.startswith("\r\n", at):
            at += 2
        end = at
        while end < len(value) and not value.startswith(quote, end):
            if value[end] == "\n" and len(quote) == 1:
                return None
            end += 2 if value[end] == "\\" and quote[0] == '"' else 1
        end = min(end, len(value))
        body = self.text[at:end]
        self.at = min(end + len(quote), len(value))
        content = _decoded(body) if quote[0] == '"' else body
        return Leaf(Word(content, self.text[start : self.at].span, quote), content.value)

    def _array(self, depth: int) -> Seq:
        start = self.at
        self.at += 1
        items: list[Tree] = []
        while True:
            self._skip()
            if self.at >= len(self.text.value) or self._takes("]"):
                break
            if self._takes(","):
                continue
            item = self._value(depth + 1)
            if item is None:
                break
            items.append(item)
        return Seq(self.text[start : self.at].span, tuple(items))

    def _inline(self, depth: int) -> Map:
        start = self.at
        self.at += 1
        pairs: list[Pair] = []
        while True:
            self._skip()
            if self.at >= len(self.text.value) or self._takes("}"):
                break
            if self._takes(","):
                continue
            pair = self._pair(depth + 1)
            if pair is None:
                break
            pairs.append(Pair(pair[0][-1], pair[1], pair[0][0].span.to(pair[1].span)))
        return Map(self.text[start : self.at].span, tuple(pairs))

    def _skip(self) -> None:
        found = _SPACE.match(self.text.value, self.at)
        if found:
            self.at = found.end()

    def _takes(self, char: str) -> bool:
        if self.text.value.startswith(char, self.at):
            self.at += 1
            return True
        return False


def _child(table: _Table, name: Word, at: int) -> _Table:
    known = table.children.get(name.value)
    if known is None:
        known = table.children[name.value] = _Table(at, at)
        table.pairs.append((name, known))
    return known


def _dotted(name: Text) -> list[Text]:
    parts: list[Text] = []
    start, quote = 0, ""
    for at, char in enumerate(name.value):
        if char in "\"'" and (not quote or quote == char):
            quote = "" if quote else char
        elif char == "." and not quote:
            parts.append(name[start:at])
            start = at + 1
    return [*parts, name[start:]]


def _number(value: str) -> object:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value.replace("_", ""))
        except ValueError:
            continue
    return value


def _decoded(body: Text) -> Text:
    value = body.value
    if "\\" not in value:
        return body
    characters: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    at = 0
    while at < len(value):
        escape = _ESCAPE.match(value, at) if value[at] == "\\" else None
        end, decoded = at + 1, value[at]
        if escape:
            simple, four, eight = escape.groups()
            end = escape.end()
            try:
                decoded = _SIMPLE[simple] if simple else chr(int(four or eight, 16)) if four or eight else ""
            except (ValueError, OverflowError):
                decoded = escape.group()[:1]
        if decoded:
            characters.append(decoded)
            starts.append(body.starts[at])
            stops.append(body.stops[end - 1])
        at = end
    return Text(body.source, "".join(characters), tuple(starts), tuple(stops), body.anchor)
