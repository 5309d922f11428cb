"""CUDA graphs: what capturing takes, and whether it comes out of the share or must fit beside it.

Source: vllm v1/worker/gpu_model_runner.py ``profile_cudagraph_memory`` (counted from 0.20 on CUDA, 0.26 on ROCm);
sizes fitted to captures that logs print.
"""

from __future__ import annotations

from lint_vllm.budget.coefficients import spread, times
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.quantity import MIB, Quantity
from lint_vllm.facts import version_key

_NOTHING = Quantity.exact(0)


def captured(config: EngineConfig) -> Quantity:
    """Bytes per GPU that the captured graphs take, wherever they are counted."""
    if config.enforce_eager or config.cudagraph_mode == "NONE" or not config.cudagraph_capture_sizes:
        return _NOTHING
    layers = config.model.num_layers or 0
    if config.pipeline_parallel_size > 1:
        layers = -(-layers // config.pipeline_parallel_size)
    amount = layers * len(config.cudagraph_capture_sizes) * MIB
    kept = spread("graphs", "mib_per_layer_and_size")
    floor = spread("graphs", "floor_mib").scaled(MIB)
    return times(kept, amount) + floor


def inside_share(config: EngineConfig) -> bool:
    """Whether the release subtracts an estimate of the graphs before it sizes the cache."""
    switch = config.env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS")
    if switch is not None and version_key(config.release) >= (0, 18):
        return switch.strip().lower() not in ("0", "false", "")
    rocm = config.card is not None and config.card.vendor == "amd"
    return version_key(config.release) >= ((0, 26) if rocm else (0, 20))
