"""TOML files: tasks of pixi, poe and the like, deployment descriptions, containers."""

from __future__ import annotations

from lint_vllm.extract.context import Context, Extraction, Follower, Unreadable
from lint_vllm.extract.structure import launches_in
from lint_vllm.extract.toml_text import parse_toml
from lint_vllm.launch import Deployment
from lint_vllm.source import SourceFile, Span, Text

MAX_CHARACTERS = 1_000_000


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    if "vllm" not in source.text.lower():
        return Extraction()
    if len(source.text) > MAX_CHARACTERS:
        reason = f"the file has more than {MAX_CHARACTERS:,} characters and was not read"
        return Extraction(problems=(Unreadable(source.span(0, 0), reason),))
    context = Context(source, follow=follow, deployment=Deployment("other", Span(source, 0, 0)))
    return Extraction(tuple(launches_in(parse_toml(Text.of(source)), context)))
