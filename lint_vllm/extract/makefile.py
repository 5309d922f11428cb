"""Makefiles and justfiles: the recipes as scripts, with the variables of the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from lint_vllm.extract.context import Context, Extraction, Follower
from lint_vllm.extract.shell import run_script
from lint_vllm.extract.shell_values import Piece, Pieces, Script
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Launch
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Text

_ASSIGNMENT = pattern(
    r"^(?P<export>export[ ]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*(?P<op>:::?=|::=|:=|\?=|\+=|=)[ \t]*(?P<value>(?:[^\\\n#]|\\.|\\\n)*)",
    re.MULTILINE,
)
_JUST_ASSIGNMENT = pattern(r"^(?:export[ ]+)?(?P<name>[A-Za-z_][\w-]*)[ \t]*:=[ \t]*(?P<value>[^\n#]*)", re.MULTILINE)
_TARGET = pattern(r"^(?P<name>[^\s#:=][^#:=\n]*?)[ \t]*::?(?!=)(?P<rest>[^\n]*)$", re.MULTILINE)
_JUST_TARGET = pattern(r"^@?(?P<name>[A-Za-z_][\w-]*)(?P<parameters>[^:\n]*):(?!=)[^\n]*$", re.MULTILINE)
_MAX_DEPTH = 10


@dataclass(frozen=True, slots=True)
class _Value:
    pieces: Pieces
    default: bool = False


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    """The launches of a Makefile or justfile."""
    text = Text.of(source)
    name = source.path.lower().rsplit("/", 1)[-1]
    just = "justfile" in name or name.endswith(".just")
    return Extraction(tuple(launches_in_makefile(text, Context(source, follow=follow), just=just)))


def launches_in_makefile(text: Text, context: Context, *, just: bool = False) -> list[Launch]:
    """The launches of all recipes in order."""
    names = _just_values(text) if just else _values(text)
    launches: list[Launch] = []
    for recipe, parameters in _recipes(text, just):
        known = {**names, **parameters}
        pieces = _expanded(recipe, known, just)
        if pieces:
            launches.extend(run_script(Script.of_pieces(pieces, recipe[:0]), context))
    return launches


def _values(text: Text) -> dict[str, _Value]:
    out: dict[str, _Value] = {}
    for found in _ASSIGNMENT.finditer(text.value):
        name, op = found.group("name"), found.group("op")
        value = _joined(text[found.start("value") : found.end("value")]).strip()
        pieces = (Piece(value),) if value.value else ()
        if op == "+=" and name in out:
            blank = Piece(Text.placed(" ", value.span))
            out[name] = _Value((*out[name].pieces, blank, *pieces))
        elif op == "?=" and name in out:
            continue
        else:
            out[name] = _Value(pieces, op == "?=")
    return out


def _joined(text: Text) -> Text:
    """A value over several lines as make reads it: backslash and line break become one blank."""
    parts: list[Text] = []
    last = 0
    for found in re.finditer(r"[ \t]*\\\r?\n[ \t]*", text.value):
        parts.append(text[last : found.start()])
        span = text[found.start() : found.end()].span
        parts.append(Text(span.source, " ", (span.start,), (span.end,), span.start))
        last = found.end()
    parts.append(text[last:])
    return Text.join([p for p in parts if p.value], text[:0])


def _just_values(text: Text) -> dict[str, _Value]:
    out: dict[str, _Value] = {}
    for found in _JUST_ASSIGNMENT.finditer(text.value):
        value = text[found.start("value") : found.end("value")].strip()
        default = re.match(r"""env(?:_var_or_default)?\([^,]+,\s*(["'])(.*?)\1\s*\)$""", value.value)
        quoted = re.match(r"""(["'`])(.*)\1$""", value.value)
        if default:
            value = value[default.start(2) : default.end(2)]
        elif quoted and quoted.group(1) != "`":
            value = value[quoted.start(2) : quoted.end(2)]
        elif not re.fullmatch(r"[\w./:-]+", value.value):
            out[found.group("name")] = _Value((Piece(value, f"{found.group('name')} is only known at run time"),))
            continue
        out[found.group("name")] = _Value((Piece(value),))
    return out


def _recipes(text: Text, just: bool) -> Iterator[tuple[Text, dict[str, _Value]]]:
    """Each recipe without its indent and the ``@``, ``-``, ``+`` of its lines; parameters of a just recipe with defaults."""
    value = text.value
    for found in (_JUST_TARGET if just else _TARGET).finditer(value):
        parameters = _parameters(text, found) if just else {}
        parts: list[Text] = []
        inline = None if just else re.search(r";[ \t]*(.+)$", found.group("rest"))
        if inline:
            start = found.start("rest") + inline.start(1)
            parts.append(text[start : found.end("rest")])
            parts.append(Text.placed("\n", text[start : start + 1].span))
        at = found.end() + 1
        continued = False
        while at < len(value):
            end = value.find("\n", at)
            end = len(value) if end < 0 else end + 1
            line = value[at:end]
            indent = re.match(r"[ \t]+", line)
            if not continued and line.strip() and (indent is None or (not just and not line.startswith(("\t", "    ")))):
                break
            if continued:
                parts.append(text[at:end])
            elif indent is not None:
                mark = re.compile(r"[ \t]+[@+-]*[ \t]*").match(value, at, end)
                parts.append(text[mark.end() if mark else at : end])
            continued = line.rstrip("\r\n").endswith("\\")
            at = end
        if parts:
            yield Text.join(parts), parameters


def _parameters(text: Text, found: re.Match[str]) -> dict[str, _Value]:
    out: dict[str, _Value] = {}
    start = found.start("parameters")
    for one in re.finditer(r"""[+*$]*([A-Za-z_][\w-]*)(?:\s*=\s*(?:(["'])(.*?)\2|([^\s"']+)))?""", found.group("parameters")):
        group = 3 if one.group(3) is not None else 4 if one.group(4) is not None else 0
        name = text[start + one.start(1) : start + one.end(1)]
        if group:
            value = text[start + one.start(group) : start + one.end(group)]
            known = group == 3 or not re.match(r"[A-Za-z_]\w*$", value.value)
            out[one.group(1)] = _Value((Piece(value, None if known else f"{value.value} is only known at run time"),), True)
        else:
            out[one.group(1)] = _Value((Piece(name, f"{name.value} is given when the recipe is called"),))
    return out


_MAKE = pattern(r"\$\$|\$\((?P<round>[^()$]*(?:\([^()]*\)[^()]*)*)\)|\$\{(?P<brace>[^{}]*)\}|\$(?P<single>[A-Za-z0-9@<^?*%+])")
_INNER = r"(?:[^(),]|\([^()]*\))*"
_MAKE_IF = pattern(rf"\$\(if[ \t]+{_INNER},(?P<yes>{_INNER})(?:,(?P<no>(?:[^()]|\([^()]*\))*))?\)")
_JUST = pattern(r"\{\{\{\{|\{\{(?P<round>(?:(?!\}\}).)*)\}\}")


def _expanded(text: Text, names: dict[str, _Value], just: bool, depth: int = 0) -> Pieces:
    """The text with make's (or just's) own references replaced; ``$$`` is the shell's dollar."""
    if not just and depth <= _MAX_DEPTH and (chosen := _MAKE_IF.search(text.value)):
        branches = [text[slice(*chosen.span(name))] for name in ("yes", "no") if chosen.group(name)]
        inside = [replace(p, conditional=True) for branch in branches for p in _expanded(branch, names, just, depth + 1)]
        before, after = text[: chosen.start()], text[chosen.end() :]
        return (*_expanded(before, names, just, depth), *inside, *_expanded(after, names, just, depth + 1))
    pieces: list[Piece] = []
    last = 0
    for found in (_JUST if just else _MAKE).finditer(text.value):
        if found.start() > last:
            pieces.append(Piece(text[last : found.start()]))
        last = found.end()
        written = text[found.start() : found.end()]
        if found.group() in ("$$", "{{{{"):
            pieces.append(Piece(Text.placed(found.group()[: len(found.group()) // 2], written.span)))
            continue
        groups = found.groupdict()
        name = (groups.get("round") or groups.get("brace") or groups.get("single") or "").strip()
        value = names.get(name)
        if value is None or depth > _MAX_DEPTH:
            pieces.append(Piece(written, f"{name} has no value in this file"))
            continue
        for piece in value.pieces:
            inner = (piece,) if piece.unknown or just else _expanded(piece.text, names, just, depth + 1)
            for part in inner:
                spliced = part.unknown is None and not re.search(r"^-|\s", part.text.value)
                pieces.append(Piece(part.text, part.unknown, written=written.span if spliced else None))
    if last < len(text):
        pieces.append(Piece(text[last:]))
    return tuple(pieces)
