"""Families against what vLLM builds: ``built_by_vllm.jsonl`` holds configurations with the bytes of rank 0 and of one full request.

Computed by vllm==0.33.0's own model classes on PyTorch's meta device and its own cache planning, for an H100 with defaults.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lint_vllm.budget.account import account
from lint_vllm.budget.engine_config import EngineConfig, resolve
from lint_vllm.budget.quantity import Quantity
from lint_vllm.budget.runtime import RuntimeEstimate
from lint_vllm.facts.card import Card
from lint_vllm.facts.model_config import from_config

H100 = Card("NVIDIA H100 80GB HBM3", "nvidia", Quantity.exact(85_017_493_504), (9, 0))
BUILT = [json.loads(line) for line in Path(__file__).with_name("built_by_vllm.jsonl").read_text("utf-8").splitlines()]


def nothing(config: EngineConfig, weights: Quantity | None = None) -> RuntimeEstimate:
    zero = Quantity.exact(0)
    return RuntimeEstimate(zero, zero, zero, zero, zero, True)


def name(case: dict[str, Any]) -> str:
    return f"{case['config']['model_type']}-{case['config']['architectures'][0]}-tp{case['tp']}"


@pytest.mark.parametrize("case", BUILT, ids=name)
def test_a_family_takes_what_vllm_builds(case: dict[str, Any]) -> None:
    model = from_config(case["config"], "org/model", "config")
    config = resolve({"tensor_parallel_size": case["tp"], "kv_cache_memory_bytes": 1}, model, H100, None, "0.33.0")
    assert isinstance(config, EngineConfig)
    budget = account(config, nothing)
    assert budget.weights is not None
    assert budget.weights.likely == pytest.approx(case["weights"], rel=1e-4)
    assert budget.bytes_per_sequence == case["kv"]
