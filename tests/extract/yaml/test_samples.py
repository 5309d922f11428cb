"""Whole files: what a careful reader finds in them. ``expected.json`` was read by eye, not taken over."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lint_vllm.extract import extract
from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile

SAMPLES = Path(__file__).parents[2] / "samples" / "extract"
EXPECTED: dict[str, list[dict[str, Any]]] = json.loads((SAMPLES / "expected.json").read_text(encoding="utf-8"))


class Folder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self, relative_path: str) -> SourceFile | None:
        path = (self.folder / relative_path).resolve()
        return SourceFile.read(str(path)) if path.is_file() and path.is_relative_to(SAMPLES.resolve()) else None


def found_in(name: str) -> list[Launch]:
    path = SAMPLES / name
    return list(extract(SourceFile(name, path.read_bytes()), Folder(path.parent)).launches)


def row(launch: Launch) -> dict[str, Any]:
    return {
        "line": launch.command.line,
        "block": launch.block.line,
        "form": launch.form,
        "site": launch.site,
        "words": [("?" if w.unknown else "") + ("~" if w.conditional else "") + w.value for w in launch.words],
        "settings": {s.name.value: s.value.value if s.value else None for s in launch.settings},
        "image": launch.image.reference if launch.image else None,
        "gpus": [[g.resource, g.count] for g in (launch.deployment.gpus if launch.deployment else ())],
    }


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_launches_of_a_sample(name: str) -> None:
    assert [row(launch) for launch in found_in(name)] == EXPECTED[name]


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_span_is_the_argument_as_written(name: str) -> None:
    for launch in found_in(name):
        for word in [*launch.words, *(s.value for s in launch.settings if s.value), *(s.name for s in launch.settings)]:
            content = word.content
            for character, start, stop in zip(content.value, content.starts, content.stops, strict=True):
                written = content.source.text[start:stop]
                assert written == character or character in " \n" or written.startswith(("\\", "$", "{", "[")), (
                    word.value,
                    written,
                )
            assert word.span.source.text[word.span.start : word.span.end] != "" or not word.value
