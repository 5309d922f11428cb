"""Files made to grow when they are read: they cost little, and are said to be read in part."""

from __future__ import annotations

import pytest

from lint_vllm.extract import extract
from lint_vllm.source import SourceFile


def layers(first: str, layer: str) -> str:
    lines = [f"a0: &a0 {first}\n"]
    lines += [f"a{n}: &a{n} {layer.replace('*', f'*a{n - 1}')}\n" for n in range(1, 12)]
    return "".join(lines)


SERVICE = "services:\n  x:\n    image: vllm/vllm-openai\n    command: "


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (layers("[vllm, serve, m]", "[*,*,*,*,*,*,*,*,*,*]") + SERVICE + "*a11\n", "aliases stand for"),
        (
            layers("{image: vllm/vllm-openai}", "{a: *, b: *, c: *, d: *, e: *, f: *, g: *, h: *}") + "services: *a11\n",
            "aliases stand for",
        ),
        ("vllm: " + "[" * 100_000 + "]" * 100_000, "nested more than"),
        ("vllm: " + "{a: " * 50_000 + "}" * 50_000, "nested more than"),
        ("image: vllm/vllm-openai\na: &a [vllm, *a]\n", ""),
        (SERVICE + "[" + "--max-num-seqs=1," * 11_000 + "]\n", "more than 10,000 words"),
    ],
    ids=["lists", "mappings", "deep list", "deep mapping", "itself", "endless command"],
)
def test_bombs(text: str, said: str) -> None:
    found = extract(SourceFile("compose.yaml", text.encode()))
    assert any(said in problem.reason for problem in found.problems) or not said
    assert sum(len(launch.words) for launch in found.launches) < 100_000


def test_ordinary_anchors_are_followed() -> None:
    text = "x: &x [--model, Qwen/Qwen3-8B]\nservices:\n" + "".join(
        f"  s{n}:\n    image: vllm/vllm-openai\n    command: *x\n" for n in range(300)
    )
    found = extract(SourceFile("compose.yaml", text.encode()))
    assert not found.problems
    assert len(found.launches) == 300
