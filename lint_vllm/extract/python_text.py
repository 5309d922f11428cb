"""Python source as text: places of syntax nodes in characters, and string literals decoded with their origins.

``ast`` counts columns in UTF-8 bytes and knows nothing of the inside of a literal; both are mended here. The code may
itself be decoded text (a notebook cell, a heredoc), so places are slices of a ``Text``, never file offsets.
"""

from __future__ import annotations

import ast
import re
import unicodedata
import warnings
from dataclasses import field

from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern
from lint_vllm.source import Text

MAX_CODE = 2_000_000
"""Characters of Python that are parsed; a longer text is data."""

_LINE_BREAK = pattern(r"\r\n|\r|\n")
_SKIPPED = pattern(r"(?:[ \t\f\r\n]+|\\\r?\n|#[^\r\n]*)*")
_OPENING = pattern(r"([A-Za-z]{0,2})('''|\"\"\"|'|\")")
_ESCAPE = pattern(
    r"\\(?:(\r\n|\n|\r)|([\\'\"abfnrtv])|([0-7]{1,3})|x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|N\{([^}]*)\})"
)
_SIMPLE = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


class Unparsable(Exception):
    """The code is no Python of this interpreter's grammar. ``offset``: where the parser stopped, when it says so."""

    def __init__(self, reason: str, offset: int | None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


@dataclass(frozen=True, slots=True)
class Hole:
    """An expression inside an f-string: ``{model}``. ``expression`` is its code, or ``None`` where it is too odd to read."""

    place: Text
    expression: Code | None
    conversion: str = ""
    format: str = ""


@dataclass
class Code:
    """Parsed Python with the places of its nodes."""

    text: Text
    tree: ast.Module
    lines: list[int] = field(default_factory=list)
    _ascii: bool = True

    @classmethod
    def parse(cls, text: Text, shown: str | None = None) -> Code:
        """``shown``: the text with parts covered at equal length, for the parser. Raises :class:`Unparsable`."""
        value = text.value if shown is None else shown
        if len(value) > MAX_CODE:
            raise Unparsable("the code is too long to be read", None)
        lines = [0, *(m.end() for m in _LINE_BREAK.finditer(value))]
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                tree = ast.parse(value)
        except SyntaxError as error:
            line = min(max(error.lineno or 1, 1), len(lines))
            offset = min(lines[line - 1] + max((error.offset or 1) - 1, 0), len(value))
            raise Unparsable(error.msg or "invalid syntax", offset) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise Unparsable(str(error) or type(error).__name__, None) from None
        return cls(text, tree, lines, text.value.isascii())

    def offset(self, line: int, byte_column: int) -> int:
        """Character offset of ``ast``'s line (from 1) and column (UTF-8 bytes from 0)."""
        start = self.lines[line - 1]
        if self._ascii:
            return start + byte_column
        end = self.lines[line] if line < len(self.lines) else len(self.text.value)
        content = self.text.value[start:end]
        if content.isascii():
            return start + byte_column
        return start + len(content.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "replace"))

    def bounds(self, node: ast.AST) -> tuple[int, int]:
        """Start and end of a node in characters of the code."""
        return (
            self.offset(node.lineno, node.col_offset),  # type: ignore[attr-defined]
            self.offset(node.end_lineno, node.end_col_offset),  # type: ignore[attr-defined]
        )

    def place(self, node: ast.AST) -> Text:
        """A node as written."""
        start, end = self.bounds(node)
        return self.text[start:end]


def python_text(code: Code, node: ast.Constant) -> Text:
    """The value of a string literal, each character with its origin: prefixes, escapes, triple quotes, and neighbours
    joined by the compiler (``"a" "b"``). Falls back to the whole literal where the decoding does not agree with Python's."""
    place = code.place(node)
    pieces = _pieces(place)
    value = node.value
    if pieces is not None and all(isinstance(p, Text) for p in pieces):
        text = Text.join([p for p in pieces if isinstance(p, Text)], empty=place[:0])
        if text.value == value:
            return text
    return Text.placed(str(value), place.span)


def formatted_pieces(code: Code, node: ast.JoinedStr) -> list[Text | Hole] | None:
    """The pieces of an f-string in order; ``None`` where it cannot be taken apart."""
    return _pieces(code.place(node))


def quote_of(place: Text) -> str:
    """The quotes that open a literal (``"``, three double quotes ...), empty for anything else."""
    opening = _OPENING.match(place.value)
    return opening.group(2) if opening else ""


def _pieces(place: Text) -> list[Text | Hole] | None:
    """The tokens of an implicit concatenation, decoded."""
    pieces: list[Text | Hole] = []
    value, at = place.value, 0
    while at < len(value):
        skipped = _SKIPPED.match(value, at)
        at = skipped.end() if skipped else at
        if at >= len(value):
            break
        opening = _OPENING.match(value, at)
        if opening is None:
            return None
        prefix, quote = opening.group(1).lower(), opening.group(2)
        formatted = "f" in prefix or "t" in prefix
        end = _closing(value, opening.end(), quote, formatted)
        if end is None:
            return None
        body = place[opening.end() : end]
        if formatted:
            inner = _formatted(body, "r" in prefix)
            if inner is None:
                return None
            pieces.extend(inner)
        else:
            pieces.append(_decoded(body, "r" in prefix, "b" in prefix))
        at = end + len(quote)
    return pieces


def _closing(value: str, at: int, quote: str, formatted: bool) -> int | None:
    """Where the closing quotes of a literal start. Strings inside the braces of an f-string may hold the same quotes
    (since Python 3.12), so braces are followed there."""
    depth = 0
    while at < len(value):
        char = value[at]
        if depth == 0 and value.startswith(quote, at):
            return at
        if char == "\\" and depth == 0:
            at += 3 if value.startswith("\r\n", at + 1) else 2
        elif formatted and char == "{":
            if depth == 0 and value.startswith("{{", at):
                at += 2
            else:
                depth += 1
                at += 1
        elif formatted and char == "}":
            depth = max(depth - 1, 0)
            at += 1
        elif depth and char in "'\"":
            inner = _OPENING.match(value, at)
            end = _closing(value, at + len(inner.group(2)), inner.group(2), False) if inner else None
            if inner is None or end is None or (len(quote) == 1 and "\n" in value[at:end]):
                return value.find(quote, at) if value.find(quote, at) >= 0 else None
            at = end + len(inner.group(2))
        else:
            at += 1
    return None


def _decoded(body: Text, raw: bool, as_bytes: bool = False) -> Text:
    """The inside of a literal without its escapes; line breaks become ``\\n`` as in Python."""
    value = body.value
    if "\r" not in value and (raw or "\\" not in value):
        return body
    characters: list[str] = []
    starts: list[int] = []
    stops: list[int] = []
    at, length = 0, len(value)
    while at < length:
        end, decoded = at + 1, value[at]
        if decoded == "\\" and not raw:
            escape = _ESCAPE.match(value, at)
            if escape and not (as_bytes and (escape.group(5) or escape.group(6) or escape.group(7))):
                decoded, end = _unescaped(escape), escape.end()
        elif decoded == "\r":
            decoded, end = "\n", at + (2 if value.startswith("\n", at + 1) else 1)
        for char in decoded:
            characters.append(char)
            starts.append(body.starts[at])
            stops.append(body.stops[end - 1])
        at = end
    return Text(body.source, "".join(characters), tuple(starts), tuple(stops), body.anchor)


def _unescaped(escape: re.Match[str]) -> str:
    line_break, simple, octal, short, four, eight, name = escape.groups()
    if line_break:
        return ""
    if simple:
        return _SIMPLE.get(simple, simple)
    try:
        if name is not None:
            return unicodedata.lookup(name)
        return chr(int(octal, 8) if octal else int(short or four or eight, 16))
    except (KeyError, ValueError, OverflowError):
        return escape.group()


def _formatted(body: Text, raw: bool) -> list[Text | Hole] | None:
    """The inside of an f-string: literal parts and holes."""
    value = body.value
    pieces: list[Text | Hole] = []
    start = at = 0
    while at < len(value):
        char = value[at]
        if char == "\\" and not raw:
            named = value.startswith("\\N{", at)
            at = value.find("}", at) + 1 if named and "}" in value[at:] else at + 2
        elif char in "{}" and value.startswith(char, at + 1):
            pieces.append(_decoded(body[start : at + 1], raw))
            start = at = at + 2
        elif char == "{":
            pieces.append(_decoded(body[start:at], raw))
            end = _hole_end(value, at + 1)
            if end is None:
                return None
            pieces.append(_hole(body[at:end]))
            start = at = end
        else:
            at += 1
    pieces.append(_decoded(body[start:], raw))
    return [p for p in pieces if isinstance(p, Hole) or p.value]


def _hole_end(value: str, at: int) -> int | None:
    depth = 1
    while at < len(value):
        char = value[at]
        if char in "'\"":
            opening = _OPENING.match(value, at)
            end = _closing(value, at + len(opening.group(2)), opening.group(2), False) if opening else None
            if opening is None or end is None:
                return None
            at = end + len(opening.group(2))
            continue
        depth += (char in "{[(") - (char in "}])")
        at += 1
        if depth == 0:
            return at
    return None


def _hole(place: Text) -> Hole:
    """Take ``{expression!r:format}`` apart."""
    inside = place[1:-1]
    value, depth, at = inside.value, 0, 0
    end, conversion, format_start = len(value), "", None
    while at < len(value):
        char = value[at]
        if char in "'\"":
            opening = _OPENING.match(value, at)
            close = _closing(value, at + len(opening.group(2)), opening.group(2), False) if opening else None
            if opening is None or close is None:
                return Hole(place, None)
            at = close + len(opening.group(2))
            continue
        depth += (char in "{[(") - (char in "}])")
        if depth == 0 and char == "!" and not value.startswith("=", at + 1):
            end, conversion = at, value[at + 1 : at + 2]
            format_start = at + 3 if value[at + 2 : at + 3] == ":" else None
            break
        if depth == 0 and char == ":":
            end, format_start = at, at + 1
            break
        at += 1
    expression = inside[:end].strip()
    form = value[format_start:] if format_start is not None else ""
    if not expression.value or expression.value.endswith("=") or "\n" in expression.value:
        return Hole(place, None, conversion, form)
    try:
        return Hole(place, Code.parse(expression), conversion, form)
    except Unparsable:
        return Hole(place, None, conversion, form)
