"""Model facts: the shape that weights and cache are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from lint_vllm.frozen import dataclass

NAMED_AS_STORED = ("qwen/", "thebloke/", "hugging-quants/", "casperhansen/", "modelcloud/", "ista-daslab/")
"""Publishers whose model names say the method that their ``config.json`` states."""


@dataclass(frozen=True, slots=True)
class Quantization:
    """How a checkpoint is quantized: ``method`` as vLLM names it (``awq``, ``gptq``, ``fp8``, ``compressed-tensors`` ...)."""

    method: str
    bits: float | None = None
    group_size: int | None = None
    block: tuple[int, int] | None = None
    """FP8 weight block, (rows, columns)."""
    config: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Model:
    """A model as its ``config.json`` (or its catalogue record) describes it; sizes count elements.

    ``config`` is the whole ``config.json`` (or one rebuilt from the catalogue record), ``text`` its language part.
    ``exact`` is False when the facts are those of a base model found by stripping a name's suffix.
    """

    id: str
    origin: str
    exact: bool
    config: Mapping[str, object] = field(repr=False)
    text: Mapping[str, object] = field(repr=False)
    architectures: tuple[str, ...] = ()
    model_type: str = ""
    num_layers: int | None = None
    hidden_size: int | None = None
    attention_heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    intermediate_size: int | None = None
    vocab_size: int | None = None
    max_position_embeddings: int | None = None
    dtype: str | None = None
    """``bfloat16``, ``float16``, ``float32`` as the checkpoint states it."""
    quantization: Quantization | None = None
    mla: bool = False
    experts: int | None = None
    experts_per_token: int | None = None
    hybrid_state: bool = False
    """Has Mamba, linear-attention or short-convolution layers with a state per sequence."""
    multimodal: bool = False
    sliding_window: int | None = None
    gated: bool | None = None
    total_params: int | None = None
    record: Mapping[str, object] | None = field(default=None, repr=False)
    """The catalogue record, where one was used."""

    @property
    def quantization_stated(self) -> bool:
        """Whether the method is the one of its ``config.json``: names say AWQ or FP8 of what is stored as compressed-tensors."""
        by_name = self.record is not None and bool(self.record.get("quantized_by_name"))
        return self.exact and (not by_name or self.id.lower().startswith(NAMED_AS_STORED))

    @property
    def label(self) -> str:
        return self.id if self.exact else f"{self.id} (facts of its base model, {self.origin})"
