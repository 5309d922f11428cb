"""Words of a shell: quoting and expansion, every character with the place it was written.

Only text is read here; which statement runs when is decided in :mod:`lint_vllm.extract.shell`. What cannot be known (an
unset variable, the output of a command, a template expression) stays in the word as written, with its reason. Inside a
script it travels as one private character, so that ``bash -c "... $X ..."`` can be read again one level further in.
"""

from __future__ import annotations

import fnmatch
import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from lint_vllm.frozen import dataclass
from lint_vllm.launch import EnvVar, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

_FIRST_PRIVATE = 0xF0000
_LAST_PRIVATE = 0xFFFFD
_BLANK = pattern(r"\s")
_PRIVATE = pattern("[\U000f0000-\U000ffffd]")
_BLANKS = " \t\r\n"
_NAME = pattern(r"[A-Za-z_]\w*", re.ASCII)
_BRACED = pattern(r"([!#]?)([A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[([^\]]*)\])?(.*)", re.ASCII | re.DOTALL)
_OPERATOR = pattern(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?|:|@")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "E": "\x1b"}


def names(text: str) -> frozenset[str]:
    """Names separated by blanks."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of characters of one origin. ``unknown`` says why its value cannot be known; the text is then as written.

    ``argument``: unknown because whoever starts the script supplies it, so that a default still stands.
    ``written``: the reference (``$X``) through which it came into the value that holds it.
    """

    text: Text
    unknown: str | None = None
    conditional: bool = False
    argument: bool = False
    written: Span | None = None

    @property
    def span(self) -> Span:
        return self.written or self.text.span


Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class ShellWord(Word):
    """A word that still knows its pieces. ``spreads``: unknown, and it may stand for any number of arguments."""

    pieces: Pieces = ()
    spreads: bool = False


@dataclass(frozen=True, slots=True)
class Variable:
    """A shell variable: a value, or the items of an array. ``overridable``: a default that the environment may replace."""

    pieces: Pieces = ()
    items: tuple[ShellWord, ...] | None = None
    overridable: bool = False
    exported: bool = False
    name: Text | None = None
    entry: Span | None = None
    sometimes: Pieces = ()
    """The value that one branch gives, when the name as a whole is not known."""

    @property
    def text(self) -> str:
        return "".join(p.text.value for p in self.pieces)

    @property
    def unknown(self) -> str | None:
        return next((p.unknown for p in self.pieces if p.unknown), None)

    @property
    def argument(self) -> bool:
        return any(p.argument for p in self.pieces) and all(p.argument or not p.text.value for p in self.pieces)

    @property
    def signature(self) -> tuple[object, ...]:
        """Equal for two variables of the same value."""
        if self.items is not None:
            return tuple((i.value, i.unknown is None, i.conditional) for i in self.items)
        return self.text, self.unknown is None, any(p.conditional for p in self.pieces)


def joined(pieces: Sequence[Piece], empty: Text) -> Text:
    return Text.join([p.text for p in pieces], empty)


def span_of(pieces: Sequence[Piece]) -> Span:
    """From the place of the first piece to that of the last."""
    span = pieces[0].span
    for piece in pieces[1:]:
        span = span.to(piece.span)
    return span


def word_of(pieces: Sequence[Piece], span: Span, empty: Text, quote: str = "", *, spreads: bool = False) -> ShellWord:
    """One argument made of pieces; ``span`` is its place of use."""
    content = joined(pieces, empty)
    unknown = next((p.unknown for p in pieces if p.unknown), None)
    conditional = any(p.conditional for p in pieces if p.text.value)
    defined = None
    if unknown is None and content.value and not span.contains(content.span) and content.verbatim():
        defined = content.span
    return ShellWord(content, span, quote, unknown, defined, conditional, tuple(pieces), spreads)


def unknown_word(content: Text, span: Span, reason: str, quote: str = "", *, spreads: bool = False) -> ShellWord:
    """One argument of which nothing is known but how it is written."""
    return ShellWord(content, span, quote, reason, pieces=(Piece(content, reason),), spreads=spreads)


def empty_default(reference: Text, span: Span) -> ShellWord:
    """``--api-key ${KEY:-}``: whoever writes this sets the variable, so that a value follows the flag, if an unknown one."""
    return unknown_word(reference[:0], span, "the value is empty unless the variable is set", spreads=True)


def pieces_of(word: Word) -> Pieces:
    """The pieces of any word; one for words that no shell made."""
    if isinstance(word, ShellWord) and word.pieces:
        if not word.conditional or any(p.conditional for p in word.pieces):
            return word.pieces
        return tuple(replace(p, conditional=True) for p in word.pieces)
    return (Piece(word.content, word.unknown, word.conditional),)


@dataclass(slots=True)
class Script:
    """Text to be read as shell, where private characters stand for what is not known."""

    text: Text
    holes: dict[str, Piece] = field(default_factory=dict)
    """Private character -> the unknown piece it stands for."""
    optional: list[tuple[int, int]] = field(default_factory=list)
    """Ranges that are only there under a condition, in order."""
    spliced: list[tuple[int, int, Span]] = field(default_factory=list)
    """Ranges that came in through a reference, in order, with the place of the reference."""

    @property
    def value(self) -> str:
        return self.text.value

    def is_optional(self, index: int) -> bool:
        at = bisect_right(self.optional, (index, len(self.value) + 1)) - 1
        return at >= 0 and self.optional[at][0] <= index < self.optional[at][1]

    def place(self, start: int, end: int) -> Span:
        """Where a stretch was written: through the reference that brought it in."""
        span = self.text[start:end].span
        if not self.spliced or start >= end:
            return span
        first, last = self.spliced_at(start), self.spliced_at(end - 1)
        low = first if first is not None else self.text[start : start + 1].span
        high = last if last is not None else self.text[end - 1 : end].span
        return low.to(high) if low.start <= high.start else span

    def spliced_at(self, index: int) -> Span | None:
        at = bisect_right(self.spliced, index, key=lambda r: r[0]) - 1
        return self.spliced[at][2] if at >= 0 and index < self.spliced[at][1] else None

    def borders(self, start: int, end: int) -> Iterator[int]:
        """Where optional or spliced ranges begin and end between two indices."""
        for ranges in (self.optional, self.spliced):
            at = max(bisect_right(ranges, start, key=lambda r: r[0]) - 1, 0)
            while at < len(ranges) and ranges[at][0] < end:
                yield from (edge for edge in ranges[at][:2] if start < edge < end)
                at += 1

    def part(self, start: int, end: int) -> Script:
        """A stretch of the script as a script."""
        optional = [(max(a, start) - start, min(b, end) - start) for a, b in self.optional if a < end and b > start]
        spliced = [(max(a, start) - start, min(b, end) - start, s) for a, b, s in self.spliced if a < end and b > start]
        return Script(self.text[start:end], self.holes, optional, spliced)

    @classmethod
    def of_pieces(cls, pieces: Sequence[Piece], empty: Text) -> Script:
        """A value read as a script of its own (``bash -c "$CMD"``)."""
        taken = {c for p in pieces for c in _PRIVATE.findall(p.text.value)}
        private = (c for n in range(_FIRST_PRIVATE, _LAST_PRIVATE) if (c := chr(n)) not in taken)
        holes: dict[str, Piece] = {}
        parts: list[Text] = []
        optional: list[tuple[int, int]] = []
        spliced: list[tuple[int, int, Span]] = []
        at = 0
        for piece in pieces:
            text = piece.text
            if piece.unknown:
                char = next(private)
                holes[char] = piece
                span = piece.text.span
                text = Text(span.source, char, (span.start,), (max(span.end, span.start + 1),), span.start)
            if piece.conditional and text.value:
                optional.append((at, at + len(text.value)))
            if piece.written is not None and text.value:
                spliced.append((at, at + len(text.value), piece.written))
            parts.append(text)
            at += len(text.value)
        return cls(Text.join(parts, empty), holes, optional, spliced)


_TEMPLATE = pattern(
    r"\$\{[A-Za-z_][\w-]*(?:\.[\w-]+)+\}|\$?\{\{(?:(?!\}\}).){0,4000}\}\}|\{%(?:(?!%\}).){0,4000}%\}|(?<!\$)\{#(?:(?!#\})[^\n])*#\}"
    r"|`<[A-Za-z_][^`<>\n]{0,60}>`|<(?:\.\.\.)?[A-Za-z_][\w.:/-]*(?: [\w.:/-]+){0,5}>(?![\w&|;(])|(?<!\S)(?:\.\.\.|\u2026)(?![^\s\"'])",
    re.DOTALL,
)
_MAY_HOLD = pattern(r"\{[{%#]|\$\{[\w-]+\.|<[A-Za-z_.]|\.\.\.|\u2026")
_CONTROL = pattern(
    r"(?:\{\{-?\s*|\{%[-+]?\s*)(/\*|if|else|elif|elseif|end|endif|endfor|endwith|range|for|with|define|block|set|include\s+\"[^\"]*checksum)\b|\{#"
)
_ASSIGNS = pattern(r"\{\{-?\s*(?:\$\w+\s*:?=|/\*)")


def masked(text: Text, placeholders: bool = True) -> Script:
    """A script whose template expressions are holes; text between a template's ``if`` and ``end`` is optional.

    ``{{ .Values.x }}``, ``${{ inputs.x }}``, ``{{ jinja }}``, an ellipsis that stands for more arguments and, in documents,
    ``<model>`` are holes.
    """
    value = text.value
    if _MAY_HOLD.search(value) is None:
        return Script(text)
    pieces: list[Piece] = []
    last, depth = 0, 0
    for match in _TEMPLATE.finditer(value):
        start, end = match.span()
        found = match.group()
        if found[0] == "<" and (not placeholders or not _placeholder(value, start)):
            continue
        control = _CONTROL.match(found)
        silent = control is not None or _ASSIGNS.match(found) is not None
        if silent:
            # A line that holds nothing but control vanishes whole, so that a continuation around it stays one.
            line, stop = value.rfind("\n", 0, start) + 1, value.find("\n", end)
            stop = len(value) if stop < 0 else stop
            if line >= last and not value[line:start].strip() and not value[end:stop].strip():
                start, end = line, min(stop + 1, len(value))
        if last < start:
            pieces.append(Piece(text[last:start], conditional=depth > 0))
        if silent:
            keyword = (control.group(1) or "") if control is not None else ""
            if keyword in ("if", "range", "with", "for"):
                depth += 1
            elif keyword in ("end", "endif", "endfor", "endwith"):
                depth = max(0, depth - 1)
        else:
            pieces.append(Piece(text[start:end], f"{_short(found)} is filled in elsewhere", depth > 0))
        last = end
    if not pieces:
        return Script(text)
    if last < len(value):
        pieces.append(Piece(text[last:], conditional=depth > 0))
    return Script.of_pieces(pieces, text[:0])


def _placeholder(value: str, start: int) -> bool:
    """Whether ``<`` at this place opens a placeholder rather than a redirection or a markup tag."""
    before = value[start - 1] if start else " "
    return before in " \t\n=\"'/:,@" and not value.startswith("<<", start - 1)


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


Resolve = Callable[[str], "Variable | None"]
Substitute = Callable[[int, int], "Pieces | None"]


@dataclass(slots=True)
class Scope:
    """What names mean at one moment of a script."""

    variables: dict[str, Variable] = field(default_factory=dict)
    outer: Resolve = lambda name: None
    """Values from around the script (container environment, ``.env``)."""
    positional: tuple[ShellWord, ...] | None = None
    """Arguments of the script or function; ``None`` when nothing is known of them."""
    shifted: int = 0
    """How many unknown arguments were shifted away."""

    def get(self, name: str) -> Variable | None:
        found = self.variables.get(name)
        return found if found is not None else self.outer(name)

    def copy(self) -> Scope:
        return Scope(dict(self.variables), self.outer, self.positional, self.shifted)


def variable_of(word: Word | None, name: str = "") -> Variable:
    """A value from around the script as a shell variable."""
    if word is None:
        empty = Text.literal("$" + name)
        return Variable((Piece(empty, f"{name} comes from a secret or another object"),))
    return Variable(pieces_of(word))


def outer_values(variables: Mapping[str, Word], env: Mapping[str, EnvVar]) -> Resolve:
    def resolve(name: str) -> Variable | None:
        if name in variables:
            return variable_of(variables[name], name)
        if name in env:
            return variable_of(env[name].value, name)
        return None

    return resolve


@dataclass(frozen=True, slots=True)
class _Bit:
    """A piece of a word; ``split``: it came from an unquoted expansion and is divided at blanks."""

    piece: Piece
    split: bool = False
    spreads: bool = False


@dataclass(frozen=True, slots=True)
class _Items:
    """The items of an array: arguments of their own."""

    words: tuple[ShellWord, ...]
    split: bool


class Expander:
    """Expands words of one script against a scope."""

    def __init__(self, script: Script, scope: Scope, substitute: Substitute = lambda start, end: None) -> None:
        self.script = script
        self.scope = scope
        self.substitute = substitute
        self.depth = 0

    # Results

    def words(self, start: int, end: int) -> list[ShellWord]:
        """The arguments that one written word becomes: none, one or several."""
        bits = list(self._scan(start, end))
        use = self.script.text[start:end]
        fields = self._fields(bits, use)
        if len(fields) == 1 and not any(isinstance(b, _Items) for b in bits):
            pieces, spreads, _ = fields[0]
            value = self.script.value
            quote = value[start] if value[start] in "'\"" and self.skip(start, end) == end else ""
            return [word_of(pieces, self.script.place(start, end), use[:0], quote, spreads=spreads)]
        out = []
        for pieces, spreads, item in fields:
            if item is not None:
                out.append(item)
                continue
            span = span_of(pieces) if pieces else use.span
            out.append(word_of(pieces, span, use[:0], spreads=spreads))
        return out

    def value(self, start: int, end: int, *, heredoc: bool = False) -> Pieces:
        """The value of an assignment or heredoc: expanded, not divided."""
        pieces: list[Piece] = []
        for bit in self._scan(start, end, double=heredoc, heredoc=heredoc):
            if isinstance(bit, _Items):
                for number, word in enumerate(bit.words):
                    if number:
                        pieces.append(Piece(self._placed(" ", start, end)))
                    pieces.extend(pieces_of(word))
            else:
                pieces.append(bit.piece)
        return tuple(pieces)

    def overridable(self, start: int, end: int) -> bool:
        """Whether a value written here is only a default: ``${X:-d}`` and nothing else."""
        raw = self.script.value[start:end].strip("\"'")
        match = re.match(r"\$\{([A-Za-z_]\w*|\d+):?[-=]", raw, re.ASCII)
        if match is None or not raw.endswith("}"):
            return False
        known = self.scope.get(match.group(1))
        return known is None or known.overridable or known.argument

    # Fields

    def _fields(self, bits: Iterable[_Bit | _Items], use: Text) -> list[tuple[Pieces, bool, ShellWord | None]]:
        """Pieces of each argument, whether it spreads, and the array item that it is as a whole."""
        fields: list[tuple[Pieces, bool, ShellWord | None]] = []
        current: list[Piece] = []
        item: ShellWord | None = None
        open_field = False
        spreads = False

        def close() -> None:
            nonlocal current, open_field, spreads, item
            if open_field:
                # An empty piece only marks a quote.
                pieces = tuple(p for p in current if p.text.value or p.unknown)
                whole = item if item is not None and len(pieces) == len(item.pieces) else None
                fields.append((pieces, spreads, whole))
            current, open_field, spreads, item = [], False, False, None

        def divided(piece: Piece) -> None:
            nonlocal open_field
            if piece.unknown:
                current.append(piece)
                open_field = True
                return
            at = 0
            value = piece.text.value
            for match in re.finditer(rf"[^{_BLANKS}]+", value):
                if match.start() > at:
                    close()
                current.append(replace(piece, text=piece.text[match.start() : match.end()]))
                open_field = True
                at = match.end()
            if at < len(value):
                close()

        for bit in bits:
            if isinstance(bit, _Items):
                for number, word in enumerate(bit.words):
                    if number:
                        close()
                    if bit.split and not (len(word.pieces) == 1 and not _BLANK.search(word.value)):
                        for piece in pieces_of(word):
                            divided(piece)
                    else:
                        item = word
                        current.extend(pieces_of(word))
                        open_field = True
                    spreads = spreads or word.spreads
            elif bit.split:
                divided(bit.piece)
                spreads = spreads or bit.spreads
            else:
                current.append(bit.piece)
                open_field = True
                spreads = spreads or bit.spreads
        close()
        return fields

    # Scanning

    def _placed(self, value: str, start: int, end: int) -> Text:
        return Text.placed(value, self.script.text[start:end].span)

    def literal(self, start: int, end: int) -> Iterable[_Bit]:
        """Characters as written, divided at the holes and at the borders of optional ranges."""
        if start >= end:
            return
        script = self.script
        if not script.holes and not script.optional and not script.spliced:
            yield _Bit(Piece(script.text[start:end]))
            return
        cuts = {start, end}
        for found in _PRIVATE.finditer(script.value, start, end):
            cuts.update(found.span())
        cuts.update(script.borders(start, end))
        places = sorted(cuts)
        for low, high in itertools.pairwise(places):
            hole = script.holes.get(script.value[low])
            optional = script.is_optional(low)
            if hole is not None:
                yield _Bit(replace(hole, conditional=True) if optional else hole)
            else:
                yield _Bit(Piece(script.text[low:high], conditional=optional, written=script.spliced_at(low)))

    def _decoded(self, value: str, start: int, end: int) -> _Bit:
        span = self.script.text[start:end].span
        return _Bit(Piece(Text(span.source, value, (span.start,) * len(value), (span.end,) * len(value), span.start)))

    def _scan(self, i: int, j: int, *, double: bool = False, heredoc: bool = False, bare: bool = False) -> Iterable[_Bit | _Items]:
        """The bits of a range; ``bare``: literal characters outside quotes are divided too (operands of ``${X:-a b}``)."""
        s = self.script.value
        last = i

        def literal(start: int, end: int) -> Iterable[_Bit]:
            return (replace(b, split=True) for b in self.literal(start, end)) if bare else self.literal(start, end)

        while i < j:
            c = s[i]
            if c not in "\\'\"$`":
                i += 1
                continue
            if (c == "'" and double) or (c == '"' and heredoc):
                i += 1
                continue
            if c == "$" and not self._expands(i, j, double):
                i += 1
                continue
            yield from literal(last, i)
            if c == "\\":
                following = s[i + 1 : i + 2]
                if following == "\n":
                    i += 2
                elif s[i + 1 : i + 3] == "\r\n":
                    i += 3
                elif double and following not in ("$", "`", "\\") and (following != '"' or heredoc):
                    yield from self.literal(i, min(i + 2, j))
                    i += 2
                elif not following or i + 1 >= j:
                    yield from self.literal(i, j)
                    i = j
                else:
                    hole = self.script.holes.get(following)
                    yield _Bit(hole) if hole else self._decoded(following, i, i + 2)
                    i += 2
            elif c == "'":
                stop = s.find("'", i + 1, j)
                stop = j if stop < 0 else stop
                yield self._quoted_mark(i, stop)
                yield from self.literal(i + 1, stop)
                i = stop + 1
            elif c == '"':
                stop = self.skip(i, j)
                inner = stop - 1 if stop - 1 > i and s[stop - 1] == '"' else stop
                yield self._quoted_mark(i, inner)
                for bit in self._scan(i + 1, inner, double=True):
                    yield replace(bit, split=False)
                i = stop
            elif c == "`":
                stop = s.find("`", i + 1, j)
                stop = j if stop < 0 else stop + 1
                yield from self._substituted(i, stop, i + 1, stop - 1, double)
                i = stop
            else:
                stop = self._end_of_expansion(i, j, double)
                yield from self._expansion(i, stop, double)
                i = stop
            last = i
        yield from literal(last, min(i, j))

    def _quoted_mark(self, start: int, stop: int) -> _Bit:
        """Nothing, but quoted: keeps the word in existence when it is empty."""
        return _Bit(Piece(self.script.text[start + 1 : start + 1]))

    def skip(self, i: int, j: int) -> int:
        """The index behind the quote, ``${...}``, ``$(...)`` or ``$((...))`` that opens at ``i``."""
        s = self.script.value
        stack: list[str] = []
        while i < j:
            c = s[i]
            top = stack[-1] if stack else ""
            if c == "\\":
                i += 2
                continue
            if top == '"':
                if c == '"':
                    stack.pop()
                elif c == "$" and s[i + 1 : i + 2] in ("{", "("):
                    stack.append("}" if s[i + 1] == "{" else ")")
                    i += 1
            elif c == '"':
                stack.append('"')
            elif (c == "'" and '"' not in stack) or (c == "'" and top == ")"):
                close = s.find("'", i + 1, j)
                i = j if close < 0 else close
            elif c == "$" and s[i + 1 : i + 2] in ("{", "("):
                stack.append("}" if s[i + 1] == "{" else ")")
                i += 1
            elif c == "(" and top == ")":
                stack.append(")")
            elif top and c == top:
                stack.pop()
            i += 1
            if not stack:
                return min(i, j)
        return j

    def _expands(self, i: int, j: int, double: bool) -> bool:
        following = self.script.value[i + 1 : i + 2] if i + 1 < j else ""
        if not following:
            return False
        return following in "{(@*#?$!-_" or (following.isalnum() and following.isascii()) or (following in "'\"" and not double)

    def _end_of_expansion(self, i: int, j: int, double: bool) -> int:
        s = self.script.value
        following = s[i + 1]
        if following in "{(":
            return self.skip(i, j)
        if following == "'":
            at = i + 2
            while at < j and s[at] != "'":
                at += 2 if s[at] == "\\" else 1
            return min(at + 1, j)
        if following == '"':
            return self.skip(i + 1, j)
        name = _NAME.match(s, i + 1, j)
        return name.end() if name else i + 2

    def _expansion(self, i: int, stop: int, double: bool) -> Iterable[_Bit | _Items]:
        s = self.script.value
        following = s[i + 1]
        if following == "(":
            if s[i + 2 : i + 3] == "(" and s[stop - 2 : stop] == "))":
                yield self._arithmetic(i, stop, double)
            else:
                closed = s[stop - 1] == ")"
                yield from self._substituted(i, stop, i + 2, stop - 1 if closed else stop, double)
        elif following == "{":
            closed = s[stop - 1] == "}"
            yield from self._braced(i, stop, i + 2, stop - 1 if closed else stop, double)
        elif following == "'":
            yield self._quoted_mark(i + 1, stop)
            yield from self._ansi(i + 2, stop - 1 if s[stop - 1] == "'" else stop)
        elif following == '"':
            inner = stop - 1 if s[stop - 1] == '"' else stop
            yield self._quoted_mark(i + 1, inner)
            for bit in self._scan(i + 2, inner, double=True):
                yield replace(bit, split=False)
        else:
            yield from self._parameter(s[i + 1 : stop], i, stop, double)

    def _ansi(self, i: int, j: int) -> Iterable[_Bit]:
        s = self.script.value
        last = i
        while i < j:
            if s[i] != "\\" or i + 1 >= j:
                i += 1
                continue
            yield from self.literal(last, i)
            match = re.compile(r"\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|U[0-9a-fA-F]{1,8}|[0-7]{1,3}|.)", re.DOTALL).match(s, i, j)
            code = match.group(1) if match else s[i + 1]
            if code[0] in "xuU" and len(code) > 1:
                number = int(code[1:], 16)
                char = chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
            elif code[0] in "01234567":
                char = chr(int(code, 8) & 0xFF)
            else:
                char = _ESCAPES.get(code, code)
            yield self._decoded(char, i, i + 1 + len(code))
            i += 1 + len(code)
            last = i
        yield from self.literal(last, j)

    def _unknown(
        self, i: int, stop: int, reason: str, double: bool, *, argument: bool = False, spreads: bool | None = None
    ) -> _Bit:
        text = self.script.text[i:stop]
        piece = Piece(text, reason, self.script.is_optional(i), argument)
        return _Bit(piece, split=not double, spreads=not double if spreads is None else spreads)

    def _substituted(self, i: int, stop: int, inner: int, end: int, double: bool) -> Iterable[_Bit]:
        pieces = self.substitute(inner, end)
        if pieces is None:
            yield self._unknown(i, stop, f"{_short(self.script.value[i:stop])} is only known at run time", double, spreads=False)
            return
        use = self.script.text[i:stop].span
        for piece in pieces:
            yield _Bit(replace(piece, written=use), split=not double)

    def _arithmetic(self, i: int, stop: int, double: bool) -> _Bit:
        number = _Arithmetic(self.script.value[i + 3 : stop - 2], self.scope).result()
        if number is None:
            return self._unknown(i, stop, f"{_short(self.script.value[i:stop])} is only known at run time", double, spreads=False)
        return _Bit(Piece(self._placed(str(number), i, stop), conditional=self.script.is_optional(i)), split=not double)

    def _parameter(self, name: str, i: int, stop: int, double: bool) -> Iterable[_Bit | _Items]:
        """``$name``, also the special parameters."""
        if name in ("@", "*"):
            if self.scope.positional is None:
                yield self._unknown(i, stop, "the arguments of the script are not known", double, argument=True, spreads=True)
            else:
                yield _Items(self.scope.positional, split=not double)
            return
        if name.isdigit():
            yield from self._positional(int(name), i, stop, double)
            return
        if not _NAME.fullmatch(name):
            if name == "#" and self.scope.positional is not None:
                yield _Bit(Piece(self._placed(str(len(self.scope.positional)), i, stop)), split=not double)
            else:
                yield self._unknown(i, stop, f"${name} is only known at run time", double, spreads=False)
            return
        yield from self._reference(self.scope.get(name), name, i, stop, double)

    def _positional(self, number: int, i: int, stop: int, double: bool) -> Iterable[_Bit]:
        if number == 0 or self.scope.positional is None:
            yield self._unknown(i, stop, f"argument {number} of the script is not known", double, argument=True, spreads=False)
        elif number <= len(self.scope.positional):
            for piece in pieces_of(self.scope.positional[number - 1]):
                yield _Bit(replace(piece, written=self.script.text[i:stop].span), split=not double)
        elif double:
            yield self._quoted_mark(i, stop)

    def _reference(self, variable: Variable | None, name: str, i: int, stop: int, double: bool) -> Iterable[_Bit | _Items]:
        if variable is None:
            yield self._unknown(i, stop, f"{name} has no value in this file", double, argument=name == "OPTARG")
            return
        optional = self.script.is_optional(i)
        pieces = variable.pieces
        if variable.items is not None:
            pieces = pieces_of(variable.items[0]) if variable.items else ()
        if len(pieces) == 1 and pieces[0].unknown:
            # The name says more than what stands behind it.
            only = pieces[0]
            text = self.script.text[i:stop]
            yield _Bit(Piece(text, only.unknown, only.conditional or optional, only.argument), not double, not double)
            return
        for piece in pieces:
            kept = replace(piece, conditional=True) if optional else piece
            if not piece.unknown and not re.search(r"^-|\s", piece.text.value):
                # A value spliced into another: what stands there is the reference. Lists of flags keep their own place.
                kept = replace(kept, written=self.script.text[i:stop].span)
            yield _Bit(kept, split=not double, spreads=bool(kept.unknown) and not double)
        if double and not pieces:
            yield self._quoted_mark(i, stop)

    def _braced(self, i: int, stop: int, inner: int, end: int, double: bool) -> Iterable[_Bit | _Items]:
        match = _BRACED.match(self.script.value, inner, end)
        if match is None:
            yield self._unknown(i, stop, f"{_short(self.script.value[i:stop])} cannot be read", double)
            return
        prefix, name, index, rest = match.groups()
        if not prefix and index is None and not rest:
            yield from self._parameter(name, i, stop, double)
            return
        operator = _OPERATOR.match(rest)
        op = operator.group() if operator else ""
        operand = match.start(4) + len(op)
        variable = self._named(name)
        if prefix:
            yield self._measured(prefix, name, index, variable, i, stop, double)
        elif (index is not None and index in ("@", "*")) or name in ("@", "*"):
            yield from self._all_items(name, variable, op, operand, i, stop, end, double)
        elif index is not None:
            yield from self._item(variable, name, index, i, stop, double)
        elif op in (":-", "-", ":=", "="):
            yield from self._defaulted(name, variable, op, operand, i, stop, end, double)
        elif op in (":+", "+"):
            yield from self._alternative(name, variable, operand, end, double)
        elif op in (":?", "?"):
            yield from self._parameter(name, i, stop, double)
        else:
            yield from self._edited(name, variable, op, operand, i, stop, end, double)

    def _named(self, name: str) -> Variable | None:
        if name.isdigit():
            number = int(name)
            if self.scope.positional is None or number == 0:
                return None
            if number > len(self.scope.positional):
                return Variable(())
            return Variable(pieces_of(self.scope.positional[number - 1]))
        return self.scope.get(name)

    def _measured(
        self, prefix: str, name: str, index: str | None, variable: Variable | None, i: int, stop: int, double: bool
    ) -> _Bit:
        if prefix == "#" and variable is not None:
            if variable.items is not None and index in ("@", "*") and not any(w.conditional or w.spreads for w in variable.items):
                return _Bit(Piece(self._placed(str(len(variable.items)), i, stop)), split=not double)
            if variable.items is None and variable.unknown is None:
                return _Bit(Piece(self._placed(str(len(variable.text)), i, stop)), split=not double)
        if prefix == "!" and variable is not None and variable.unknown is None and variable.items is None:
            target = self.scope.get(variable.text)
            if target is not None and target.items is None and target.unknown is None and len(target.pieces) == 1:
                return _Bit(target.pieces[0], split=not double)
        return self._unknown(i, stop, f"{_short(self.script.value[i:stop])} is only known at run time", double, spreads=False)

    def _all_items(
        self, name: str, variable: Variable | None, op: str, operand: int, i: int, stop: int, end: int, double: bool
    ) -> Iterable[_Bit | _Items]:
        if name in ("@", "*"):
            items = self.scope.positional
        elif variable is None:
            items = None
        else:
            items = variable.items if variable.items is not None else (self._as_item(variable),)
        if op in (":+", "+") and (items is None or items):
            # ${A[@]+"${A[@]}"}: the guard against "unbound variable" of old shells.
            yield from self._scan(operand, end, double=double)
            return
        if op in (":-", "-") and not items:
            yield from self._scan(operand, end, double=double)
            return
        if items is None:
            yield self._unknown(i, stop, f"{name} has no value in this file", double, argument=name in "@*", spreads=True)
            return
        if op == ":" and (numbers := re.fullmatch(r"\s*(\d+)\s*(?::\s*(\d+))?\s*", self.script.value[operand:end])):
            first = int(numbers.group(1))
            if name in ("@", "*"):
                first -= 1
            length = int(numbers.group(2)) if numbers.group(2) else len(items)
            items = items[max(0, first) : max(0, first) + length]
        elif op and op not in (":+", "+", ":-", "-"):
            yield self._unknown(i, stop, f"{_short(self.script.value[i:stop])} is only known at run time", double, spreads=True)
            return
        if self.script.is_optional(i):
            items = tuple(replace(w, conditional=True) for w in items)
        yield _Items(items, split=not double)

    def _as_item(self, variable: Variable) -> ShellWord:
        span = variable.pieces[0].span if variable.pieces else self.script.text[:0].span
        return word_of(variable.pieces, span, self.script.text[:0])

    def _item(self, variable: Variable | None, name: str, index: str, i: int, stop: int, double: bool) -> Iterable[_Bit]:
        number = _Arithmetic(index, self.scope).result()
        items = variable.items if variable else None
        if items is None or number is None or any(w.conditional or w.spreads for w in items):
            yield self._unknown(i, stop, f"{name}[{index}] is only known at run time", double, spreads=False)
        elif -len(items) <= number < len(items):
            for piece in pieces_of(items[number]):
                yield _Bit(piece, split=not double)

    def _defaulted(
        self, name: str, variable: Variable | None, op: str, operand: int, i: int, stop: int, end: int, double: bool
    ) -> Iterable[_Bit | _Items]:
        if variable is not None and variable.items is None and not variable.argument:
            if variable.unknown or (variable.text and any(p.conditional for p in variable.pieces)):
                yield from self._reference(variable, name, i, stop, double)
                return
            if variable.text or not op.startswith(":"):
                yield from self._reference(variable, name, i, stop, double)
                return
        self.depth += 1
        bits = list(self._scan(operand, end, double=double, bare=not double)) if self.depth < 16 else []
        self.depth -= 1
        if op.endswith("=") and _NAME.fullmatch(name):
            pieces = tuple(b.piece for b in bits if isinstance(b, _Bit))
            self.scope.variables[name] = Variable(pieces, overridable=True)
        if double and not bits:
            yield self._quoted_mark(i, stop)
        yield from bits

    def _alternative(self, name: str, variable: Variable | None, operand: int, end: int, double: bool) -> Iterable[_Bit | _Items]:
        sure = False
        if variable is not None:
            filled = bool(variable.items) if variable.items is not None else bool(variable.text)
            sometimes = any(p.conditional for p in variable.pieces) or variable.unknown is not None
            if not filled and not variable.overridable:
                return
            sure = filled and not sometimes
        scope = self.scope
        if variable is not None and not sure and not variable.pieces and variable.items is None:
            # Empty here: what is put in its place when somebody sets it is not known.
            self.scope = Scope(
                {
                    **scope.variables,
                    name: Variable((Piece(self._placed(f"${name}", operand, end), f"{name} has no value in this file"),)),
                },
                scope.outer,
                scope.positional,
            )
        bits = list(self._scan(operand, end, double=double, bare=not double))
        self.scope = scope
        for bit in bits:
            if sure:
                yield bit
            elif isinstance(bit, _Items):
                yield replace(bit, words=tuple(replace(w, conditional=True) for w in bit.words))
            else:
                yield replace(bit, piece=replace(bit.piece, conditional=True))

    def _edited(
        self, name: str, variable: Variable | None, op: str, operand: int, i: int, stop: int, end: int, double: bool
    ) -> Iterable[_Bit]:
        """``${X%pattern}`` and its like, on a known value."""
        argument = variable is not None and variable.argument
        if variable is None or variable.items is not None or variable.unknown:
            known = variable is None and not name.isdigit()
            reason = (
                f"{name} has no value in this file" if known else f"{_short(self.script.value[i:stop])} is only known at run time"
            )
            is_argument = argument or name.isdigit()
            yield self._unknown(i, stop, reason, double, argument=is_argument, spreads=False)
            return
        raw = "".join(p.text.value for p in self.value(operand, end))
        result = _edit(joined(variable.pieces, self.script.text[i:i]), op, raw)
        if result is None:
            yield self._unknown(i, stop, f"{_short(self.script.value[i:stop])} is only known at run time", double, spreads=False)
            return
        conditional = any(p.conditional for p in variable.pieces) or self.script.is_optional(i)
        yield _Bit(Piece(result, conditional=conditional), split=not double)


def _edit(text: Text, op: str, raw: str) -> Text | None:
    value = text.value
    if op in ("#", "##", "%", "%%"):
        pattern = re.compile(fnmatch.translate(raw))
        ends = range(len(value) + 1)
        if op[0] == "#":
            for end in ends if op == "#" else reversed(ends):
                if pattern.match(value[:end]):
                    return text[end:]
        else:
            for start in reversed(ends) if op == "%" else ends:
                if pattern.match(value[start:]):
                    return text[:start]
        return text
    if op in ("^", "^^", ",", ",,") and not raw:
        changed = value.upper() if op[0] == "^" else value.lower()
        if len(op) == 1:
            changed = changed[:1] + value[1:]
        return Text(text.source, changed, text.starts, text.stops, text.anchor) if len(changed) == len(value) else None
    if op in ("/", "//"):
        old, _, new = raw.partition("/")
        if not old or re.search(r"[*?\[#%]", old):
            return None
        return Text.placed(value.replace(old, new, 1 if op == "/" else -1), text.span)
    if op == ":" and (numbers := re.fullmatch(r"\s*(\d+)\s*(?::\s*(\d+))?\s*", raw)):
        start = int(numbers.group(1))
        return text[start : start + int(numbers.group(2))] if numbers.group(2) else text[start:]
    return None


class _Arithmetic:
    """Integer arithmetic on known values; anything else has no result."""

    def __init__(self, source: str, scope: Scope, depth: int = 0) -> None:
        self.scope = scope
        self.depth = depth
        source = source.replace('"', "").replace("${", " ").replace("}", " ").replace("$", " ")
        self.tokens = re.findall(r"\d+|[A-Za-z_]\w*|\*\*|\S", source, re.ASCII) if len(source) < 200 else ["?"]
        self.at = 0

    def result(self) -> int | None:
        try:
            number = self._sum()
        except (ValueError, ZeroDivisionError, RecursionError):
            return None
        return number if self.at == len(self.tokens) else None

    def _peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self.at += 1
        return token

    def _sum(self) -> int:
        total = self._product()
        while self._peek() in ("+", "-"):
            total = total + self._product() if self._take() == "+" else total - self._product()
        return total

    def _product(self) -> int:
        total = self._atom()
        while self._peek() in ("*", "/", "%"):
            op = self._take()
            right = self._atom()
            if op == "*":
                total *= right
            else:
                quotient = abs(total) // abs(right) * (1 if (total < 0) == (right < 0) else -1)
                total = quotient if op == "/" else total - quotient * right
        if abs(total) > 2**63:
            raise ValueError(total)
        return total

    def _atom(self) -> int:
        token = self._take()
        if token == "(":
            number = self._sum()
            if self._take() != ")":
                raise ValueError(token)
            return number
        if token in ("-", "+"):
            return -self._atom() if token == "-" else self._atom()
        if token.isdigit():
            return int(token)
        if _NAME.fullmatch(token):
            variable = self.scope.get(token)
            known = variable is not None and variable.items is None and not variable.unknown
            if known and variable is not None and not any(p.conditional for p in variable.pieces) and self.depth < 8:
                inner = _Arithmetic(variable.text, self.scope, self.depth + 1).result()
                if inner is not None:
                    return inner
        raise ValueError(token)


def words_in(script: Script, expander: Expander) -> list[ShellWord]:
    """A simple command line divided into words, without statements: ``ExecStart=``, a compose command string."""
    value = script.value
    out: list[ShellWord] = []
    i, end = 0, len(value)
    while i < end:
        if value[i] in _BLANKS:
            i += 1
        elif value.startswith(("\\\n", "\\\r\n"), i):
            i += 2 if value[i + 1] == "\n" else 3
        else:
            stop = end_of_word(expander, i, end)
            out.extend(expander.words(i, stop))
            i = stop
    return out


def end_of_word(expander: Expander, i: int, end: int) -> int:
    value = expander.script.value
    while i < end and value[i] not in _BLANKS:
        if value[i] == "\\":
            if value.startswith(("\\\n", "\\\r\n"), i):
                return i
            i += 2
        elif value[i] in "'\"" or (value[i] == "$" and value[i + 1 : i + 2] in ("{", "(")):
            i = expander.skip(i, end)
        else:
            i += 1
    return min(i, end)


def part(word: Word, start: int, end: int | None = None) -> ShellWord:
    """A stretch of a word: ``value`` of ``NAME=value``. It stands where these characters were written."""
    stop = len(word.value) if end is None else end
    pieces: list[Piece] = []
    at = 0
    for piece in pieces_of(word):
        length = len(piece.text.value)
        low, high = max(start - at, 0), min(stop - at, length)
        if low < high:
            pieces.append(replace(piece, text=piece.text[low:high]))
        at += length
    empty = word.content[start:start]
    if not pieces:
        return word_of((), empty.span, empty)
    span = span_of(pieces)
    if not word.span.contains(span):
        span = word.span
    return word_of(pieces, span, empty)
