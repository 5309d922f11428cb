"""Which of vLLM's engines and model runners a launch runs on: they measure memory differently.

Source: vllm config/vllm.py ``use_v2_model_runner`` of 0.22 to 0.33 (``data/runtime.json``, runner).
"""

from __future__ import annotations

from typing import Any, Literal

from lint_vllm.budget.coefficients import coefficients, newest
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.facts import version_key

ModelRunner = Literal["v0", "v1", "v2"]


def model_runner(config: EngineConfig) -> ModelRunner:
    """The runner that vLLM picks for a launch when nothing forces another."""
    if not config.v1:
        return "v0"
    forced = config.env.get("VLLM_USE_V2_MODEL_RUNNER")
    if forced is not None and version_key(config.release) >= (0, 12):
        return "v2" if forced.strip() == "1" else "v1"
    rule: dict[str, Any] = newest(coefficients()["runner"]["v2"], config.release)
    if config.speculative is not None and config.speculative.method in ("ngram", "ngram_gpu", "suffix"):
        return "v1"
    architectures = set(config.model.architectures)
    if rule.get("everything"):
        return "v1" if on_rocm(config) and architectures & set(rule["not_on_rocm"]) else "v2"
    if config.runner != "generate":
        return "v1"
    if architectures & set(rule["architectures"]):
        return "v1" if rule.get("unquantized_only") and config.quantization else "v2"
    return "v2" if rule.get("any_dense") and not config.model.experts and not config.model.hybrid_state else "v1"


def on_rocm(config: EngineConfig) -> bool:
    return config.card is not None and config.card.vendor == "amd"
