from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lint_vllm.facts.images import split_reference
from lint_vllm.launch import Image, Launch
from lint_vllm.source import SourceFile


def make_launch(text: str, path: str = "run.sh", command: str = "vllm serve", image: str | None = None, **extra: Any) -> Launch:
    """A launch at the first place of ``command`` in a text; its block is that line."""
    source = SourceFile.of(text, path)
    at = max(source.text.find(command), 0)
    line_end = source.text.find("\n", at)
    block = source.span(at, len(source.text) if line_end < 0 else line_end)
    found = None
    if image is not None:
        where = source.text.find(image)
        name, tag, digest = split_reference(image)
        span = source.span(max(where, 0), max(where, 0) + len(image))
        found = Image(span, image, name, tag, digest)
    return Launch(source, "vllm serve", "test", source.span(at, at + len(command)), extra.pop("block", block), image=found, **extra)


@pytest.fixture
def repository(tmp_path: Path) -> Callable[..., Any]:
    """Writes files (name -> text) under a folder with ``.git`` and gives the repository of one of them."""
    from lint_vllm.facts.repository import Repository

    def build(path: str = "run.sh", **files: str) -> Repository:
        (tmp_path / ".git").mkdir(exist_ok=True)
        for name, text in files.items():
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        return Repository.of(tmp_path / path, use_hub_cache=False)

    return build
