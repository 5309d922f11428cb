"""CUDA graphs: what capturing takes, and whether it comes out of the share or must fit beside it.

Source: vllm v1/worker/gpu_model_runner.py ``profile_cudagraph_memory`` (counted from 0.20 on CUDA, 0.26 on ROCm) and
v1/worker/gpu/model_runner.py (runner V2: 0 up to 0.28); sizes fitted to estimates and captures that logs print.
"""

from __future__ import annotations

from lint_vllm.budget.coefficients import coefficients, spread, times
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.model_runner import model_runner, on_rocm
from lint_vllm.budget.quantity import MIB, Quantity
from lint_vllm.facts import version_key

_NOTHING = Quantity.exact(0)


def captured(config: EngineConfig) -> Quantity:
    """Bytes per GPU of the captured graphs: the estimate that comes out of the share, or else what capturing takes."""
    if config.enforce_eager or config.cudagraph_mode == "NONE" or not config.cudagraph_capture_sizes:
        return _NOTHING
    layers = -(-(config.model.num_layers or 0) // config.pipeline_parallel_size)
    kind = f"estimated_{model_runner(config)}" if inside_share(config) else "captured"
    size = times(spread("graphs", kind), layers * len(config.cudagraph_capture_sizes) * MIB)
    # Without a stated release they may just as well be counted elsewhere.
    return size if config.release_sure else Quantity(0.0, size.likely, size.high)


def inside_share(config: EngineConfig) -> bool:
    """Whether an estimate of the graphs is subtracted before the cache is sized."""
    release = version_key(config.release)
    switch = config.env.get("VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS")
    if switch is not None and switch.strip().lower() in ("0", "false", ""):
        return False
    runner = model_runner(config)
    if runner == "v0" or (runner == "v2" and release < version_key(coefficients()["graphs"]["v2_estimates_since"])):
        return False
    if switch is not None:
        return release >= (0, 18)
    return release >= ((0, 26) if on_rocm(config) else (0, 20))
