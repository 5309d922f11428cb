"""Files that people write in awkward ways, whole: what a careful reader finds in them (``expected.txt``, read by eye), that no
span lies, and that neither line ends nor a byte order mark nor damage changes more than they must.

``python -m tests.extract.tricky.test_tricky`` writes ``expected.txt`` anew.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from lint_vllm.extract import extract
from lint_vllm.extract.context import Extraction
from lint_vllm.launch import Launch, Word
from lint_vllm.source import SourceFile

SAMPLES = Path(__file__).parents[2] / "samples" / "tricky"
EXPECTED = SAMPLES / "expected.txt"
NAMES = sorted(str(p.relative_to(SAMPLES)) for p in SAMPLES.rglob("*") if p.is_file() and p != EXPECTED)


class Beside:
    """Reads the other samples."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, relative_path: str) -> SourceFile | None:
        path = (self.folder / relative_path).resolve()
        known = path.is_file() and path.is_relative_to(SAMPLES)
        return SourceFile(str(path.relative_to(SAMPLES)), path.read_bytes()) if known else None


def read(name: str, data: bytes | None = None) -> Extraction:
    content = (SAMPLES / name).read_bytes() if data is None else data
    return extract(SourceFile(name, content), Beside((SAMPLES / name).parent))


def shown(word: Word) -> str:
    """``?`` not known, ``~`` under a condition; a word with blanks in quotes."""
    value = repr(word.value) if not word.value or any(c.isspace() for c in word.value) else word.value
    return ("?" if word.unknown else "") + ("~" if word.conditional else "") + value


def lines_of(launch: Launch) -> Iterator[str]:
    doc = " (doc)" if launch.passage == "doc" else ""
    wrapper = f" by {launch.wrapper}" if launch.wrapper else ""
    yield f"{launch.path}:{launch.command.line} {launch.form}{wrapper}{doc}"
    if launch.words:
        yield "    words     " + " ".join(map(shown, launch.words))
    if launch.settings:
        yield "    settings  " + ", ".join(f"{s.flag}={shown(s.value) if s.value else ''}" for s in launch.settings)
    if launch.image is not None:
        yield f"    image     {launch.image.reference}"
    if launch.deployment is not None and launch.deployment.gpus:
        yield "    gpus      " + ", ".join(f"{g.resource}={g.count}" for g in launch.deployment.gpus)
    if launch.env:
        yield "    env       " + ", ".join(f"{k}={shown(v.value) if v.value else '-'}" for k, v in launch.env.items())
    if launch.hints:
        yield "    hints     " + ", ".join(f"{h.kind}={h.value}" for h in launch.hints)
    for reason in launch.unresolved:
        yield f"    missing   {reason}"
    if launch.lost:
        yield f"    lost      {' '.join(w.value for w in launch.lost)}: {launch.lost_reason}"


def report(name: str) -> str:
    found = read(name)
    lines = [line for launch in found.launches for line in lines_of(launch)]
    lines += [f"    unread    line {p.span.line}: {p.reason}" for p in found.problems]
    return "\n".join(lines) or "(none)"


def expected() -> dict[str, str]:
    parts = EXPECTED.read_text(encoding="utf-8").split("=== ")
    return {name: body.strip("\n") for name, _, body in (part.partition("\n") for part in parts if part)}


@pytest.mark.parametrize("name", NAMES)
def test_what_a_reader_finds(name: str) -> None:
    assert report(name) == expected()[name]


def words_of(launch: Launch) -> list[Word]:
    values = [s.value for s in launch.settings if s.value is not None]
    return [*launch.words, *values, *(s.name for s in launch.settings)]


@pytest.mark.parametrize("name", NAMES)
def test_every_span_is_the_argument_as_written(name: str) -> None:
    for launch in read(name).launches:
        for word in words_of(launch):
            assert 0 <= word.span.start <= word.span.end <= len(word.span.source.text)
            if word.editable is not None:
                assert word.editable.text == word.value
            for char, start, stop in zip(word.content.value, word.content.starts, word.content.stops, strict=True):
                written = word.content.source.text[start:stop]
                composed = len(written) > 1 or written in tuple("\\$'\"{[`,: ") or char in ' \n{}[]",:'
                assert written == char or composed, (word.value, written)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", ["crlf", "bom"])
def test_line_ends_and_marks_change_nothing(name: str, change: str) -> None:
    data = (SAMPLES / name).read_bytes()
    changed = b"\xef\xbb\xbf" + data if change == "bom" else data.replace(b"\n", b"\r\n")

    def rows(found: Extraction) -> list[tuple[object, ...]]:
        return [
            (x.command.line, x.form, [shown(w).replace("\\r\\n", "\\n") for w in x.words], [s.flag for s in x.settings])
            for x in found.launches
        ]

    assert rows(read(name, changed)) == rows(read(name, data))


@pytest.mark.parametrize("name", NAMES)
def test_damage_is_survived(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    chance = random.Random(name)
    for _ in range(25):
        damaged = bytearray(data)
        for _ in range(chance.randint(0, 4)):
            damaged[chance.randrange(len(damaged))] = chance.choice(b"\"'\\${}()[]<>|&;:#\n\t\x00\xff\xc3")
        found = read(name, bytes(damaged[: chance.randint(1, len(damaged))]))
        for launch in found.launches:
            assert 0 <= launch.command.start <= launch.command.end <= len(launch.source.text)
            for word in words_of(launch):
                assert 0 <= word.span.start <= word.span.end <= len(word.span.source.text)


def test_commands_that_start_nothing() -> None:
    """``echo``, ``grep``, ``pkill``, help, usage texts, aliases, other engines."""
    found = {word.value for name in NAMES for launch in read(name).launches for word in launch.words}
    assert not found & {"org/no", "org/alias", "org/commented", "org/helptext", "org/output", "org/inline", "org/e'"}


if __name__ == "__main__":
    EXPECTED.write_text("".join(f"=== {name}\n{report(name)}\n\n" for name in NAMES), encoding="utf-8")
