"""The Nix language as far as configuration uses it: sets, lists, strings, applications. Functions are not evaluated."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TypeAlias

from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern
from lint_vllm.source import Text

MAX_DEPTH = 80
MAX_NODES = 200_000

_SPACE = pattern(r"(?:\s+|#[^\n]*|/\*.*?(?:\*/|\Z))*", re.DOTALL)
_SPECIAL = pattern(r'["\\]|\$?\$\{')
"""What is not plain text in a string."""
_NAME = pattern(r"[A-Za-z_][\w'-]*")
_PATHLIKE = pattern(r"(?:\.{0,2}/|~/|<)[^\s;,(){}\[\]]+")
_NUMBER = pattern(r"-?\d+(?:\.\d+)?")
_OPERATOR = pattern(r"\+\+|//|==|!=|<=|>=|&&|\|\||->|[-+*/<>?!]")
_WORDS_THAT_END = frozenset({"then", "else", "in"})


@dataclass(frozen=True, slots=True)
class Str:
    place: Text
    parts: tuple[Text | Hole, ...]
    quote: str


@dataclass(frozen=True, slots=True)
class Hole:
    """``${expression}``."""

    place: Text
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Atom:
    """A number, ``true``, ``false``, ``null``."""

    place: Text
    value: object


@dataclass(frozen=True, slots=True)
class Ref:
    place: Text
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Items:
    place: Text
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Binding:
    path: tuple[Text, ...]
    value: Expr


@dataclass(frozen=True, slots=True)
class Attrs:
    place: Text
    bindings: tuple[Binding, ...]


@dataclass(frozen=True, slots=True)
class Apply:
    """A function and what it is given."""

    place: Text
    terms: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    place: Text
    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class If:
    place: Text
    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Let:
    place: Text
    bindings: tuple[Binding, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Other:
    place: Text


Expr: TypeAlias = "Str | Atom | Ref | Items | Attrs | Apply | Operation | If | Let | Other"


def parse_nix(text: Text) -> Expr:
    return _Parser(text).expression(0)


@dataclass
class _Parser:
    text: Text
    at: int = 0
    nodes: int = 0
    _stack: list[int] = field(default_factory=list)

    @property
    def value(self) -> str:
        return self.text.value

    def expression(self, depth: int) -> Expr:
        """Everything up to what closes it; heads of functions, ``with x;`` and ``assert x;`` are passed over."""
        self._skip()
        start = self.at
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES or start >= len(self.value):
            self.at = len(self.value)
            return Other(self.text[start : self.at])
        if self._lambda_head(depth):
            return self.expression(depth + 1)
        word = self._peek()
        if word in ("with", "assert"):
            self.at += len(word)
            self.expression(depth + 1)
            self._take(";")
            return self.expression(depth + 1)
        if word == "let":
            self.at += 3
            bindings = self._bindings(depth, "in")
            self._take("in")
            body = self.expression(depth + 1)
            return Let(self.text[start : self.at], bindings, body)
        if word == "if":
            self.at += 2
            test = self.expression(depth + 1)
            self._take("then")
            yes = self.expression(depth + 1)
            self._take("else")
            no = self.expression(depth + 1)
            return If(self.text[start : self.at], test, yes, no)
        left = self._application(depth)
        while True:
            self._skip()
            found = _OPERATOR.match(self.value, self.at)
            if found is None:
                return left
            self.at = found.end()
            right = self._application(depth + 1)
            left = Operation(self.text[start : self.at], found.group(), left, right)

    def _lambda_head(self, depth: int) -> bool:
        """``x:``, ``{ pkgs, ... }:``, ``args@{ ... }:``."""
        simple = re.compile(r"[A-Za-z_][\w'-]*\s*:(?=\s)").match(self.value, self.at)
        if simple:
            self.at = simple.end()
            return True
        formal = re.compile(
            r"(?:[A-Za-z_][\w'-]*\s*@\s*)?\{[\s\w'.,?\"\[\]{}#/:;=+-]*?\}\s*(?:@\s*[A-Za-z_][\w'-]*\s*)?:(?=\s)"
        ).match(self.value, self.at, min(len(self.value), self.at + 4000))
        if formal and "=" not in formal.group().replace("?", ""):
            self.at = formal.end()
            return True
        return False

    def _application(self, depth: int) -> Expr:
        self._skip()
        start = self.at
        terms: list[Expr] = []
        while True:
            self._skip()
            if terms and (self._peek() in _WORDS_THAT_END or (_OPERATOR.match(self.value, self.at) and not self._starts_path())):
                break
            term = self._term(depth)
            if term is None:
                break
            terms.append(term)
        end = terms[-1].place.span.end if terms else start
        if not terms:
            if self.at < len(self.value) and self.value[self.at] not in ")]};,":
                self.at += 1
            return Other(self.text[start : self.at])
        if len(terms) == 1:
            return terms[0]
        del end
        return Apply(self.text[start : self._last], tuple(terms))

    _last: int = 0

    def _starts_path(self) -> bool:
        return bool(_PATHLIKE.match(self.value, self.at))

    def _term(self, depth: int) -> Expr | None:
        term = self._simple(depth)
        if term is None:
            return None
        while self.value.startswith(".", self.at) and not self.value.startswith("..", self.at):
            self.at += 1
            if self.value.startswith('"', self.at):
                self._string(depth)
            elif self.value.startswith("${", self.at):
                self._hole(depth)
            else:
                name = _NAME.match(self.value, self.at)
                if name is None:
                    break
                self.at = name.end()
                if isinstance(term, Ref):
                    start = self.at - len(name.group()) - 1 - len(term.place)
                    term = Ref(self.text[start : self.at], (*term.path, name.group()))
                    continue
            term = Other(term.place)
        self._last = self.at
        return term

    def _simple(self, depth: int) -> Expr | None:
        self.nodes += 1
        start, value = self.at, self.value
        if start >= len(value) or depth > MAX_DEPTH or self.nodes > MAX_NODES:
            return None
        char = value[start]
        if char == '"':
            return self._string(depth)
        if value.startswith("''", start):
            return self._indented(depth)
        if char == "[":
            return self._list(depth)
        if char == "{":
            return self._attrs(depth)
        if char == "(":
            self.at += 1
            inner = self.expression(depth + 1)
            self._skip()
            self._until(")")
            return inner
        path = _PATHLIKE.match(value, start)
        if path:
            self.at = path.end()
            return Other(self.text[start : self.at])
        number = _NUMBER.match(value, start)
        if number:
            self.at = number.end()
            written = number.group()
            return Atom(self.text[start : self.at], float(written) if "." in written else int(written))
        name = _NAME.match(value, start)
        if name is None:
            return None
        if name.group() == "rec":
            self.at = name.end()
            self._skip()
            return self._attrs(depth) if value.startswith("{", self.at) else None
        if name.group() in _WORDS_THAT_END:
            return None
        self.at = name.end()
        if name.group() in ("true", "false", "null"):
            return Atom(self.text[start : self.at], {"true": True, "false": False, "null": None}[name.group()])
        return Ref(self.text[start : self.at], (name.group(),))

    def _list(self, depth: int) -> Items:
        start = self.at
        self.at += 1
        items: list[Expr] = []
        while True:
            self._skip()
            if self.at >= len(self.value) or self._take("]"):
                break
            before = self.at
            item = self._term(depth + 1)
            if item is not None:
                items.append(item)
            if self.at == before:
                self.at += 1
        return Items(self.text[start : self.at], tuple(items))

    def _attrs(self, depth: int) -> Attrs:
        start = self.at
        self.at += 1
        bindings = self._bindings(depth, "}")
        self._take("}")
        return Attrs(self.text[start : self.at], bindings)

    def _bindings(self, depth: int, closing: str) -> tuple[Binding, ...]:
        bindings: list[Binding] = []
        while True:
            self._skip()
            if self.at >= len(self.value) or self.nodes > MAX_NODES:
                break
            if (closing == "}" and self.value.startswith("}", self.at)) or (closing == "in" and self._peek() == "in"):
                break
            if self._peek() == "inherit":
                self._until(";")
                continue
            before = self.at
            path = self._attribute_path(depth)
            self._skip()
            if path and self._take("="):
                value = self.expression(depth + 1)
                bindings.append(Binding(path, value))
                self._skip()
                if not self._take(";"):
                    self._until(";") if not self.value.startswith("}", self.at) else None
            elif not self._take(";") and self.at == before:
                self.at += 1
        return tuple(bindings)

    def _attribute_path(self, depth: int) -> tuple[Text, ...]:
        path: list[Text] = []
        while True:
            start = self.at
            if self.value.startswith('"', start):
                string = self._string(depth)
                path.append(string.parts[0] if len(string.parts) == 1 and isinstance(string.parts[0], Text) else string.place[1:-1])
            elif self.value.startswith("${", start):
                path.append(self._hole(depth).place)
            else:
                name = _NAME.match(self.value, start)
                if name is None:
                    return tuple(path)
                self.at = name.end()
                path.append(self.text[start : self.at])
            self._skip()
            if not self._take("."):
                return tuple(path)
            self._skip()

    # -- strings ---------------------------------------------------------------------------------------------------

    def _string(self, depth: int) -> Str:
        start = self.at
        self.at += 1
        parts: list[Text | Hole] = []
        plain = self.at
        while (special := _SPECIAL.search(self.value, self.at)) is not None and special.group() != '"':
            self.at = special.start()
            if self.value[self.at] == "\\":
                self.at += 2
            elif self.value.startswith("$${", self.at):
                self.at += 3
            elif self.value.startswith("${", self.at):
                parts.append(_decoded(self.text[plain : self.at]))
                parts.append(self._hole(depth))
                plain = self.at
        self.at = len(self.value) if special is None else special.start()
        parts.append(_decoded(self.text[plain : self.at]))
        self._take('"')
        return Str(self.text[start : self.at], tuple(p for p in parts if isinstance(p, Hole) or p.value), '"')

    def _indented(self, depth: int) -> Str:
        start = self.at
        self.at += 2
        parts: list[Text | Hole] = []
        plain = self.at
        while self.at < len(self.value):
            if self.value.startswith("''", self.at):
                following = self.value[self.at + 2 : self.at + 3]
                if following == "$" or following == "'":
                    parts.append(self.text[plain : self.at])
                    plain = self.at + (2 if following == "$" else 1)
                    self.at += 3
                    continue
                if following == "\\":
                    parts.append(self.text[plain : self.at])
                    parts.append(_decoded(self.text[self.at + 2 : self.at + 4]))
                    self.at += 4
                    plain = self.at
                    continue
                break
            if self.value.startswith("$${", self.at):
                self.at += 3
            elif self.value.startswith("${", self.at):
                parts.append(self.text[plain : self.at])
                parts.append(self._hole(depth))
                plain = self.at
            else:
                self.at += 1
        self.at = min(self.at, len(self.value))
        parts.append(self.text[plain : self.at])
        self._take("''")
        return Str(self.text[start : self.at], _unindented(parts), "''")

    def _hole(self, depth: int) -> Hole:
        start = self.at
        self.at += 2
        value = self.expression(depth + 1)
        self._skip()
        self._until("}")
        return Hole(self.text[start : self.at], value)

    # -- characters ------------------------------------------------------------------------------------------------

    def _peek(self) -> str:
        name = _NAME.match(self.value, self.at)
        return name.group() if name else ""

    def _take(self, text: str) -> bool:
        self._skip()
        if self.value.startswith(text, self.at):
            self.at += len(text)
            return True
        return False

    def _skip(self) -> None:
        found = _SPACE.match(self.value, self.at)
        if found:
            self.at = found.end()

    def _until(self, closing: str) -> None:
        """Past the closing character, over what is nested; an expression that was not understood ends here."""
        depth = 0
        while self.at < len(self.value):
            char = self.value[self.at]
            if depth == 0 and char == closing:
                self.at += 1
                return
            if char == '"':
                self._string(MAX_DEPTH)
                continue
            if self.value.startswith("''", self.at):
                self._indented(MAX_DEPTH)
                continue
            if char in "{[(":
                depth += 1
            elif char in "}])":
                if depth == 0:
                    return
                depth -= 1
            self.at += 1


_ESCAPE = {"n": "\n", "r": "\r", "t": "\t"}


def _decoded(body: Text) -> Text:
    value = body.value
    if "\\" not in value:
        return body
    characters: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    at = 0
    while at < len(value):
        end, decoded = at + 1, value[at]
        if decoded == "\\" and end < len(value):
            decoded, end = _ESCAPE.get(value[end], value[end]), at + 2
        characters.append(decoded)
        starts.append(body.starts[at])
        stops.append(body.stops[end - 1])
        at = end
    return Text(body.source, "".join(characters), tuple(starts), tuple(stops), body.anchor)


def _unindented(parts: list[Text | Hole]) -> tuple[Text | Hole, ...]:
    """An indented string without its common indentation and without a first line that is blank."""
    if parts and isinstance(parts[0], Text):
        first = parts[0].value.split("\n", 1)
        if len(first) == 2 and not first[0].strip():
            parts = [parts[0][len(first[0]) + 1 :], *parts[1:]]
    indent: int | None = None
    line_start = True
    for number, part in enumerate(parts):
        if isinstance(part, Hole):
            line_start = False
            continue
        lines = part.value.split("\n")
        for index, line in enumerate(lines):
            at_start = line_start if index == 0 else True
            blank = not line.strip(" ")
            ends_with_hole = index == len(lines) - 1 and number + 1 < len(parts) and isinstance(parts[number + 1], Hole)
            if at_start and (not blank or ends_with_hole):
                depth = len(line) - len(line.lstrip(" "))
                indent = depth if indent is None else min(indent, depth)
        line_start = len(lines) > 1 and not lines[-1].strip(" ")
    result: list[Text | Hole] = []
    fresh = True
    for part in parts:
        if isinstance(part, Hole):
            result.append(part)
            fresh = False
            continue
        at = 0
        for line in part.value.splitlines(keepends=True) or [""]:
            leading = len(line) - len(line.lstrip(" "))
            cut = min(indent or 0, leading) if fresh else 0
            result.append(part[at + cut : at + len(line)])
            at += len(line)
            fresh = line.endswith("\n")
    return tuple(p for p in result if isinstance(p, Hole) or p.value)
