"""What releases serve, as the tables say it, and that hand-written tables name only what exists."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import pytest

from lint_vllm.budget.verify import contradicts, expert_blocks, kernel_of
from lint_vllm.facts import served
from lint_vllm.facts.conversation import family_of, untemplated
from lint_vllm.facts.driver import stated_driver
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import from_config
from lint_vllm.source import SourceFile


def data(name: str) -> Any:
    return json.loads(resources.files("lint_vllm").joinpath(f"data/{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("architecture", "release", "there"),
    [
        ("Glm4MoeLiteForCausalLM", "0.13.0", False),
        ("Glm4MoeLiteForCausalLM", "0.15.0", True),
        ("LlamaForCausalLM", "0.3.0", True),
        ("InternLMForCausalLM", "0.33.0", False),
        ("GptOssForCausalLM", "0.9.2", False),
    ],
)
def test_architectures_by_release(architecture: str, release: str, there: bool) -> None:
    span = served.served_span(architecture)
    assert span is not None
    assert span.holds(release) is there


def test_an_architecture_that_none_has() -> None:
    assert served.served_span("T5ForConditionalGeneration") is None


@pytest.mark.parametrize(
    ("model_type", "release", "known"),
    [
        ("glm4_moe_lite", "0.15.1", False),
        ("glm4_moe_lite", "0.33.0", True),
        ("kimi_k2", "0.17.0", False),
        ("kimi_k2", "0.18.1", True),
    ],
)
def test_types_by_release(model_type: str, release: str, known: bool) -> None:
    assert served.knows_type(model_type, release) is known


@pytest.mark.parametrize(
    ("method", "release", "capability", "dtypes"),
    [
        ("fp8", "0.8.5", (8, 0), ("bfloat16", "float16")),
        ("fp8", "0.33.0", (7, 5), ("bfloat16", "float16")),
        ("awq", "0.8.5", (7, 5), ("float16",)),
        ("awq", "0.33.0", (7, 5), ("float16", "bfloat16")),
        ("gguf", "0.20.2", (6, 0), None),
    ],
)
def test_floors(method: str, release: str, capability: tuple[int, int], dtypes: tuple[str, ...] | None) -> None:
    assert served.floor(method, release) == served.Floor(capability, dtypes)


def test_a_method_that_left_has_no_floor() -> None:
    assert served.floor("gguf", "0.24.0") is None


@pytest.mark.parametrize(
    ("asked", "stored", "expected"),
    [
        ("awq_marlin", "awq", False),
        ("gptq", "awq", True),
        ("moe_wna16", "gptq", False),
        ("fp8", "compressed-tensors", True),
        ("humming", "awq", False),
        ("marlin", "gptq", False),
    ],
)
def test_methods_that_contradict(asked: str, stored: str, expected: bool) -> None:
    assert contradicts(asked, stored) is expected


def test_the_kernel_follows_card_and_release() -> None:
    assert kernel_of(None, "awq", (8, 9), "0.10.0") == "awq_marlin"
    assert kernel_of(None, "awq", (7, 5), "0.10.0") == "awq"
    assert kernel_of("awq", "awq", (8, 9), "0.10.0") == "awq"
    assert kernel_of(None, None, (8, 9), "0.10.0") is None


def experts(width: int) -> Model:
    config = {
        "model_type": "qwen3_moe",
        "num_experts": 128,
        "moe_intermediate_size": width,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]},
    }
    return from_config(config, "m", "test")


@pytest.mark.parametrize(
    ("width", "ranks", "capability", "release", "refused"),
    [
        (768, 4, (9, 0), "0.19.1", True),
        (768, 4, (9, 0), "0.33.0", False),
        (768, 4, (8, 0), "0.33.0", True),
        (768, 2, (8, 0), "0.19.1", False),
        (1536, 8, None, "0.33.0", False),
        (768, 1, (8, 0), "0.19.1", False),
        (208, 13, (9, 0), "0.33.0", True),
    ],
)
def test_expert_blocks(width: int, ranks: int, capability: tuple[int, int] | None, release: str, refused: bool) -> None:
    assert (expert_blocks(experts(width), ranks, capability, release) is not None) is refused


@pytest.mark.parametrize("kind", ["tool", "reasoning"])
def test_families_name_parsers_that_exist(kind: str) -> None:
    names = data("parsers")[kind]
    for row in data("parser_families")["families"]:
        assert set(row.get(kind, ())) <= set(names), row["name"]


def test_code_is_listed_for_architectures_that_exist() -> None:
    assert set(data("custom_code")["architectures"]) <= set(data("model_support")["architectures"])


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", "Qwen3-Coder, Qwen3.5 and later"),
        ("Qwen/Qwen3-8B", "Qwen3"),
        ("/models/Qwen3.6-27B/", "Qwen3-Coder, Qwen3.5 and later"),
        ("acme/assistant", None),
        ("Qwen/Qwen3-Embedding-8B", None),
    ],
)
def test_families_by_name(model: str, family: str | None) -> None:
    found = family_of(model, "tool")
    assert (found.name if found else None) == family


def test_checkpoints_without_template() -> None:
    assert untemplated("google/gemma-4-31B") is not None
    assert untemplated("google/gemma-4-31B-it") is None
    assert untemplated("meta-llama/Llama-3.1-8B") is not None
    assert untemplated("Qwen/Qwen3-8B") is None


@pytest.mark.parametrize(
    ("text", "driver"),
    [
        ("apt-get install -y nvidia-driver-535-server", "535"),
        ("apt install cuda-drivers-550", "550"),
        ("gpu_driver_version: '570.86.15'", "570.86.15"),
        ('driver:\n  enabled: true\n  version: "535.129.03"\n', "535.129.03"),
        ("# host: NVIDIA driver 525.60.13", "525.60.13"),
        ("nvidia-driver-535 nvidia-driver-580", None),
        ("driver: nvidia\ncount: 1\n", None),
        ("driver_version: $DRIVER", None),
    ],
)
def test_drivers_in_files(text: str, driver: str | None) -> None:
    found = stated_driver(SourceFile.of(text))
    assert (found.value if found else None) == driver
    assert found is None or (found.span is not None and found.span.text == driver)
