"""The arguments of one launch as vLLM resolves them, before anything is loaded.

``resolve`` follows ``EngineArgs.create_engine_config`` and the configuration classes behind it (vllm==0.33.0
engine/arg_utils.py, config/model.py, config/scheduler.py, config/vllm.py; earlier releases by ``data/engine.json``): defaults
by card and caller, the derived length, dtype, scheduler and graph sizes, and what these classes refuse.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal

from lint_vllm.budget import verify
from lint_vllm.budget.dtype import resolve as resolve_dtype
from lint_vllm.budget.length import Length, derive
from lint_vllm.budget.refusal import Refusal, RefusalKind
from lint_vllm.budget.releases import dated, engine_data, since
from lint_vllm.facts.card import Card
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import from_config
from lint_vllm.frozen import dataclass
from lint_vllm.known import Unknown

__all__ = ["EngineConfig", "Lora", "Refusal", "RefusalKind", "Speculative", "Usage", "resolve"]

Usage = Literal["server", "LLM"]


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
    vendor_build: bool = False
    """The release is somebody's own build of that number: its defaults may differ."""
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


# ---- resolving ---------------------------------------------------------------------------------------------------

GENERATE = (
    "ForCausalLM",
    "ForConditionalGeneration",
    "ChatModel",
    "LMHeadModel",
    "ChatGLMModel",
    "LlamaModel",
    "MistralModel",
    "Qwen2Model",
    "Gemma2Model",
)
POOLING_TASKS = ("embed", "embedding", "classify", "score", "reward", "pooling")


def runner_of(values: Mapping[str, Any], model: Model) -> Literal["generate", "pooling"]:
    """Whether the model generates (``_SUFFIX_TO_DEFAULTS`` of config/model.py)."""
    asked = values.get("runner") or "auto"
    if asked in ("generate", "pooling"):
        return "pooling" if asked == "pooling" else "generate"
    if values.get("task") in POOLING_TASKS:
        return "pooling"
    if not model.architectures or any(a.endswith(GENERATE) for a in model.architectures):
        return "generate"
    return "pooling"


def batch_defaults(card: Card | None, release: str, usage: Usage) -> tuple[int, int]:
    """Default batched tokens and sequences by device memory (``get_batch_defaults``)."""
    total = card.total.likely if card is not None else 0
    if card is not None and card.vendor == "amd" and card.unified_memory:
        total = 0  # amdsmi gives the memory carved out for graphics, not what HIP can map (vllm platforms/rocm.py)
    name = card.name.lower() if card is not None else ""
    for tier in engine_data()["batch_defaults"]:
        if total < tier["min_gib"] * 2**30:
            continue
        if tier["tier"] == "largest" and not since("largest_card_tier", release):
            continue
        if tier["tier"] == "large":
            if "a100" in name and since("a100_is_small", release):
                continue
            if "gb10" in name and since("gb10_is_small", release):
                continue
        # the first V1 releases ran 1024 sequences on every card (vllm-project/vllm#15105)
        few = since("few_sequences_on_small_cards", release)
        return int(tier["tokens"][usage]), int(tier["sequences"]) if few else 1024
    return 2048, 256


def capture_sizes(tokens: int, sequences: int, query: int, card: Card | None, given: object, largest: object) -> tuple[int, ...]:
    """CUDA graph sizes (``_set_cudagraph_sizes``)."""
    if isinstance(given, (list, tuple)) and given:
        return tuple(sorted({int(g) for g in given if int(g) <= tokens}))
    ceiling = 1024 if card is not None and card.capability is not None and card.capability[0] == 10 else 512
    most = int(largest) if isinstance(largest, int) and largest > 0 else min(sequences * query * 2, ceiling)
    most = min(most, tokens)
    sizes = [i for i in (1, 2, 4) if i <= most]
    sizes += list(range(8, min(most + 1, 256), 8)) + list(range(256, most + 1, 16))
    extra = [tokens] if tokens <= most else []
    if not isinstance(largest, int) and query == 1 and sequences <= most:
        extra.append(sequences)
    return tuple(sorted({*sizes, *extra}))


def overridden(model: Model, overrides: object) -> Model:
    """The model with ``--hf-overrides`` applied."""
    if not isinstance(overrides, Mapping) or not overrides:
        return model

    def merge(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
        out = dict(base)
        for key, item in change.items():
            inner = out.get(key)
            out[key] = (
                merge(inner, item)
                if isinstance(item, Mapping) and isinstance(inner, Mapping) and not key.startswith("rope")
                else item
            )
        return out

    return from_config(merge(model.config, overrides), model.id, model.origin, model.exact, model.record)


def whole(values: Mapping[str, Any], dest: str, default: int) -> int:
    found = values.get(dest)
    return int(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else default


def resolve(
    values: Mapping[str, object], model: Model, card: Card | None, gpu_count: int | None, release: str, env: Mapping[str, str] | None = None,
    usage: Usage = "server", drafts: Mapping[str, Model] | None = None,
) -> EngineConfig | Refusal | Unknown:  # fmt: skip
    """What vLLM makes of arguments. ``values`` is dest -> typed value with defaults left out; ``drafts`` are the models that a
    speculative configuration names, by id. A value that is ``Unknown`` and matters makes the answer ``Unknown``."""
    for dest in MATTERS:
        item = values.get(dest)
        if isinstance(item, Unknown):
            return Unknown(f"--{dest.replace('_', '-')}: {item.reason}")
    environment = dict(env or {})
    given: dict[str, Any] = {k: v for k, v in values.items() if v is not None}
    model = overridden(model, given.get("hf_overrides"))
    runner = runner_of(given, model)
    pooling = runner == "pooling"
    notes: list[str] = []

    chosen = resolve_dtype(str(given.get("dtype", "auto")), model, card, pooling)
    if isinstance(chosen, Refusal):
        return chosen
    dtype, note = chosen
    if note:
        notes.append(note)

    missing = (model.record or {}).get("incomplete")
    missing = missing if isinstance(missing, list) else []
    if "layer_pattern" in missing:
        return Unknown(f"the catalogue does not say which layers of {model.id} are of which kind: its config.json is needed")
    if "max_position_embeddings" in missing:
        asked_length = whole(given, "max_model_len", 0)
        if asked_length < 1:
            return Unknown(f"the catalogue does not state the length of {model.id}: its config.json or --max-model-len is needed")
        length: Length | Refusal = Length(asked_length, asked_length, False, "--max-model-len")
    else:
        length = derive(model, given, release, environment)
    if isinstance(length, Refusal):
        return length

    quantization = verify.quantization(given, model, card, dtype, release)
    if isinstance(quantization, Refusal):
        return quantization
    method, online = quantization

    tp, pp = whole(given, "tensor_parallel_size", 1), whole(given, "pipeline_parallel_size", 1)
    dp, pcp = whole(given, "data_parallel_size", 1), whole(given, "prefill_context_parallel_size", 1)
    dcp = whole(given, "decode_context_parallel_size", 1)
    expert_parallel = bool(given.get("enable_expert_parallel"))
    parallel = verify.parallel(given, model, gpu_count, tp, pp, dp, pcp, dcp, expert_parallel)
    if parallel is not None:
        return parallel

    encoder = str(model.text.get("model_type")) in ("bert", "roberta", "xlm-roberta", "modernbert", "nomic_bert", "new")
    encoder_decoder = bool(model.config.get("is_encoder_decoder")) or any(
        a.startswith(("Whisper", "Mllama")) for a in model.architectures
    )
    attention_free = str(model.text.get("model_type")) in ("mamba", "falcon_mamba", "mamba2")
    chunkable = not (encoder or encoder_decoder)
    v1 = since("v1_engine", release) and environment.get("VLLM_USE_V1", "1") != "0"
    if model.model_type in engine_data()["v0_only"]:
        v1 = False
    if model.hybrid_state and "VLLM_USE_V1" not in environment:
        v1 = v1 and since("v1_hybrid", release)
    chunked_default = chunkable and (v1 or length.max_model_len > 32768)
    chunked = bool(given["enable_chunked_prefill"]) if "enable_chunked_prefill" in given else chunked_default
    prefix_default = chunkable and not attention_free and v1 and (not model.hybrid_state or since("mamba_prefix_caching", release))
    prefix = bool(given["enable_prefix_caching"]) if "enable_prefix_caching" in given else prefix_default

    tokens_given, sequences_given = given.get("max_num_batched_tokens"), given.get("max_num_seqs")
    tokens, sequences = batch_defaults(card, release, usage) if v1 else (2048 if chunked else max(length.max_model_len, 2048), 256)
    if given.get("performance_mode") == "throughput":
        tokens, sequences = tokens * 2, sequences * 2
    if sequences_given is not None:
        sequences = int(sequences_given)
    if tokens_given is None:
        if not chunked:
            tokens = max(length.max_model_len, tokens)
        if model.multimodal and model.model_type in engine_data()["least_batched_tokens"]:
            tokens = max(tokens, int(engine_data()["least_batched_tokens"][model.model_type]))
        tokens = max(1, min(sequences * length.max_model_len, tokens))
    else:
        tokens = int(tokens_given)
    if sequences_given is None:
        sequences = min(sequences, tokens)
    scheduler = verify.scheduler(given, tokens, sequences, length.max_model_len, chunked, model, prefix)
    if scheduler is not None:
        return scheduler

    kv_dtype = verify.kv_dtype(given, model, dtype, card, release)
    if isinstance(kv_dtype, Refusal):
        return kv_dtype

    speculative = speculative_of(given, drafts or {})
    asked = given.get("async_scheduling")
    executor = given.get("distributed_executor_backend")
    v2 = since("v2_model_runner", release) and environment.get("VLLM_USE_V2_MODEL_RUNNER", "1") != "0"
    if speculative is not None and speculative.method in ("suffix", "custom_class"):
        v2 = False
    asynchronous = since("async_scheduling", release) and not pooling and executor != "ray" and (v2 or pp == 1)
    if asked is not None:
        asynchronous = bool(asked)
    batches = pp
    if asynchronous:
        batches = pp + 1 if v2 else (2 if pp == 1 else pp)
    flight = batches * tokens if since("in_flight_counts_batches", release) else tokens

    query = 1 + (speculative.tokens if speculative is not None else 0)
    compilation = given.get("compilation_config")
    compilation = compilation if isinstance(compilation, Mapping) else {}
    eager = bool(given.get("enforce_eager"))
    level = optimization_level(given)
    mode = graph_mode(eager, level, compilation, release)
    if mode == "FULL_AND_PIECEWISE" and "cudagraph_mode" not in compilation:
        mode = "PIECEWISE" if pooling else "FULL_DECODE_ONLY" if encoder_decoder else mode
    sizes: tuple[int, ...] = ()
    if mode != "NONE":
        wanted = given.get("cudagraph_capture_sizes") or given.get("cuda_graph_sizes") or compilation.get("cudagraph_capture_sizes")
        largest = given.get("max_cudagraph_capture_size") or compilation.get("max_cudagraph_capture_size")
        if largest is None:
            largest = engine_data()["most_captured"].get(model.model_type)
        sizes = capture_sizes(tokens, sequences, query, card, wanted, largest)

    lora = None
    if given.get("enable_lora"):
        targets = given.get("lora_target_modules")
        lora = Lora(
            whole(given, "max_loras", 1),
            whole(given, "max_lora_rank", 16),
            str(given.get("lora_dtype", "auto")),
            bool(given.get("fully_sharded_loras")),
            tuple(str(t) for t in targets) if isinstance(targets, (list, tuple)) else None,
        )
    offload = whole(given, "offload_group_size", 0)
    limits = given.get("limit_mm_per_prompt")
    eplb = given.get("eplb_config")
    redundant = whole(eplb, "num_redundant_experts", 0) if isinstance(eplb, Mapping) else whole(given, "num_redundant_experts", 0)
    utilization = given.get("gpu_memory_utilization")
    return EngineConfig(
        model=model,
        card=card,
        gpu_count=gpu_count,
        release=release,
        usage=usage,
        tensor_parallel_size=tp,
        pipeline_parallel_size=pp,
        data_parallel_size=dp,
        prefill_context_parallel_size=pcp,
        decode_context_parallel_size=dcp,
        expert_parallel=expert_parallel,
        redundant_experts=redundant,
        dtype=dtype,
        quantization=method,
        online_quantization=online,
        kv_cache_dtype=kv_dtype[0],
        kv_dtype_skip_layers=kv_dtype[1],
        block_size=int(given["block_size"]) if isinstance(given.get("block_size"), int) else None,
        max_model_len=length.max_model_len,
        derived_max_model_len=length.derived,
        auto_length=length.automatic,
        max_num_seqs=sequences,
        max_num_seqs_given=sequences_given is not None,
        max_num_batched_tokens=tokens,
        chunked_prefill=chunked,
        prefix_caching=prefix,
        async_scheduling=asynchronous,
        max_in_flight_tokens=flight,
        enforce_eager=eager,
        optimization_level=level,
        cudagraph_mode=mode,
        cudagraph_capture_sizes=sizes,
        utilization=float(utilization)
        if isinstance(utilization, (int, float))
        else float(dated("gpu_memory_utilization", release)),
        utilization_given=utilization is not None,
        kv_cache_memory_bytes=int(given["kv_cache_memory_bytes"])
        if isinstance(given.get("kv_cache_memory_bytes"), (int, float))
        else None,
        num_gpu_blocks_override=int(given["num_gpu_blocks_override"])
        if isinstance(given.get("num_gpu_blocks_override"), int)
        else None,
        cpu_offload_gb=float(given.get("cpu_offload_gb") or 0),
        offload_groups=(offload, whole(given, "offload_num_in_group", 1)) if offload else None,
        enable_sleep_mode=bool(given.get("enable_sleep_mode")),
        mm_ipc_gpu_memory_gb=float(given.get("mm_ipc_gpu_memory_gb") or 0),
        lora=lora,
        speculative=speculative,
        multimodal_limits={str(k): int(v) for k, v in limits.items() if isinstance(v, (int, float))}
        if isinstance(limits, Mapping)
        else {},
        language_model_only=bool(given.get("language_model_only")),
        skip_mm_profiling=bool(given.get("skip_mm_profiling")),
        mm_encoder_tp_data=given.get("mm_encoder_tp_mode") == "data",
        hybrid_manager=hybrid_manager(given, release),
        disable_sliding_window=bool(given.get("disable_sliding_window")),
        attention_backend=str(given["attention_backend"])
        if given.get("attention_backend")
        else environment.get("VLLM_ATTENTION_BACKEND"),
        mamba_cache_dtype=str(given.get("mamba_cache_dtype", "auto")),
        mamba_ssm_cache_dtype=str(given.get("mamba_ssm_cache_dtype", "auto")),
        mamba_block_size=int(given["mamba_block_size"]) if isinstance(given.get("mamba_block_size"), int) else None,
        runner=runner,
        v1=v1,
        v2_runner=v2,
        distributed_executor_backend=str(executor) if executor else None,
        nnodes=whole(given, "nnodes", 1),
        load_format=str(given.get("load_format", "auto")),
        env=environment,
        notes=tuple(notes),
    )


MATTERS = (
    "tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size", "decode_context_parallel_size",
    "prefill_context_parallel_size", "dtype", "quantization", "kv_cache_dtype", "block_size", "max_model_len", "max_num_seqs",
    "max_num_batched_tokens", "gpu_memory_utilization", "kv_cache_memory_bytes", "num_gpu_blocks_override", "cpu_offload_gb",
    "enable_expert_parallel", "hf_overrides", "speculative_config", "enable_lora", "max_loras", "max_lora_rank", "enforce_eager",
    "enable_chunked_prefill", "enable_prefix_caching", "performance_mode", "limit_mm_per_prompt", "disable_hybrid_kv_cache_manager",
)  # fmt: skip
"""Arguments without which bytes cannot be told when their value is unknown."""


def optimization_level(given: Mapping[str, Any]) -> int:
    level = given.get("optimization_level", 2)
    if isinstance(level, str):
        level = level.lstrip("Oo")
    try:
        return int(level)
    except (TypeError, ValueError):
        return 2


def graph_mode(eager: bool, level: int, compilation: Mapping[str, Any], release: str) -> str:
    """The CUDA graph mode by optimization level and configuration."""
    stated = compilation.get("cudagraph_mode")
    if eager or level == 0:
        return "NONE"
    if isinstance(stated, str):
        return stated.upper()
    if level == 1 or not since("full_and_piecewise_graphs", release):
        return "PIECEWISE"
    return "FULL_AND_PIECEWISE"


def hybrid_manager(given: Mapping[str, Any], release: str) -> bool:
    if not since("hybrid_manager", release):
        return False
    return not given.get("disable_hybrid_kv_cache_manager")


def speculative_of(given: Mapping[str, Any], drafts: Mapping[str, Model]) -> Speculative | None:
    """Speculative settings from the JSON argument or its shorthands."""
    config = given.get("speculative_config")
    config = dict(config) if isinstance(config, Mapping) else {}
    for dest, key in (("spec_method", "method"), ("spec_model", "model"), ("spec_tokens", "num_speculative_tokens"),
                      ("speculative_model", "model"), ("num_speculative_tokens", "num_speculative_tokens"),
                      ("speculative_draft_tensor_parallel_size", "draft_tensor_parallel_size")):  # fmt: skip
        if given.get(dest) is not None:
            config.setdefault(key, given[dest])
    if not config:
        return None
    draft = config.get("model")
    method = str(config.get("method") or ("ngram" if draft in ("ngram", "[ngram]") else "draft_model"))
    tokens = config.get("num_speculative_tokens")
    name = str(draft) if draft and draft not in ("ngram", "[ngram]") else None
    tp = config.get("draft_tensor_parallel_size")
    return Speculative(
        method, int(tokens) if isinstance(tokens, int) else 1, drafts.get(name or ""), name, tp if isinstance(tp, int) else None
    )
