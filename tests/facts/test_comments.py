from __future__ import annotations

import pytest

from lint_vllm.facts.comments import as_integer, comment_facts, unknown_keys
from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile
from lint_vllm.suppress import directives

COMPOSE = """\
# lint-vllm: vllm=0.20.2
services:
  a:
    # lint-vllm: gpu=L4
    image: vllm/vllm-openai
    command: --model a
  b:
    image: vllm/vllm-openai
    command: --model b  # lint-vllm: gpu=T4
"""
POD = """\
spec:
  # lint-vllm: concurrency=4 context=32k
  containers:
    - args: [serve, m]
  tail: 1
  # lint-vllm: gpu=A40
---
spec:
  containers:
    - args: [serve, n]
"""


def at(text: str, marker: str, length: int = 7) -> Launch:
    source = SourceFile.of(text, "x.yaml")
    start = source.text.index(marker)
    line_end = source.text.index("\n", start)
    return Launch(source, "image", "test", source.span(start, start + length), source.span(start, line_end))


@pytest.mark.parametrize(
    ("text", "marker", "facts"),
    [
        (COMPOSE, "command: --model a", {"vllm-version": "0.20.2", "gpu": "L4"}),
        (COMPOSE, "command: --model b", {"vllm-version": "0.20.2", "gpu": "T4"}),
        (POD, "args: [serve, m", {"concurrency": "4", "context-tokens": "32k", "gpu": "A40"}),
        (POD, "args: [serve, n", {}),
        ("# lint-vllm: gpu=L4\nvllm serve a\n# lint-vllm: gpu=T4\nvllm serve b\n", "vllm serve a", {"gpu": "L4"}),
        ("x\n# lint-vllm: gpu=L4\nvllm serve a\n# lint-vllm: gpu=T4\nvllm serve b\n", "vllm serve b", {"gpu": "T4"}),
    ],
)
def test_scope(text: str, marker: str, facts: dict[str, str]) -> None:
    found = comment_facts(at(text, marker))
    assert {key: fact.value for key, fact in found.stated.items()} == facts
    assert all(fact.origin == "comment in the file" and fact.span is not None for fact in found.stated.values())


@pytest.mark.parametrize(
    ("text", "number"),
    [("4096", 4096), ("32k", 32000), ("32K", 32768), ("1_000", 1000), ("x", None), ("", None), ("-1", None), ("9" * 30, None)],
)
def test_integers(text: str, number: int | None) -> None:
    assert as_integer(text) == number


def test_unknown_keys() -> None:
    found = directives(SourceFile.of("# lint-vllm: gpus=2 contxt=5"))
    assert [fact.key for fact in unknown_keys(found)] == ["contxt"]
