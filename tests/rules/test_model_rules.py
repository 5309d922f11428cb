"""Model and hardware rules where an example of the rule is not enough: severities, and what counts as evidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from lint_vllm.diagnostic import Severity
from lint_vllm.registry import find
from lint_vllm.rule import Bad
from lint_vllm.testing import lint_example


def severities(code: str, example: Bad, folder: Path) -> list[Severity]:
    rule = find(code)
    assert rule is not None
    return [d.severity for d in lint_example(rule, example, folder).shown if d.code == code]


@pytest.mark.parametrize(
    ("code", "source", "facts", "expected"),
    [
        # a base model's facts are likely, not certain
        ("MDL010", "vllm serve acme/gemma-3-27b-it --tensor-parallel-size 3\n", {}, [Severity.WARNING]),
        ("MDL010", "vllm serve google/gemma-3-27b-it --tensor-parallel-size 3\n", {}, [Severity.ERROR]),
        # without a stated release a dated refusal is a warning
        ("MDL030", "vllm serve ./m.gguf\n", {}, [Severity.WARNING]),
        ("MDL030", "vllm serve ./m.gguf\n", {"vllm_version": "0.33.0"}, [Severity.ERROR]),
        ("MDL035", "vllm serve google/gemma-2-9b-it --dtype half\n", {"vllm_version": "0.8.5"}, [Severity.WARNING]),
        # the name alone does not say how a checkpoint is stored
        ("MDL031", "vllm serve acme/Qwen3-8B-AWQ --quantization compressed-tensors\n", {"vllm_version": "0.33.0"}, []),
        # a model that nothing names is the release's default: nobody chose it
        ("MDL001", "vllm serve --max-model-len 999999\n", {"vllm_version": "0.33.0"}, []),
        # the refusal of an older release is not the newer one's
        ("HW021", "vllm serve Qwen/Qwen3-8B --dtype half --quantization fp8\n", {"vllm_version": "0.13.0", "gpu": "Tesla T4"}, [2]),
        ("HW021", "vllm serve Qwen/Qwen3-8B --dtype half --quantization fp8\n", {"vllm_version": "0.14.0", "gpu": "Tesla T4"}, []),
        # a wheel can be compiled for the card, an official image is what it is
        ("HW002", "vllm serve Qwen/Qwen3-8B\n", {"vllm_version": "0.8.5", "gpu": "RTX 5090"}, [Severity.WARNING]),
        ("MDL020", "vllm serve Qwen/Qwen3-8B\n", {"vllm_version": "0.8.3"}, []),
    ],
)
def test_severity(code: str, source: str, facts: dict[str, str], expected: list[Severity], tmp_path: Path) -> None:
    assert severities(code, Bad(source, facts=facts), tmp_path) == expected


def test_mounted_adapters_are_found(tmp_path: Path) -> None:
    source = (
        "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n    volumes:\n      - ./adapters:/adapters\n"
        "    command:\n      - Qwen/Qwen3-8B\n      - --enable-lora\n      - --lora-modules\n      - sql=/adapters/sql\n"
    )
    files = {"adapters/sql/adapter_config.json": '{"r": 8, "rank_pattern": {"q_proj": 64}}'}
    assert severities("MDL060", Bad(source, name="compose.yaml", files=files), tmp_path) == [Severity.ERROR]


def test_a_path_in_a_constant_is_read(tmp_path: Path) -> None:
    source = (
        "from vllm import LLM\nfrom vllm.lora.request import LoRARequest\n\nADAPTER = 'adapters/sql'\n"
        "llm = LLM('Qwen/Qwen3-8B', enable_lora=True)\nllm.generate('x', lora_request=LoRARequest('sql', 1, lora_path=ADAPTER))\n"
    )
    files = {"adapters/sql/adapter_config.json": '{"r": 32}'}
    assert severities("MDL060", Bad(source, name="run.py", files=files), tmp_path) == [Severity.ERROR]
