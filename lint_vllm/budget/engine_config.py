"""The arguments of one launch as vLLM resolves them, before anything is loaded.

``resolve`` follows ``EngineArgs.create_engine_config`` and the configuration classes behind it (vllm==0.33.0
engine/arg_utils.py, config/model.py, config/scheduler.py, config/vllm.py; earlier releases by ``data/engine.json``): defaults
by card and caller, the derived length, dtype, scheduler and graph sizes, and what these classes refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from lint_vllm.facts.card import Card
from lint_vllm.facts.model import Model

Usage = Literal["server", "LLM"]
RefusalKind = Literal[
    "arguments",
    "parallel",
    "dtype",
    "quantization",
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


@dataclass(frozen=True, slots=True)
class Lora:
    """LoRA buffers, allocated at load for every supported module whether adapters exist or not."""

    max_loras: int = 1
    max_rank: int = 16
    dtype: str = "auto"
    fully_sharded: bool = False
    targets: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Speculative:
    """Speculative decoding: ``draft`` is None for methods without weights of their own (ngram, suffix)."""

    method: str
    tokens: int
    draft: Model | None = None
    draft_id: str | None = None
    draft_tensor_parallel_size: int | None = None


@dataclass(frozen=True, slots=True)
class EngineConfig:
    """One launch on one kind of card and one release, resolved. Sizes are tokens, sequences or bytes.

    ``max_model_len`` is the length asked for or derived; ``auto_length`` says that vLLM shrinks it to what fits.
    ``max_in_flight_tokens`` is what sliding windows keep beside the window. ``utilization`` is the share of the card.
    ``gpu_count`` is what the machine has, None when unknown.
    """

    model: Model
    card: Card | None
    gpu_count: int | None
    release: str
    release_sure: bool = True
    """False when nobody stated the release and the newest known one was taken."""
    usage: Usage = "server"
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    data_parallel_size: int = 1
    prefill_context_parallel_size: int = 1
    decode_context_parallel_size: int = 1
    expert_parallel: bool = False
    redundant_experts: int = 0
    dtype: str = "bfloat16"
    """``bfloat16``, ``float16`` or ``float32``."""
    quantization: str | None = None
    """Method as vLLM names it after its own overrides; ``None`` for a 16-bit model."""
    online_quantization: bool = False
    """A 16-bit checkpoint that is quantized while loading."""
    kv_cache_dtype: str = "auto"
    kv_dtype_skip_layers: tuple[str, ...] = ()
    block_size: int | None = None
    """As given; ``None`` lets the backend decide."""
    max_model_len: int = 2048
    derived_max_model_len: int = 2048
    auto_length: bool = False
    max_num_seqs: int = 256
    max_num_seqs_given: bool = False
    max_num_batched_tokens: int = 2048
    chunked_prefill: bool = True
    prefix_caching: bool = True
    async_scheduling: bool = True
    max_in_flight_tokens: int = 4096
    enforce_eager: bool = False
    optimization_level: int = 2
    cudagraph_mode: str = "FULL_AND_PIECEWISE"
    cudagraph_capture_sizes: tuple[int, ...] = ()
    utilization: float = 0.92
    utilization_given: bool = False
    kv_cache_memory_bytes: int | None = None
    num_gpu_blocks_override: int | None = None
    cpu_offload_gb: float = 0.0
    offload_groups: tuple[int, int] | None = None
    """Prefetch offload: (group size, layers of a group on the host)."""
    enable_sleep_mode: bool = False
    mm_ipc_gpu_memory_gb: float = 0.0
    lora: Lora | None = None
    speculative: Speculative | None = None
    multimodal_limits: Mapping[str, int] = field(default_factory=dict)
    language_model_only: bool = False
    skip_mm_profiling: bool = False
    mm_encoder_tp_data: bool = False
    """``--mm-encoder-tp-mode data``: the encoder is whole on every rank."""
    hybrid_manager: bool = True
    """The hybrid KV cache manager is on."""
    disable_sliding_window: bool = False
    attention_backend: str | None = None
    mamba_cache_dtype: str = "auto"
    mamba_ssm_cache_dtype: str = "auto"
    mamba_block_size: int | None = None
    runner: Literal["generate", "pooling"] = "generate"
    v1: bool = True
    """The V1 engine (always from 0.11.1; V0 before 0.8)."""
    v2_runner: bool = False
    distributed_executor_backend: str | None = None
    nnodes: int = 1
    kv_connector: str | None = None
    """``kv_connector`` of ``--kv-transfer-config``."""
    load_format: str = "auto"
    env: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Plain sentences on what was concluded (dtype on this card ...)."""

    @property
    def world_size(self) -> int:
        """GPUs of one replica."""
        return self.tensor_parallel_size * self.pipeline_parallel_size * self.prefill_context_parallel_size

    @property
    def capability(self) -> tuple[int, int] | None:
        return self.card.capability if self.card is not None else None

    @property
    def dtype_bytes(self) -> int:
        return 4 if self.dtype == "float32" else 2
