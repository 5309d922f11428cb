"""One GPU's account: weights, cache, what vLLM measures, and the verdict.

``account`` joins the formula items (``weights``, ``kv_cache``) with the measured ones (``runtime``) and walks through what vLLM
does: checks of arguments, loading, the free-memory check, profiling, KV sizing (vllm==0.33.0 v1/worker/gpu_worker.py,
v1/core/kv_cache_planning.py). A failure is *certain* when even the optimistic end of every interval fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Literal, Protocol

from lint_vllm.budget import backends
from lint_vllm.budget.backends import Backend
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.kv_cache import KvPlan, plan, state_bytes
from lint_vllm.budget.ledger import CacheLayer
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.refusal import Refusal
from lint_vllm.budget.releases import since
from lint_vllm.budget.result import Budget, Confidence, Demand, Outcome
from lint_vllm.budget.runtime import RuntimeEstimate, combined
from lint_vllm.budget.weights import Weights, weights
from lint_vllm.facts.model_config import positive
from lint_vllm.frozen import dataclass
from lint_vllm.known import Unknown

PHASES: dict[Outcome, str] = {
    "starts": "",
    "refused_kv": "KV sizing",
    "refused_free_memory": "free-memory check",
    "oom_load": "weight loading",
    "oom_profile": "profiling",
    "oom_runtime": "serving",
    "arg_error": "argument parsing",
    "unknown": "",
}


class Runtime(Protocol):
    """Where the measured items come from: ``lint_vllm.budget.runtime``, or a calibration."""

    def __call__(self, config: EngineConfig, weights: Quantity | None = None) -> RuntimeEstimate: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """Sequences and context that somebody stated; the context counts as ``max_model_len`` where only sequences were."""

    sequences: int
    context: int | None
    origin: str
    stated: bool


GPU_UNKNOWN = "the GPU is unknown"


def account(config: EngineConfig, runtime: Runtime, asked: Asked | None = None) -> Budget:
    """The budget of one launch on one kind of card."""
    base = Budget(
        outcome="unknown",
        confidence="certain",
        utilization=config.utilization,
        max_model_len=config.max_model_len,
        derived_max_model_len=config.derived_max_model_len,
        max_num_seqs=config.max_num_seqs,
        max_num_batched_tokens=config.max_num_batched_tokens,
        world_size=config.world_size,
        details=config.notes,
    )
    loaded = weights(config)
    if isinstance(loaded, Refusal):
        return refused(loaded, base, config)
    caches: tuple[CacheLayer, ...] = () if isinstance(loaded, Unknown) else loaded.caches
    if isinstance(loaded, Unknown):
        layers = cache_without_weights(config)
        if layers is None:
            return replace(base, unknown=(loaded.reason,))
        caches = layers
    if not isinstance(loaded, Unknown) and any(cache.kind == "unknown" for cache in caches):
        return weights_alone(config, loaded, runtime, base)
    states = 0
    if not config.v1:
        # V0 keeps one state a sequence beside the pool, allocated in the profile run (model_executor/models/mamba_cache.py).
        states = config.max_num_seqs * sum(state_bytes(cache, config) for cache in caches if cache.kind == "state")
        caches = tuple(cache for cache in caches if cache.kind != "state")
    chosen = backend_of(config, caches)
    if isinstance(chosen, Refusal):
        partial = base if isinstance(loaded, Unknown) else replace(base, weights=loaded.bytes)
        return refused(chosen, partial, config)
    stages = () if isinstance(loaded, Unknown) else loaded.ranges
    layout = plan(caches, config, chosen, lambda index: not stages or len(stages) == 1 or index in stages[0])
    if isinstance(layout, Refusal):
        partial = base if isinstance(loaded, Unknown) else replace(base, weights=loaded.bytes)
        return refused(layout, partial, config, "refused_kv" if layout.phase == "KV sizing" else "arg_error")
    base = replace(
        base,
        bytes_per_sequence=layout.request_bytes(config.max_model_len),
        bytes_per_block=layout.bytes_per_block,
        block_size=layout.block_size,
    )
    return judged(config, loaded, layout, runtime, asked, base, states)


def weights_alone(config: EngineConfig, loaded: Weights, runtime: Runtime, base: Budget) -> Budget:
    """A model whose cache has no formula: whether it loads can be told, no more."""
    estimate = runtime(config, loaded.bytes)
    card = config.card.total if config.card is not None else None
    name = config.model.architectures[0] if config.model.architectures else config.model.model_type
    filled = replace(
        base,
        total=card,
        weights=loaded.bytes,
        load_peak=loaded.bytes + estimate.load_peak,
        unknown=(f"the KV cache of {name} is not modelled",),
        details=(*base.details, *loaded.notes),
    )
    if card is None or loaded.bytes.likely <= card.likely:
        return filled
    sure: Confidence = "certain" if loaded.bytes.low > card.high else "likely"
    return replace(filled, outcome="oom_load", confidence=sure, phase=PHASES["oom_load"], unknown=())


def refused(refusal: Refusal, base: Budget, config: EngineConfig, outcome: Outcome = "arg_error") -> Budget:
    """A launch that the classes refuse; only likely when the model's facts are those of its base model."""
    sure: Confidence = "certain" if config.model.exact or refusal.kind in ("scheduler", "arguments") else "likely"
    return replace(
        base, outcome=outcome, confidence=sure, phase=refusal.phase, refusal=refusal, details=(refusal.message, *base.details)
    )


def cache_without_weights(config: EngineConfig) -> tuple[CacheLayer, ...] | None:
    """The cache layers of a model whose weights are not modelled (an unknown quantization or vision tower), if they are."""
    from lint_vllm.budget.architectures import family_of, mixers
    from lint_vllm.budget.quantization import Indivisible, NotModelled
    from lint_vllm.budget.weights import rank_of

    family = family_of(config.model)
    if family is None or family.get("mode", "decoder") != "decoder":
        return None
    try:
        layers = mixers.plan(config.model, family, rank_of(config))
    except (NotModelled, Indivisible, KeyError, TypeError, ValueError, AttributeError, IndexError, ZeroDivisionError):
        return None
    return tuple(cache for layer in layers for cache in layer.caches)


def backend_of(config: EngineConfig, caches: tuple[CacheLayer, ...]) -> Backend | Refusal:
    """The attention backend that decides the block size."""
    if config.block_size is not None and config.block_size < 1:
        return Refusal("backend", f"--block-size {config.block_size} is not positive", dests=("block_size",))
    text = config.model.text
    mla = [c for c in caches if c.kind == "mla"]
    softmax = [c for c in caches if c.kind in ("full", "sliding", "chunked", "cross")]
    need = backends.Need(
        head_dim=max((c.head_dim for c in softmax), default=max((c.head_dim for c in mla), default=64)),
        dtype=config.dtype,
        kv_dtype=config.kv_cache_dtype,
        mla=bool(mla),
        sparse=bool(mla) and positive(text.get("index_topk")) is not None,
        sinks=config.model.text.get("model_type") == "gpt_oss",
        mm_prefix=image_prefix(config),
        nope_dim=positive(text.get("qk_nope_head_dim")) or 0,
        heads=(config.model.attention_heads or 0) // config.tensor_parallel_size,
        sliding=any(c.kind == "sliding" for c in caches),
    )
    card = config.card
    capability = (9, 0) if card is None or card.capability is None else card.capability
    name = card.name if card is not None else "this card"
    if need.sparse and config.kv_cache_dtype in ("auto", "bfloat16") and config.decode_context_parallel_size > 1:
        return Refusal("other", "decode context parallelism with sparse latent attention needs an FP8 KV cache", "weight loading",
                       ("kv_cache_dtype", "decode_context_parallel_size"))  # fmt: skip
    return backends.choose(need, capability, config.block_size, name, config.attention_backend)


def image_prefix(config: EngineConfig) -> bool:
    """Images attend both ways in the prompt: fewer backends can run it."""
    model = config.model
    if config.language_model_only or not model.multimodal:
        return False
    if config.multimodal_limits and all(v == 0 for v in config.multimodal_limits.values()):
        return False
    stated = model.text.get("use_bidirectional_attention")
    return model.model_type in ("bagel", "gemma3", "molmo2", "moondream3", "paligemma") or stated == "vision"


# ---- the verdict -------------------------------------------------------------------------------------------------

End = Literal["low", "likely", "high"]


@dataclass(frozen=True, slots=True)
class Point:
    """One consistent view of the intervals: the best case, the likely one, or the worst."""

    total: float
    requested: float
    weights: float
    load_peak: float
    pool: float
    graphs_beside: float
    ceiling: float | None


def judged(
    config: EngineConfig,
    loaded: Weights | Unknown,
    layout: KvPlan,
    runtime: Runtime,
    asked: Asked | None,
    base: Budget,
    states: int = 0,
) -> Budget:
    """The verdict with all figures. Unknown weights or an unknown card leave only what a stated pool tells."""
    details = list(base.details)
    known_weights = None if isinstance(loaded, Unknown) else loaded.bytes
    estimate = runtime(config, known_weights)
    framework = estimate.framework
    if states:
        framework = framework + Quantity.exact(states)
        details.append(f"states of {config.max_num_seqs} sequences, allocated at once in this release: {states / GIB:.2f} GiB")
    if not isinstance(loaded, Unknown):
        details.extend(loaded.notes)
        if loaded.lora:
            framework = framework + Quantity.exact(loaded.lora)
            details.append(f"LoRA buffers: {loaded.lora / GIB:.2f} GiB")
    card = config.card
    total = card.total if card is not None else None
    requested = None
    if total is not None:
        requested = Quantity(*(math.ceil(t * config.utilization) for t in (total.low, total.likely, total.high)))
    parts = [p for p in (known_weights, estimate.activations, framework, estimate.margin) if p is not None]
    if estimate.graphs_inside:
        parts.append(estimate.cuda_graphs)
    reserved = config.mm_ipc_gpu_memory_gb * GIB
    pool: Quantity | None = None
    if config.num_gpu_blocks_override is not None:
        pool = Quantity.exact(config.num_gpu_blocks_override * layout.bytes_per_block)
    elif config.kv_cache_memory_bytes is not None:
        pool = Quantity.exact(config.kv_cache_memory_bytes)
    elif requested is not None and known_weights is not None:
        used = combined(parts)
        pool = Quantity(
            requested.low - used.high - reserved, requested.likely - used.likely - reserved, requested.high - used.low - reserved
        )
    peak = None if known_weights is None else known_weights + estimate.load_peak
    filled = replace(
        base,
        total=total,
        requested=requested,
        weights=known_weights,
        activations=estimate.activations,
        cuda_graphs=estimate.cuda_graphs,
        framework=framework,
        margin=estimate.margin,
        load_peak=peak,
        graphs_inside=estimate.graphs_inside,
        kv_available=None if pool is None else pool.at_least(0),
    )
    reasons = tuple(
        r for r in (loaded.reason if isinstance(loaded, Unknown) else None, None if total is not None else GPU_UNKNOWN) if r
    )
    if pool is None or (known_weights is None and config.kv_cache_memory_bytes is None):
        return replace(filled, unknown=reasons or ("the pool is unknown",), details=tuple(details))

    if not estimate.graphs_inside and estimate.cuda_graphs.high > 0:
        details.append("CUDA graphs are captured beside the share in this release")
    points = [point(end, filled, estimate, pool) for end in ("best", "likely", "worst")]
    verdicts = [verdict(p, config, layout) for p in points]
    outcome, confidence = conclude(verdicts)
    if outcome in ("oom_load", "oom_profile") and config.kv_cache_memory_bytes is not None and filled.weights is not None:
        # vLLM sizes nothing by itself here; whether what was stated fits the card is for whoever stated it
        reasons = (*reasons, f"{filled.weights.gib()} of weights beside a stated cache of {pool.gib()} do not fit the card")
        outcome, confidence = "unknown", "certain"
    length = config.max_model_len
    if config.auto_length:
        length = layout.longest(pool.likely, config.max_model_len)
        if length < config.max_model_len:
            details.append(f"max-model-len is fitted: {length:,} of {config.max_model_len:,} tokens")
        if length == 0:
            length = config.max_model_len
    if reasons and outcome == "starts":
        # the cache fits what was stated, but nobody knows whether the rest does
        outcome, confidence = "starts", "likely"
    ends = (pool.low, pool.likely, pool.high)
    demand = demand_of(asked, config, layout, pool, length)
    return replace(
        filled,
        outcome=outcome,
        confidence=confidence,
        phase=PHASES[outcome],
        unknown=reasons,
        max_model_len=length,
        bytes_per_sequence=layout.request_bytes(length),
        tokens=Quantity(*(layout.tokens(max(0.0, p), length) for p in ends)),
        max_concurrency=Quantity(*(layout.concurrency(max(0.0, p), length) for p in ends)),
        holds_length=Quantity(*(layout.longest(p, config.derived_max_model_len) for p in ends)),
        demand=demand,
        details=tuple(details),
        at_worst=verdicts[2],
    )


def point(end: Literal["best", "likely", "worst"], budget: Budget, estimate: RuntimeEstimate, pool: Quantity) -> Point:
    """Every interval at the end that is best, likely or worst for the launch."""

    def small(q: Quantity | None) -> float:
        return 0.0 if q is None else {"best": q.low, "likely": q.likely, "worst": q.high}[end]

    def large(q: Quantity) -> float:
        return {"best": q.high, "likely": q.likely, "worst": q.low}[end]

    card = budget.total
    return Point(
        total=large(card) if card is not None else math.inf,
        requested=large(budget.requested) if budget.requested is not None else math.inf,
        weights=small(budget.weights),
        load_peak=small(budget.load_peak),
        pool=large(pool),
        graphs_beside=0.0
        if estimate.graphs_inside or not estimate.cuda_graphs.high
        else small(estimate.cuda_graphs) + small(estimate.outside),
        ceiling=None,
    )


def verdict(p: Point, config: EngineConfig, layout: KvPlan) -> Outcome:
    """What happens at one point, in the order in which vLLM gets there."""
    ceiling = config.card.ceiling if config.card is not None else None
    if ceiling is not None and since("free_memory_check", config.release):
        # ends of the ceiling and of the card go together: the best case has the most free memory
        limit = ceiling.high if p.pool >= math.inf else ceiling.likely
        if config.utilization > limit and config.utilization > ceiling.high:
            return "refused_free_memory"
    if p.load_peak > p.total or p.weights > p.total:
        return "oom_load"
    stated = config.kv_cache_memory_bytes is not None or config.num_gpu_blocks_override is not None
    if stated and p.weights + p.pool > p.total:
        return "oom_profile"
    if not layout.groups:
        return "starts" if p.weights <= p.requested else "oom_profile"
    if p.pool <= 0:
        return "oom_profile"
    if config.auto_length:
        if not layout.fits(1, p.pool):
            return "refused_kv"
    elif not layout.fits(config.max_model_len, p.pool):
        return "refused_kv"
    if p.graphs_beside and p.requested + p.graphs_beside > p.total:
        return "oom_profile"
    return "starts"


def conclude(verdicts: list[Outcome]) -> tuple[Outcome, Confidence]:
    """Certain when even the best case fails, likely when the likely one does; a start is certain when the worst case starts."""
    best, likely, worst = verdicts
    if best != "starts":
        return best, "certain"
    if likely != "starts":
        return likely, "likely"
    return "starts", "certain" if worst == "starts" else "likely"


def demand_of(asked: Asked | None, config: EngineConfig, layout: KvPlan, pool: Quantity, length: int) -> Demand | None:
    """What was asked for against what the pool holds."""
    if asked is None or not layout.groups:
        return None
    context = min(asked.context or length, length)
    usable = max(0, config.num_gpu_blocks_override or 0) * layout.bytes_per_block
    fits: Callable[[float], float] = lambda bytes_: layout.concurrency(usable or max(0.0, bytes_), context)  # noqa: E731
    return Demand(
        asked.sequences, context, asked.origin, asked.stated, Quantity(fits(pool.low), fits(pool.likely), fits(pool.high))
    )
