"""The comparison of models, widths and cards: its table, and whose figures each line shows."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lint_vllm.cli.group import run
from lint_vllm.compare import compare, variants
from lint_vllm.request import Request
from lint_vllm.settings import Stated

EXPECTED = Path(__file__).parent / "expected"
MODELS = ("Qwen/Qwen2.5-7B-Instruct", "openai/gpt-oss-20b", "nobody/nothing")


@pytest.mark.parametrize(
    ("model", "bits", "name", "how"),
    [
        ("Qwen/Qwen2.5-7B-Instruct", 16, "Qwen/Qwen2.5-7B-Instruct", "as published"),
        ("Qwen/Qwen2.5-7B-Instruct", 4, "Qwen/Qwen2.5-7B-Instruct-AWQ", "published: Qwen/Qwen2.5-7B-Instruct-AWQ"),
        ("Qwen/Qwen3-32B-AWQ", 4, "Qwen/Qwen3-32B-AWQ", "as published"),
        ("Qwen/Qwen3-32B-AWQ", 16, "Qwen/Qwen3-32B", "the base model Qwen/Qwen3-32B"),
        ("openai/gpt-oss-20b", 4, "openai/gpt-oss-20b", "as published"),
        ("openai/gpt-oss-20b", 8, None, "published with 4-bit weights only"),
        ("openai/gpt-oss-20b", 16, None, "published with 4-bit weights only"),
        ("nobody/nothing", 8, None, "not in the catalogue, so its quantized shape is not known"),
    ],
)
def test_whose_figures(model: str, bits: int, name: str | None, how: str) -> None:
    (variant,) = variants(model, [bits])
    assert (variant.name, variant.how) == (name, how)


def test_formula_where_nothing_is_published() -> None:
    (variant,) = variants("meta-llama/Llama-3.1-70B-Instruct", [4])
    assert variant.how == "formula: meta-llama/Llama-3.1-70B-Instruct as AWQ, groups of 128"
    wide, narrow = compare(["meta-llama/Llama-3.1-70B-Instruct"], [16, 4], 8192, 2, Request(isolated=True))
    assert wide.budget is not None
    assert narrow.budget is not None
    assert wide.budget.weights is not None
    assert narrow.budget.weights is not None
    assert 3 < wide.budget.weights.likely / narrow.budget.weights.likely < 4
    assert wide.budget.bytes_per_sequence == narrow.budget.bytes_per_sequence


def test_more_context_never_holds_more() -> None:
    request = Request(Stated(gpu="H100"), isolated=True)
    held = []
    for context in (4096, 8192, 16384, 32768):
        (row,) = compare(["Qwen/Qwen2.5-7B-Instruct"], [16], context, 1, request)
        assert row.budget is not None
        assert row.budget.max_concurrency is not None
        held.append(row.budget.max_concurrency.likely)
    assert held == sorted(held, reverse=True)


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_outputs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], form: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["budget", "--isolated", "--compare", *MODELS, "--context", "8192", "--concurrency", "2", "--format", form]) == 0
    path = EXPECTED / f"{form}.txt"
    text = capsys.readouterr().out
    if os.environ.get("UPDATE_EXPECTED"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    argv = ["budget", "--isolated", "--compare", "Qwen/Qwen2.5-7B-Instruct", "--gpu", "RTX 4090,H100", "--quant", "16,4"]
    assert run([*argv, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["context"], document["concurrency"]) == (32768, 4)
    assert [(row["bits"], row["budget"]["gpu"]["name"]) for row in document["rows"]] == [
        (16, "NVIDIA GeForce RTX 4090"),
        (16, "H100"),
        (4, "NVIDIA GeForce RTX 4090"),
        (4, "H100"),
    ]
    assert all(row["budget"]["demand"]["sequences"] == 4 for row in document["rows"])
    assert document["rows"][3]["verdict"] == "holds 4"


@pytest.mark.parametrize(
    "arguments",
    [["--compare"], ["--compare", "m", "--quant", "5"], ["--compare", "m", "--context", "0"], ["--format", "markdown"]],
)
def test_usage_errors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["budget", "--isolated", *arguments]) == 2
