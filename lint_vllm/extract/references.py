"""References inside values that another layer resolves before vLLM sees them.

Compose interpolates ``${NAME:-default}``; Kubernetes expands ``$(NAME)``. Every resolved character keeps a place in the file:
a default its own, a value from elsewhere that of the reference.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from lint_vllm.frozen import dataclass
from lint_vllm.launch import EnvVar, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

Lookup: TypeAlias = "Callable[[str], Word | str]"
"""A name's value, or the reason why it is not known."""

MAX_DEPTH = 8
MAX_VALUE = 100_000

_NAME = pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_KUBERNETES = pattern(r"\$\$|\$\(([A-Za-z_.][-A-Za-z0-9_.]*)\)")


@dataclass(frozen=True, slots=True)
class Expanded:
    """``text`` after expansion; references that could not be resolved stand in it as written, listed in ``unknown``."""

    text: Text
    unknown: tuple[tuple[Span, str], ...] = ()
    """Place of each unresolved reference, and why."""
    defined: Span | None = None
    """Where the value is written, when the whole text was one reference."""
    changed: bool = False

    @property
    def reason(self) -> str | None:
        return self.unknown[0][1] if self.unknown else None


def with_expansion(word: Word, expanded: Expanded) -> Word:
    """The word after expansion, still standing where it was."""
    if not expanded.changed and not expanded.unknown:
        return word
    return Word(
        expanded.text,
        word.span,
        word.quote,
        word.unknown or expanded.reason,
        expanded.defined or word.defined,
        word.conditional,
    )


def interpolate(text: Text, lookup: Lookup, _depth: int = 0) -> Expanded:
    """Compose interpolation: ``$NAME``, ``${NAME}``, ``${NAME:-default}``, ``:+`` and ``:?``; ``$$`` is a dollar sign."""
    value = text.value
    if "$" not in value:
        return Expanded(text)
    parts: list[Text] = []
    unknown: list[tuple[Span, str]] = []
    defined: Span | None = None
    at = 0
    while (dollar := value.find("$", at)) >= 0:
        parts.append(text[at:dollar])
        following = value[dollar + 1 : dollar + 2]
        if following == "$":
            parts.append(text[dollar : dollar + 1])
            at = dollar + 2
            continue
        end, piece = _reference(text, dollar, lookup, _depth)
        at = end
        unknown.extend(piece.unknown)
        parts.append(piece.text)
        if dollar == 0 and end == len(value):
            defined = piece.defined
    parts.append(text[at:])
    kept = [p for p in parts if p.value]
    return Expanded(Text.join(kept, text[0:0]), tuple(unknown), defined, True)


def _reference(text: Text, dollar: int, lookup: Lookup, depth: int) -> tuple[int, Expanded]:
    """The end of the reference that starts at a dollar sign, and what it yields."""
    value = text.value
    braced = value.startswith("{", dollar + 1)
    found = _NAME.match(value, dollar + (2 if braced else 1))
    if found is None or depth > MAX_DEPTH:
        return dollar + 1, Expanded(text[dollar : dollar + 1])
    name, at = found.group(), found.end()
    if not braced:
        return at, _resolved(text[dollar:at], lookup(name), dollar == 0 and at == len(value))
    end = _closing(value, at)
    if end < 0:
        return dollar + 1, Expanded(text[dollar : dollar + 1])
    whole = text[dollar : end + 1]
    alone = len(whole) == len(value)
    operator = re.match(r":?[-?+]", value[at:end])
    if operator is None:
        return end + 1, _resolved(whole, lookup(name), alone) if at == end else Expanded(
            whole, ((whole.span, f"{whole} is not understood"),)
        )
    operand = text[at + operator.end() : end]
    known = lookup(name)
    empty = isinstance(known, Word) and not known.value and operator.group().startswith(":")
    sign = operator.group()[-1]
    if sign == "-":
        if isinstance(known, Word) and not empty:
            return end + 1, _resolved(whole, known, alone)
        inner = interpolate(operand, lookup, depth + 1)
        return end + 1, Expanded(inner.text, inner.unknown, None, True)
    if sign == "+":
        if isinstance(known, Word) and not empty:
            inner = interpolate(operand, lookup, depth + 1)
            return end + 1, Expanded(inner.text, inner.unknown, None, True)
        return end + 1, Expanded(whole[0:0], changed=True)
    return end + 1, _resolved(whole, known, alone)


def _closing(value: str, at: int) -> int:
    """The brace that closes the reference whose name ends at ``at``; -1: none. JSON in a default may hold braces too."""
    depth = 1
    limit = min(len(value), at + 4000)
    while at < limit:
        if value[at] == "{":
            depth += 1
        elif value[at] == "}":
            depth -= 1
            if not depth:
                return at
        at += 1
    return -1


def _resolved(whole: Text, known: Word | str, alone: bool) -> Expanded:
    """A value put in place of its reference; only a reference that stands alone takes over the value's own characters."""
    if isinstance(known, str):
        return Expanded(whole, ((whole.span, known),))
    if known.unknown is not None:
        return Expanded(whole, ((whole.span, known.unknown),))
    place = known.defined or known.content.span
    if alone and known.value:
        return Expanded(known.content, (), place, True)
    return Expanded(Text.placed(known.value, whole.span), (), place, True)


def expand_kubernetes(text: Text, env: Mapping[str, EnvVar]) -> Expanded:
    """Kubernetes expansion of ``$(NAME)`` from the container's environment; ``$$`` escapes."""
    value = text.value
    if "$(" not in value and "$$" not in value:
        return Expanded(text)
    parts: list[Text] = []
    unknown: list[tuple[Span, str]] = []
    defined: Span | None = None
    at = 0
    for found in _KUBERNETES.finditer(value):
        parts.append(text[at : found.start()])
        at = found.end()
        whole = text[found.start() : found.end()]
        if found.group() == "$$":
            parts.append(whole[0:1])
            continue
        piece = _resolved(whole, value_of(env, found.group(1)), len(whole) == len(value))
        unknown.extend(piece.unknown)
        parts.append(piece.text)
        if len(whole) == len(value):
            defined = piece.defined
    parts.append(text[at:])
    joined = Text.join([p for p in parts if p.value], text[0:0])
    if len(joined) > MAX_VALUE:
        return Expanded(text, ((text.span, "the expanded value is too long"),))
    return Expanded(joined, tuple(unknown), defined, True)


def value_of(env: Mapping[str, EnvVar], name: str) -> Word | str:
    """The value of an environment variable, or why it is not known."""
    variable = env.get(name)
    if variable is None:
        return f"{name} is not set in this file"
    if variable.value is None:
        return f"{name} comes from a {variable.source}" if variable.source != "file" else f"{name} is set at run time"
    return variable.value


_ATOM = pattern(r"\$?\{\{.*?\}\}|\{%.*?%\}|\$\{[^}\s]*\}", re.DOTALL)
_IN_DOUBLE = frozenset('"\\$`\n')


def split_line(text: Text) -> list[Word]:
    """A command in one string divided by quotes and blanks alone, as compose and container engines do: nothing is expanded.

    A template tag or an unresolved ``${NAME}`` stays in one piece. An unterminated quote ends with the text.
    """
    text = _without_folded_continuations(text)
    value, size = text.value, len(text)
    words: list[Word] = []
    at = 0
    while at < size:
        if value[at].isspace():
            at += 1
            continue
        start, quote = at, ""
        parts: list[Text] = []
        while at < size and not value[at].isspace():
            c = value[at]
            if c in "'\"":
                quote = quote or (c if at == start else "")
                at = _quoted(text, at, parts)
            elif c == "\\" and at + 1 < size:
                if value[at + 1] != "\n":
                    parts.append(text[at + 1 : at + 2])
                at += 2
            elif c in "${" and (atom := _ATOM.match(value, at)):
                parts.append(text[at : atom.end()])
                at = atom.end()
            else:
                parts.append(text[at : at + 1])
                at += 1
        whole = text[start:at]
        if whole.value != "\\\n" and (parts or quote):
            words.append(Word(_joined(parts, text[start + len(quote) : start + len(quote)]), whole.span, quote))
    return words


def _quoted(text: Text, at: int, parts: list[Text]) -> int:
    """Take the quoted string that starts at ``at``; the offset behind it."""
    value, size, quote = text.value, len(text), text.value[at]
    at += 1
    while at < size and value[at] != quote:
        if quote == '"' and value[at] == "\\" and at + 1 < size and value[at + 1] in _IN_DOUBLE:
            if value[at + 1] != "\n":
                parts.append(text[at + 1 : at + 2])
            at += 2
            continue
        stop = at + 1
        while stop < size and value[stop] not in "\\'\"":
            stop += 1
        parts.append(text[at:stop])
        at = stop
    return at + 1


def _joined(parts: list[Text], empty: Text) -> Text:
    """Pieces of one text in one; neighbours in the file stay one range."""
    if not parts:
        return empty
    first, last = parts[0], parts[-1]
    source, start = first.source, first.span.start
    value = "".join(p.value for p in parts)
    if last.span.end - start == len(value) and source.text[start : last.span.end] == value:
        return Text.of(source, start, last.span.end)
    return Text.join(parts, empty)


def _without_folded_continuations(text: Text) -> Text:
    """A backslash at the end of a line that YAML has folded: it was meant as a continuation."""
    value = text.value
    if "\\ " not in value:
        return text
    parts: list[Text] = []
    at = 0
    for found in re.finditer(r"\\ ", value):
        place = text[found.start() + 1 : found.end()].span
        if "\n" in place.text or "\r" in place.text:
            parts.append(text[at : found.start()])
            at = found.start() + 1
    parts.append(text[at:])
    return Text.join([p for p in parts if p.value], text[0:0])
