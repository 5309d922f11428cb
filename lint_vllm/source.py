"""Source files, spans, and text that remembers where each of its characters was written.

A launch is often nested: shell words inside a folded YAML scalar, inside a Helm value. ``Text`` carries one source
offset for every character through each decoding step, so that a finding can underline the exact characters in the file.
"""

from __future__ import annotations

import bisect
import codecs
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from pathlib import Path

from lint_vllm.frozen import dataclass


class SourceFile:
    """One file, decoded once. Offsets are character offsets into ``text``; newlines are kept as written.

    Any byte string can be read: UTF-8 first, UTF-16 by its byte order mark, else Latin-1, so that every file
    round-trips byte for byte through :meth:`encode`.
    """

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self.bom, self.encoding = _detect(data)
        self.text = data[len(self.bom) :].decode(self.encoding)

    @classmethod
    def read(cls, path: str) -> SourceFile:
        """Read a file from disk. Raises ``OSError``."""
        return cls(path, Path(path).read_bytes())

    @classmethod
    def of(cls, text: str, path: str = "<text>") -> SourceFile:
        """A source that exists in memory only, such as an argument list given on the command line."""
        return cls(
            path,
            text.encode("utf-8", "surrogatepass") if not _has_surrogates(text) else text.encode("utf-8", "replace"),
        )

    def __repr__(self) -> str:
        return f"SourceFile({self.path!r})"

    @cached_property
    def line_starts(self) -> list[int]:
        """Offset of the first character of each line; lines end with ``\\n``, ``\\r\\n`` or a lone ``\\r``."""
        starts, text = [0], self.text
        at = 0
        while True:
            newline, carriage = text.find("\n", at), text.find("\r", at)
            if newline < 0 and carriage < 0:
                return starts
            if carriage < 0 or 0 <= newline < carriage:
                at = newline + 1
            else:
                at = carriage + (2 if newline == carriage + 1 else 1)
            starts.append(at)

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both from 1; columns count characters."""
        line = bisect.bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line_text(self, line: int) -> str:
        """A line (from 1) without its line break."""
        starts = self.line_starts
        end = starts[line] if line < len(starts) else len(self.text)
        return self.text[starts[line - 1] : end].rstrip("\r\n")

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)

    def encode(self, text: str) -> bytes:
        """The bytes of an edited text, with this file's byte order mark and encoding."""
        return self.bom + text.encode(self.encoding)


def _has_surrogates(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return True
    return False


def _detect(data: bytes) -> tuple[bytes, str]:
    for bom, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if data.startswith(bom):
            try:
                data[len(bom) :].decode(encoding)
            except UnicodeDecodeError:
                return b"", "latin-1"
            return bom, encoding
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return b"", "latin-1"
    return b"", "utf-8"


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters of one file."""

    source: SourceFile = field(repr=False)
    start: int
    end: int

    @property
    def path(self) -> str:
        return self.source.path

    @property
    def text(self) -> str:
        """The characters as they stand in the file."""
        return self.source.text[self.start : self.end]

    @property
    def line(self) -> int:
        return self.source.position(self.start)[0]

    @property
    def column(self) -> int:
        return self.source.position(self.start)[1]

    @property
    def end_line(self) -> int:
        return self.source.position(self.end)[0]

    @property
    def end_column(self) -> int:
        return self.source.position(self.end)[1]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of another in the same file; this span alone when they differ."""
        if other.source is not self.source:
            return self
        return Span(self.source, min(self.start, other.start), max(self.end, other.end))

    def contains(self, other: Span) -> bool:
        return self.source is other.source and self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Text:
    """A string of which every character knows the source range ``[starts[i], stops[i])`` that it was written as.

    Contiguous text is stored as two ``range`` objects, so slicing costs nothing; decoded text (escapes, folds) as tuples.
    A character that stands for nothing in the file (a fold's joining blank) takes the range of what it replaces.
    """

    source: SourceFile = field(repr=False)
    value: str
    starts: Sequence[int] = field(repr=False)
    stops: Sequence[int] = field(repr=False)
    anchor: int = 0
    """Where an empty text would stand."""

    @classmethod
    def of(cls, source: SourceFile, start: int = 0, end: int | None = None) -> Text:
        """The text of a file between two offsets, character for character."""
        stop = len(source.text) if end is None else end
        return cls(source, source.text[start:stop], range(start, stop), range(start + 1, stop + 1), start)

    @classmethod
    def literal(cls, value: str, path: str = "<text>") -> Text:
        """A text of its own, outside any file."""
        return cls.of(SourceFile.of(value, path))

    @classmethod
    def placed(cls, value: str, span: Span) -> Text:
        """A value that a span yields as a whole (a resolved variable): each character points at the whole span."""
        return cls(span.source, value, (span.start,) * len(value), (span.end,) * len(value), span.start)

    @classmethod
    def join(cls, parts: Iterable[Text], empty: Text | None = None) -> Text:
        """One text from several of the same source, in order. Parts of another source are placed at the first's anchor."""
        pieces = list(parts)
        if not pieces:
            if empty is None:
                raise ValueError("join of no texts needs an empty text")
            return empty
        if len(pieces) == 1:
            return pieces[0]
        source = next((p.source for p in pieces if p.value), pieces[0].source)
        starts: list[int] = []
        stops: list[int] = []
        for piece in pieces:
            if piece.source is source:
                starts.extend(piece.starts)
                stops.extend(piece.stops)
            else:
                at = stops[-1] if stops else pieces[0].anchor
                starts.extend([at] * len(piece.value))
                stops.extend([at] * len(piece.value))
        return cls(source, "".join(p.value for p in pieces), tuple(starts), tuple(stops), pieces[0].anchor)

    def __len__(self) -> int:
        return len(self.value)

    def __str__(self) -> str:
        return self.value

    def __bool__(self) -> bool:
        return bool(self.value)

    def __getitem__(self, key: slice) -> Text:
        start, stop, step = key.indices(len(self.value))
        if step != 1:
            raise ValueError("texts are sliced with step 1")
        stop = max(start, stop)
        anchor = self.starts[start] if start < len(self.value) else (self.stops[-1] if self.value else self.anchor)
        return Text(self.source, self.value[start:stop], self.starts[start:stop], self.stops[start:stop], anchor)

    @property
    def span(self) -> Span:
        """From the first character to the last, as written; an empty span at the anchor for an empty text."""
        if not self.value:
            return Span(self.source, self.anchor, self.anchor)
        return Span(self.source, self.starts[0], max(self.stops[-1], self.starts[0]))

    def strip(self, chars: str | None = None) -> Text:
        left = len(self.value) - len(self.value.lstrip(chars))
        right = len(self.value.rstrip(chars))
        return self[left : max(left, right)]

    def lines(self) -> Iterator[Text]:
        """The lines, without their line breaks."""
        at = 0
        for line in self.value.splitlines(keepends=True):
            yield self[at : at + len(line.rstrip("\r\n"))]
            at += len(line)

    def verbatim(self) -> bool:
        """Whether the file holds exactly these characters, so that a part can be edited in place."""
        return self.span.text == self.value
