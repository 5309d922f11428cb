"""A launch that vLLM refuses before memory matters."""

from __future__ import annotations

from typing import Literal

from lint_vllm.frozen import dataclass

RefusalKind = Literal[
    "arguments",
    "parallel",
    "quant_group",
    "dtype",
    "quantization",  # another method than the checkpoint's, or one that the release lacks
    "quantization_floor",
    "quantization_dtype",
    "kv_cache_dtype",
    "backend",
    "scheduler",
    "max_model_len",
    "other",
]


@dataclass(frozen=True, slots=True)
class Refusal:
    """vLLM refuses the launch before memory matters. ``dests`` are the arguments that decide it, the main one first."""

    kind: RefusalKind
    message: str
    phase: str = "argument parsing"
    dests: tuple[str, ...] = ()
