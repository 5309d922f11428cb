"""What loading needs beside the weights that stay: shards on their way, repacking, online quantization.

Judged against the whole card, not the share: loading ignores the utilization.
"""

from __future__ import annotations

from lint_vllm.budget.coefficients import gib, spread
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.quantity import Quantity
from lint_vllm.facts import version_key

_REPACKED = ("marlin", "awq", "gptq", "compressed-tensors", "modelopt", "mxfp4", "moe_wna16", "nvfp4", "quark", "inc")


def while_loading(config: EngineConfig, weights: Quantity | None = None) -> Quantity:
    """Bytes per GPU at the peak of loading above ``weights``, the bytes that stay (which set the size of a layer).

    Includes the CUDA context, which the card must hold beside everything else.
    """
    extra = gib("load", "shard_gib") + gib("load", "context_gib")
    if weights is None:
        return extra
    layers = max(1, (config.model.num_layers or 1) // config.pipeline_parallel_size)
    if config.online_quantization:
        # Before 0.14 every layer was built in 16 bit and quantized afterwards; since then layer by layer.
        whole = weights.scaled(0.9)
        added = Quantity(0.0, whole.likely, whole.high) if version_key(config.release) < (0, 14) else weights.scaled(2 / layers)
        return extra + added
    if config.quantization and any(name in config.quantization for name in _REPACKED):
        share = spread("load", "repack_share")
        return extra + Quantity(0.0, weights.likely * max(share.likely, 1 / layers), weights.high * max(share.high, 2 / layers))
    return extra
