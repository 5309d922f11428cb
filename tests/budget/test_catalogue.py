"""The shipped catalogue: every name is found by bisection, other spellings lead to the right facts."""

from __future__ import annotations

from pathlib import Path

import pytest

import lint_vllm
from lint_vllm.facts import catalogue

INDEX = Path(lint_vllm.__file__).parent / "data" / "models.index"


def test_every_name_is_found() -> None:
    for line in INDEX.read_bytes().splitlines():
        name, offset, length = line.split(b"\t")
        assert catalogue._bisect(name) == (int(offset), int(length))


@pytest.mark.parametrize("name", ["", "a", "zzzz/zzzz", "Qwen/Qwen2.5-7B-Instruct-", "\u00e4/\u00e4"])
def test_other_names_are_not(name: str) -> None:
    assert catalogue.record(name) is None


def test_case_does_not_matter() -> None:
    model = catalogue.find("qwen/qwen2.5-7b-INSTRUCT")
    assert model is not None
    assert model.exact
    assert model.num_layers == 28


@pytest.mark.parametrize(
    ("name", "method", "bits"),
    [
        ("somebody/Qwen2.5-7B-Instruct-AWQ", "awq", 4),
        ("somebody/Qwen3-8B-GPTQ-Int8", "gptq", 8),
        ("somebody/Meta-Llama-3.1-8B-Instruct-FP8-dynamic", "fp8", 8),
        ("somebody/Qwen3-8B-quantized.w4a16", "compressed-tensors", 4),
        ("somebody/Qwen3-8B-bnb-4bit", "bitsandbytes", 4),
        ("somebody/Qwen3-8B-GGUF", "gguf", None),
    ],
)
def test_a_suffix_says_the_quantization_of_a_base_model(name: str, method: str, bits: int | None) -> None:
    model = catalogue.find(name)
    assert model is not None
    assert not model.exact
    assert model.quantization is not None
    assert (model.quantization.method, model.quantization.bits) == (method, bits)
    assert "catalogue" in model.origin


def test_siblings_are_quantized_checkpoints_of_the_same_model() -> None:
    model = catalogue.find("Qwen/Qwen2.5-7B-Instruct")
    assert model is not None
    found = list(catalogue.siblings(model))
    assert found
    assert all(other.quantization is not None and other.num_layers == model.num_layers for other in found)
