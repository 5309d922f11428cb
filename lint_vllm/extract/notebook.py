"""Jupyter notebooks: JSON read with the place of every character, code cells as one program, magics as scripts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from lint_vllm.extract.context import Context, Extraction, Follower, Unreadable
from lint_vllm.extract.json_text import parse_json
from lint_vllm.extract.markdown import launches_in_document
from lint_vllm.extract.python import Finder, concerns_vllm
from lint_vllm.extract.python_text import Code, Unparsable
from lint_vllm.extract.python_values import Scalar, Value, word_of
from lint_vllm.extract.shell_values import Piece, Script
from lint_vllm.extract.structure import Leaf, Map, Seq, word_launches
from lint_vllm.launch import Launch, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Text

MAX_CELLS = 5000

_LINE_MAGIC = pattern(r"^(?P<before>[ \t]*(?:[\w.]+[ \t]*=[ \t]*)?)(?P<sign>!{1,2}(?!=)|%(?=\S)|\?(?=\S))", re.MULTILINE)
_CELL_MAGIC = pattern(r"\s*%%(?P<name>[\w!]+)[ \t]*(?P<rest>[^\n]*)(?:\n|$)")
_SHELLS = frozenset({"bash", "sh", "script", "!", "system", "shell"})
_VARIABLE = pattern(r"\{\{?([^{}\n]+)\}\}?|\$(\w+)")
_PIP = pattern(r"(?:pip3?|uv|conda|mamba)\b.*\binstall\b")
_REQUIREMENT = pattern(r"vllm(?:\[[^\]]*\])?\s*(?:==|===|~=|>=)\s*v?\d[\w.+!-]*")


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    text = Text.of(source)
    context = Context(source, follow=follow)
    document = parse_json(text)
    if not isinstance(document.root, Map):
        return Extraction((), document.problems)
    reader = _Notebook(context)
    for number, (kind, cell) in enumerate(_cells(document.root)):
        if kind == "code" and number < MAX_CELLS:
            reader.cell(number, cell)
        elif kind == "markdown" and number < MAX_CELLS and "vllm" in cell.value.lower():
            reader.found += launches_in_document(cell, context).launches
    return Extraction(tuple(reader.launches()), (*document.problems, *reader.problems))


def _cells(root: Map) -> Iterator[tuple[str, Text]]:
    """(kind, source) of each cell; version 3 notebooks keep them in worksheets."""
    holders = [root]
    sheets = root.get("worksheets")
    if sheets is not None and isinstance(sheets.value, Seq):
        holders += [s for s in sheets.value.items if isinstance(s, Map)]
    for holder in holders:
        pair = holder.get("cells")
        for cell in pair.value.items if pair is not None and isinstance(pair.value, Seq) else ():
            if not isinstance(cell, Map):
                continue
            kind, body = cell.get("cell_type"), cell.get("source", "input")
            if kind is None or body is None or not isinstance(kind.value, Leaf):
                continue
            lines = body.value.items if isinstance(body.value, Seq) else (body.value,)
            parts = [line.word.content for line in lines if isinstance(line, Leaf) and line.word.value]
            if parts:
                yield kind.value.word.value, Text.join(parts)


@dataclass
class _Notebook:
    context: Context
    problems: list[Unreadable] = field(default_factory=list)
    found: list[Launch] = field(default_factory=list)
    finder: Finder = field(init=False)
    magics: dict[int, Text] = field(default_factory=dict)
    """Offset in the file -> the magic that was masked there."""

    def __post_init__(self) -> None:
        self.finder = Finder(self.context)
        self.finder.magics = self._magic

    def launches(self) -> list[Launch]:
        self.finder.reader.finish()
        found = [*self.finder.launches(), *self.found]
        unique = {(launch.command.start, launch.form): launch for launch in found}
        pins = self.finder.pinned
        ordered = sorted(unique.values(), key=lambda launch: launch.command.start)
        return [replace(x, pins=x.pins + tuple(p for p in pins if p not in x.pins)) for x in ordered]

    def cell(self, number: int, text: Text) -> None:
        magic = _CELL_MAGIC.match(text.value)
        if magic:
            self._cell_magic(magic, text)
            return
        shown = self._masked(text)
        try:
            code = Code.parse(text, shown)
        except Unparsable as error:
            if concerns_vllm(shown):
                at = min(error.offset or 0, len(text) - 1)
                self.problems.append(Unreadable(text[at : at + 1].span, f"cell {number + 1} is not valid Python: {error.reason}"))
            self._magics_alone(text)
            return
        self.finder.note_pins(text)
        self.finder.reader.run(code)

    def _cell_magic(self, magic: re.Match[str], text: Text) -> None:
        name, rest, body = magic.group("name"), magic.group("rest").strip(), text[magic.end() :]
        if name in _SHELLS and not (name == "script" and "python" in rest):
            self._script(body)
        elif name in ("writefile", "file"):
            self._written(rest.split()[-1] if rest.split() else "", body)
        elif name in ("time", "timeit", "capture", "prun") or (name == "script" and "python" in rest):
            self.cell(0, body)

    def _written(self, name: str, body: Text) -> None:
        """A file that a cell writes, read as what its name says."""
        if name.endswith(".py"):
            from lint_vllm.extract.python import launches_in_python

            self.found += launches_in_python(body, self.context.deeper())
            return
        word = Word(body, body.span)
        self.found += word_launches(word, self.context, sure=name.endswith((".sh", ".bash", ".sbatch")) or "." not in name)

    def _masked(self, text: Text) -> str:
        """The cell for the Python parser: a magic becomes a number that stands in its place, at equal length."""
        value = text.value
        if not any(c in value for c in "!%?"):
            return value
        pieces: list[str] = []
        at = 0
        quotes = [[m.start() for m in re.finditer(mark, value)] for mark in ('"""', "'''")]
        for found in _LINE_MAGIC.finditer(value):
            # Inside a string of several lines (counted, not parsed: the cell may be no Python yet).
            inside = any(bisect_left(starts, found.start()) % 2 for starts in quotes)
            if found.start() < at or inside:
                continue
            start, end = found.end("before"), _line_end(value, found.end())
            self.magics[text[start : start + 1].span.start] = text[start:end]
            masked = re.sub(r"[^\n]", " ", value[start + 1 : end])
            pieces += [value[at:start], "0", masked]
            at = end
        return "".join([*pieces, value[at:]])

    def _magics_alone(self, text: Text) -> None:
        for found in _LINE_MAGIC.finditer(text.value):
            start = found.end("before")
            self._magic_text(text[start : _line_end(text.value, start)])

    def _magic(self, offset: int) -> bool:
        text = self.magics.get(offset)
        if text is None:
            return False
        self._magic_text(text)
        return True

    def _magic_text(self, text: Text) -> None:
        value = text.value
        for found in _REQUIREMENT.finditer(value) if _PIP.search(value) else ():
            self.finder.pin(text[found.start() : found.end()])
        if value.startswith("!"):
            self._script(text[len(value) - len(value.lstrip("!")) :])
        elif value.startswith("%"):
            parts = value[1:].split(None, 1)
            if parts and parts[0] in ("env", "set_env") and len(parts) > 1:
                self._set_variable(text[value.index(parts[1]) :])
            elif parts and parts[0] in ("sx", "system", "bash") and len(parts) > 1:
                self._script(text[value.index(parts[1]) :])

    def _set_variable(self, text: Text) -> None:
        divided = re.match(r"(\w+)(?:\s*=\s*|\s+)(.*)", text.value, re.DOTALL)
        if divided:
            key, value = text[divided.start(1) : divided.end(1)], text[divided.start(2) : divided.end(2)].strip()
            self.finder.environment(Scalar(key, key, key.value), Scalar(value, value, value.value), text)

    def _script(self, text: Text) -> None:
        """A shell command, in which IPython fills ``{name}`` and ``$name`` from the notebook's variables."""
        if "vllm" not in text.value.lower() and "option." not in text.value and not any(c in text.value for c in "{$"):
            return
        pieces: list[Piece] = []
        at = 0
        for found in _VARIABLE.finditer(text.value):
            name = (found.group(1) or found.group(2)).strip()
            value = self.finder.reader.named(name)
            place = text[found.start() : found.end()]
            piece = _filled(place, value)
            if piece is None:
                continue
            pieces += [Piece(text[at : found.start()]), piece]
            at = found.end()
        pieces.append(Piece(text[at:]))
        context = self.finder.surroundings(text.span)
        if len(pieces) == 1:
            self.found += word_launches(Word(text, text.span), replace(context, block=None))
            return
        from lint_vllm.extract.shell import run_script

        script = Script.of_pieces([p for p in pieces if p.text.value], text[:0])
        self.found += run_script(script, replace(context, block=None))


def _filled(place: Text, value: Value) -> Piece | None:
    """What stands for a variable in a command; ``None`` for a name that the notebook does not have (the shell's own)."""
    if isinstance(value, Scalar) and value.known:
        return Piece(Text.placed(str(value.literal), place.span))
    if isinstance(value, Scalar) and value.unknown and value.unknown.endswith("has no value in this file"):
        return None
    return Piece(place, word_of(value).unknown or "computed at run time")


def _line_end(value: str, at: int) -> int:
    """The end of a magic: its line, and the next ones after a backslash."""
    while True:
        newline = value.find("\n", at)
        if newline < 0:
            return len(value)
        if not value.endswith("\\", at, newline):
            return newline
        at = newline + 1
