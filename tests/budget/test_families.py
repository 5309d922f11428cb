"""Families against what vLLM builds: ``built_by_vllm.jsonl`` holds configurations with the bytes of rank 0 and of one full request.

Computed by vllm==0.33.0's own model classes on PyTorch's meta device and its own cache planning, for an H100 with defaults.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lint_vllm.budget.account import account
from lint_vllm.budget.engine_config import EngineConfig, resolve
from lint_vllm.budget.quantity import Quantity
from lint_vllm.budget.runtime import RuntimeEstimate
from lint_vllm.facts.card import Card
from lint_vllm.facts.model_config import from_config
from lint_vllm.known import Unknown

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


def deepseek_v4(**changes: Any) -> Any:
    shape = {
        "architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v4", "vocab_size": 129280, "num_hidden_layers": 4,
        "n_routed_experts": 16, "compress_ratios": [0, 0, 4, 128, 0],
        "quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},
    }  # fmt: skip
    return from_config({**shape, **changes}, "org/model", "config")


def resolved(model: Any, **values: object) -> EngineConfig:
    config = resolve(values, model, H100, None, "0.33.0")
    assert isinstance(config, EngineConfig)
    return config


def test_deepseek_v4_has_weights_and_no_cache_formula() -> None:
    budget = account(resolved(deepseek_v4()), nothing)
    assert budget.weights is not None
    assert budget.weights.likely == 3_563_600_052  # vllm==0.33.0 on the meta device
    assert budget.outcome == "unknown"
    assert budget.unknown == ("the KV cache of DeepseekV4ForCausalLM is not modelled",)


def test_a_model_without_a_cache_formula_still_fails_to_load() -> None:
    whole = deepseek_v4(num_hidden_layers=43, n_routed_experts=256, compress_ratios=None)
    budget = account(resolved(whole), nothing)
    assert (budget.outcome, budget.confidence) == ("oom_load", "certain")


def test_skip_lists_name_layers_under_any_root() -> None:
    llama = {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "intermediate_size": 1024, "vocab_size": 512,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 4, "head_dim": 64, "tie_word_embeddings": False,
    }  # fmt: skip

    def size(*ignored: str) -> float:
        stated = {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head", *ignored]}
        budget = account(resolved(from_config({**llama, "quantization_config": stated}, "org/model", "config")), nothing)
        assert budget.weights is not None
        return budget.weights.likely

    kept = size("model.layers.*.self_attn*")
    assert kept > size()
    assert size("model.language_model.layers.*.self_attn*") == size("language_model.model.layers.*.self_attn*") == kept


def test_an_entry_without_layer_kinds_is_not_judged_by_class_defaults() -> None:
    model = replace(deepseek_v4(), record={"incomplete": ["layer_pattern"]})
    answer = resolve({}, model, H100, None, "0.33.0")
    assert isinstance(answer, Unknown)
    assert "which layers" in answer.reason


def test_an_entry_without_a_length_takes_what_is_asked() -> None:
    model = replace(deepseek_v4(), record={"incomplete": ["max_position_embeddings"]})
    assert isinstance(resolve({}, model, H100, None, "0.33.0"), Unknown)
    assert resolved(model, max_model_len=4096).max_model_len == 4096
