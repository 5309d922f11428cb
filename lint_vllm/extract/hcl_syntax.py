"""HCL (Terraform, Nomad, Packer) as syntax with the place of every part. Tolerant: what is not understood is skipped to
the end of its line, and says so where a value was wanted."""

from __future__ import annotations

import re
from dataclasses import field
from typing import TypeAlias

from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern
from lint_vllm.source import Text

MAX_DEPTH = 80
MAX_NODES = 300_000

_SPACE = pattern(r"(?:[ \t\r\ufeff]+|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))+", re.DOTALL)
_SPACE_LINES = pattern(r"(?:[\s\ufeff]+|#[^\n]*|//[^\n]*|/\*.*?(?:\*/|\Z))+", re.DOTALL)
_NAME = pattern(r"[A-Za-z_][\w-]*")
_NUMBER = pattern(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_HEREDOC = pattern(r"<<(-?)[ \t]*([A-Za-z_][\w-]*)[ \t]*\r?\n")
_OPERATOR = pattern(r"==|!=|<=|>=|&&|\|\||[-+*/%<>]")
_ESCAPE = pattern(r"\\(?:([nrt\"\\])|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8}))")
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Literal:
    """A number, ``true``, ``false`` or ``null``."""

    place: Text
    value: object


@dataclass(frozen=True, slots=True)
class Template:
    """A quoted string or heredoc: decoded text, and what ``${ }`` holds."""

    place: Text
    parts: tuple[Text | Insertion, ...]
    heredoc: bool = False


@dataclass(frozen=True, slots=True)
class Insertion:
    """``${expression}`` or ``%{directive}`` (then without an expression)."""

    place: Text
    expression: Expression | None


@dataclass(frozen=True, slots=True)
class Reference:
    """``var.model``, ``local.args``, ``aws_instance.gpu.id``: the names as far as they are plain."""

    place: Text
    path: tuple[str, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    place: Text
    name: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Tuple:
    place: Text
    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Object:
    place: Text
    items: tuple[tuple[Expression, Expression], ...]


@dataclass(frozen=True, slots=True)
class Conditional:
    place: Text
    test: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True, slots=True)
class Opaque:
    """Arithmetic, ``for``, or something that is not understood."""

    place: Text


Expression: TypeAlias = "Literal | Template | Reference | Call | Tuple | Object | Conditional | Opaque"


@dataclass(frozen=True, slots=True)
class Attribute:
    name: Text
    value: Expression


@dataclass(frozen=True, slots=True)
class Block:
    name: Text
    labels: tuple[Text, ...]
    body: Body
    place: Text


@dataclass(slots=True)
class Body:
    place: Text
    attributes: list[Attribute] = field(default_factory=list)
    blocks: list[Block] = field(default_factory=list)
    order: list[Attribute | Block] = field(default_factory=list)

    def attribute(self, name: str) -> Expression | None:
        return next((a.value for a in reversed(self.attributes) if a.name.value == name), None)


def parse_hcl(text: Text) -> tuple[Body, Text | None]:
    """The body of a file, and the place of the first thing that was not understood."""
    parser = _Parser(text)
    body = parser.body(top=True, depth=0)
    return body, parser.trouble


@dataclass
class _Parser:
    text: Text
    at: int = 0
    trouble: Text | None = None
    nodes: int = 0

    @property
    def value(self) -> str:
        return self.text.value

    # -- structure -------------------------------------------------------------------------------------------------

    def body(self, top: bool, depth: int) -> Body:
        body = Body(self.text[self.at : self.at])
        start = self.at
        while True:
            self._skip_lines()
            if self.at >= len(self.value):
                break
            if self.value[self.at] == "}":
                if not top:
                    break
                self.at += 1
                continue
            if not self._item(body, depth):
                self._not_understood()
                self._to_line_end()
        body.place = self.text[start : self.at]
        return body

    def _item(self, body: Body, depth: int) -> bool:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            self.at = len(self.value)
            return True
        start = self.at
        name = self._name_or_string()
        if name is None:
            return False
        self._skip()
        if self.value.startswith("=", self.at) and not self.value.startswith("==", self.at):
            self.at += 1
            attribute = Attribute(name, self.expression(depth + 1, lines=False))
            body.attributes.append(attribute)
            body.order.append(attribute)
            return True
        labels: list[Text] = []
        while (label := self._name_or_string()) is not None:
            labels.append(label)
            self._skip()
        if not self.value.startswith("{", self.at):
            return False
        self.at += 1
        inner = self.body(top=False, depth=depth + 1)
        self._take("}")
        block = Block(name, tuple(labels), inner, self.text[start : self.at])
        body.blocks.append(block)
        body.order.append(block)
        return True

    def _name_or_string(self) -> Text | None:
        found = _NAME.match(self.value, self.at)
        if found:
            self.at = found.end()
            return self.text[found.start() : found.end()]
        if self.value.startswith('"', self.at):
            template = self._string(0)
            if len(template.parts) == 1 and isinstance(template.parts[0], Text):
                return template.parts[0]
            return template.place[1:-1]
        return None

    # -- expressions -----------------------------------------------------------------------------------------------

    def expression(self, depth: int, lines: bool) -> Expression:
        """``lines``: inside brackets, where line breaks do not end an expression."""
        self._blank(lines)
        start = self.at
        left = self._unary(depth, lines)
        self._blank_before_operator(lines)
        operators = False
        while (found := _OPERATOR.match(self.value, self.at)) and not self.value.startswith("=>", self.at):
            operators = True
            self.at = found.end()
            self._blank(True)
            self._unary(depth + 1, lines)
            self._blank_before_operator(lines)
        if operators:
            left = Opaque(self.text[start : self._end()])
        if self.value.startswith("?", self.at):
            self.at += 1
            yes = self.expression(depth + 1, lines)
            self._blank(True)
            self._take(":")
            no = self.expression(depth + 1, lines)
            return Conditional(self.text[start : self._end()], left, yes, no)
        return left

    def _unary(self, depth: int, lines: bool) -> Expression:
        self.nodes += 1
        if depth > MAX_DEPTH or self.nodes > MAX_NODES:
            start, self.at = self.at, len(self.value)
            return Opaque(self.text[start : self.at])
        start = self.at
        value = self.value
        if value.startswith("!", start):
            self.at += 1
            self._unary(depth + 1, lines)
            return Opaque(self.text[start : self.at])
        found = _NUMBER.match(value, start)
        if found:
            self.at = found.end()
            number = found.group()
            return Literal(self.text[start : self.at], float(number) if any(c in number for c in ".eE") else int(number))
        if value.startswith("-", start):
            self.at += 1
            self._unary(depth + 1, lines)
            return Opaque(self.text[start : self.at])
        primary = self._primary(depth)
        return self._postfix(primary, start, depth)

    def _primary(self, depth: int) -> Expression:
        start, value = self.at, self.value
        char = value[start : start + 1]
        if char == '"':
            return self._string(depth)
        heredoc = _HEREDOC.match(value, start)
        if heredoc:
            return self._heredoc(heredoc, depth)
        if char == "[":
            return self._tuple(depth)
        if char == "{":
            return self._object(depth)
        if char == "(":
            self.at += 1
            inner = self.expression(depth + 1, lines=True)
            self._blank(True)
            self._take(")")
            return inner
        name = _NAME.match(value, start)
        if name is None:
            self._not_understood()
            self._to_line_end()
            return Opaque(self.text[start : self.at])
        self.at = name.end()
        if value.startswith("(", self.at):
            return self._call(name.group(), start, depth)
        if name.group() in ("true", "false", "null"):
            literal = {"true": True, "false": False, "null": None}[name.group()]
            return Literal(self.text[start : self.at], literal)
        return Reference(self.text[start : self.at], (name.group(),))

    def _postfix(self, primary: Expression, start: int, depth: int) -> Expression:
        """``.name``, ``[index]`` and splats."""
        value = self.value
        while True:
            step = re.compile(r"\.(?:([A-Za-z_][\w-]*)|(\d+)|(\*))").match(value, self.at)
            if step:
                self.at = step.end()
                plain = isinstance(primary, Reference) and primary.whole and step.group(1)
                path = (*primary.path, step.group(1)) if isinstance(primary, Reference) and plain else ()
                path = path or (primary.path if isinstance(primary, Reference) else ())
                primary = Reference(self.text[start : self.at], path, bool(plain)) if path else Opaque(self.text[start : self.at])
            elif value.startswith("[", self.at):
                self.at += 1
                index = self.expression(depth + 1, lines=True) if not value.startswith("*", self.at) else None
                if index is None:
                    self.at += 1
                self._blank(True)
                self._take("]")
                name = (
                    index.parts[0].value
                    if isinstance(index, Template) and len(index.parts) == 1 and isinstance(index.parts[0], Text)
                    else None
                )
                if isinstance(primary, Reference) and primary.whole and name is not None:
                    primary = Reference(self.text[start : self.at], (*primary.path, name))
                elif isinstance(primary, Reference):
                    primary = Reference(self.text[start : self.at], primary.path, False)
                else:
                    primary = Opaque(self.text[start : self.at])
            else:
                return primary

    def _call(self, name: str, start: int, depth: int) -> Call:
        self.at += 1
        arguments: list[Expression] = []
        while True:
            self._blank(True)
            if self.at >= len(self.value) or self._take(")"):
                break
            before = self.at
            arguments.append(self.expression(depth + 1, lines=True))
            self._blank(True)
            if self.value.startswith("...", self.at):
                self.at += 3
                self._blank(True)
            if not self._take(",") and not self.value.startswith(")", self.at) and self.at == before:
                self.at += 1
        return Call(self.text[start : self.at], name, tuple(arguments))

    def _tuple(self, depth: int) -> Expression:
        start = self.at
        self.at += 1
        self._blank(True)
        if re.compile(r"for\s").match(self.value, self.at):
            return self._loop(start, "]")
        items: list[Expression] = []
        while True:
            self._blank(True)
            if self.at >= len(self.value) or self._take("]"):
                break
            before = self.at
            items.append(self.expression(depth + 1, lines=True))
            self._blank(True)
            if not self._take(",") and not self.value.startswith("]", self.at) and self.at == before:
                self.at += 1
        return Tuple(self.text[start : self.at], tuple(items))

    def _object(self, depth: int) -> Expression:
        start = self.at
        self.at += 1
        self._blank(True)
        if re.compile(r"for\s").match(self.value, self.at):
            return self._loop(start, "}")
        items: list[tuple[Expression, Expression]] = []
        while True:
            self._skip_lines()
            if self.at >= len(self.value) or self._take("}"):
                break
            if self._take(","):
                continue
            before = self.at
            key = self._primary(depth + 1)
            key = self._postfix(key, before, depth + 1)
            self._skip()
            if not (self._take("=") or self._take(":")):
                self._not_understood()
                if self.at == before or not self.value.startswith("}", self.at):
                    self._to_line_end()
                continue
            items.append((key, self.expression(depth + 1, lines=False)))
        return Object(self.text[start : self.at], tuple(items))

    def _loop(self, start: int, closing: str) -> Expression:
        """A ``for`` expression is passed over."""
        depth = 0
        while self.at < len(self.value):
            char = self.value[self.at]
            if char == '"':
                self._string(MAX_DEPTH)
                continue
            self.at += 1
            if char in "[{(":
                depth += 1
            elif char in "]})":
                if depth == 0 and char == closing:
                    break
                depth -= 1
        return Opaque(self.text[start : self.at])

    # -- text ------------------------------------------------------------------------------------------------------

    def _string(self, depth: int) -> Template:
        start = self.at
        self.at += 1
        parts: list[Text | Insertion] = []
        plain = self.at
        while self.at < len(self.value):
            char = self.value[self.at]
            if char == '"' or char == "\n":
                break
            if char == "\\":
                self.at += 2
            elif char in "$%" and self.value.startswith("{", self.at + 1):
                if self.at > plain and self.value[self.at - 1] == char:  # $${ stands for ${
                    parts.append(_decoded(self.text[plain : self.at]))
                    plain = self.at
                    self.at += 2
                    continue
                parts.append(_decoded(self.text[plain : self.at]))
                parts.append(self._insertion(depth))
                plain = self.at
            else:
                self.at += 1
        parts.append(_decoded(self.text[plain : self.at]))
        self._take('"')
        kept = tuple(p for p in parts if isinstance(p, Insertion) or p.value)
        return Template(self.text[start : self.at], _without_escapes(kept))

    def _insertion(self, depth: int) -> Insertion:
        start = self.at
        directive = self.value[start] == "%"
        self.at += 2
        expression: Expression | None = None
        self._take("~")
        if not directive and depth < MAX_DEPTH:
            expression = self.expression(depth + 1, lines=True)
            self._blank(True)
            self._take("~")
        if not self._take("}"):
            level = 0
            while self.at < len(self.value):
                char = self.value[self.at]
                if char == "\n" and level == 0 and not directive:
                    break
                self.at += 1
                if char == "{":
                    level += 1
                elif char == "}":
                    if level == 0:
                        break
                    level -= 1
            expression = Opaque(self.text[start : self.at]) if not directive else None
        return Insertion(self.text[start : self.at], expression)

    def _heredoc(self, opening: re.Match[str], depth: int) -> Template:
        start, body_start = self.at, opening.end()
        closing = re.compile(rf"^[ \t]*{re.escape(opening.group(2))}[ \t]*\r?$", re.MULTILINE).search(self.value, body_start)
        body_end = closing.start() if closing else len(self.value)
        end = closing.end() if closing else len(self.value)
        indent = _indent(self.value[body_start:body_end]) if opening.group(1) else 0
        parts: list[Text | Insertion] = []
        self.at = plain = body_start
        if indent:
            plain = self.at = min(body_start + _leading(self.value, body_start, indent), body_end)
        while self.at < body_end:
            found = re.compile(r"[$%]\{|\n").search(self.value, self.at, body_end)
            if found is None:
                break
            self.at = found.start()
            if found.group() == "\n":
                self.at += 1
                if indent:
                    parts.append(self.text[plain : self.at])
                    self.at += min(_leading(self.value, self.at, indent), body_end - self.at)
                    plain = self.at
            elif self.at > plain and self.value[self.at - 1] == self.value[self.at]:  # $${ stands for ${
                parts.append(self.text[plain : self.at])
                plain = self.at
                self.at += 2
            else:
                parts.append(self.text[plain : self.at])
                parts.append(self._insertion(depth))
                plain = self.at
        parts.append(self.text[plain:body_end])
        self.at = end
        kept = tuple(p for p in parts if isinstance(p, Insertion) or p.value)
        return Template(self.text[start:end], _without_escapes(kept), heredoc=True)

    # -- characters ------------------------------------------------------------------------------------------------

    def _take(self, char: str) -> bool:
        if self.value.startswith(char, self.at):
            self.at += len(char)
            return True
        return False

    def _skip(self) -> None:
        found = _SPACE.match(self.value, self.at)
        if found:
            self.at = found.end()

    def _skip_lines(self) -> None:
        found = _SPACE_LINES.match(self.value, self.at)
        if found:
            self.at = found.end()

    def _blank(self, lines: bool) -> None:
        if lines:
            self._skip_lines()
        else:
            self._skip()

    def _blank_before_operator(self, lines: bool) -> None:
        """Blanks are only taken when an operator follows, so that places end with what is written."""
        before = self.at
        self._blank(lines)
        if not (_OPERATOR.match(self.value, self.at) or self.value.startswith("?", self.at)) or self.value.startswith(
            "=>", self.at
        ):
            self.at = before

    def _end(self) -> int:
        return self.at

    def _to_line_end(self) -> None:
        newline = self.value.find("\n", self.at)
        self.at = len(self.value) if newline < 0 else newline

    def _not_understood(self) -> None:
        if self.trouble is None:
            self.trouble = self.text[self.at : self.at + 1]


def _decoded(body: Text) -> Text:
    """A quoted part without escapes."""
    value = body.value
    if "\\" not in value:
        return body
    characters: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    at = 0
    while at < len(value):
        escape = _ESCAPE.match(value, at)
        end, decoded = at + 1, value[at]
        if escape:
            simple, four, eight = escape.groups()
            try:
                decoded = _SIMPLE[simple] if simple else chr(int(four or eight, 16))
            except (ValueError, OverflowError):
                decoded = escape.group()[:1]
            end = escape.end()
        characters.append(decoded)
        starts.append(body.starts[at])
        stops.append(body.stops[end - 1])
        at = end
    return Text(body.source, "".join(characters), tuple(starts), tuple(stops), body.anchor)


def _without_escapes(parts: tuple[Text | Insertion, ...]) -> tuple[Text | Insertion, ...]:
    """``$${`` was cut before its second sign; the first one goes."""
    result: list[Text | Insertion] = []
    for number, part in enumerate(parts):
        following = parts[number + 1] if number + 1 < len(parts) else None
        escaped = isinstance(part, Text) and isinstance(following, Text) and part.value[-1:] in ("$", "%")
        if escaped and isinstance(following, Text) and isinstance(part, Text) and following.value.startswith(part.value[-1] + "{"):
            part = part[:-1]
        result.append(part)
    return tuple(p for p in result if isinstance(p, Insertion) or p.value)


def _indent(body: str) -> int:
    depths = [len(line) - len(line.lstrip(" \t")) for line in body.split("\n") if line.strip()]
    return min(depths, default=0)


def _leading(value: str, at: int, most: int) -> int:
    count = 0
    while count < most and value[at + count : at + count + 1] in (" ", "\t"):
        count += 1
    return count
