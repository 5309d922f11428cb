"""Helpers of these tests: scripts in, launches and their words out."""

from __future__ import annotations

from collections.abc import Mapping

from lint_vllm.extract.context import Context, Extraction
from lint_vllm.extract.shell import launches_in_script
from lint_vllm.launch import Launch, Word
from lint_vllm.source import SourceFile, Text


class Folder:
    """A follower over files that exist in memory only."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = {name: SourceFile.of(text, name) for name, text in files.items()}

    def read(self, relative_path: str) -> SourceFile | None:
        return self.files.get(relative_path)


def launches(script: str, files: Mapping[str, str] | None = None) -> list[Launch]:
    source = SourceFile.of(script, "run.sh")
    return launches_in_script(Text.of(source), Context(source, follow=Folder(files or {})))


def only(script: str, files: Mapping[str, str] | None = None) -> Launch:
    found = launches(script, files)
    assert len(found) == 1, [(f.form, f.command.text) for f in found]
    return found[0]


def single(extraction: Extraction) -> Launch:
    assert len(extraction.launches) == 1, [(f.form, f.command.text) for f in extraction.launches]
    return extraction.launches[0]


def shown(word: Word) -> str:
    """A word in short: ``?`` for conditional, ``!`` for unknown."""
    return ("?" if word.conditional else "") + ("!" if word.unknown else "") + word.value


def words(launch: Launch) -> list[str]:
    return [shown(w) for w in launch.words]


def slices(launch: Launch) -> list[str]:
    return [w.span.text for w in launch.words]


def settings(launch: Launch) -> dict[str, str | None]:
    return {s.flag: s.value.value if s.value else None for s in launch.settings}
