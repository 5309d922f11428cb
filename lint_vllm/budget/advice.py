"""Ways out of a memory failure, each judged by the same engine before it is offered.

A way is a set of changed arguments (or another checkpoint, or more GPUs) with what it costs in a few words. Only ways under
which the launch starts at the likely value are kept, those that also hold at the pessimistic end first, then the cheapest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.judge import configure, values_of
from lint_vllm.budget.result import Budget
from lint_vllm.facts import Facts
from lint_vllm.known import Known, Unknown

ROUND = (32768, 16384, 8192, 4096, 2048, 1024, 512, 256)
"""Lengths are proposed as multiples of the largest of these that leaves at least seven eighths of what holds."""
SAFE_UTILIZATION = 0.95
MOST_GPUS = 8


@dataclass(frozen=True, slots=True)
class Way:
    """``changes`` is dest -> value (``model`` and ``gpu_count`` beside vLLM's arguments); ``rank`` orders by cost."""

    title: str
    changes: Mapping[str, object]
    cost: str
    budget: Budget
    rank: int = field(default=0, compare=False)

    @property
    def sure(self) -> bool:
        """Holds at the pessimistic end too."""
        return self.budget.confidence == "certain"


def ways_out(facts: Facts, budget: Budget) -> tuple[Way, ...]:
    """Verified ways for a launch that fails, or that cannot hold what somebody stated."""
    config = configure(facts, {})
    if not isinstance(config, EngineConfig):
        return ()
    found: list[Way] = []
    for rank, (title, changes, cost) in enumerate(_candidates(facts, config, budget)):
        judged = facts.rebudget(changes)
        if holds(judged, budget):
            found.append(Way(title, changes, cost, judged, rank))
    return tuple(sorted(found, key=lambda way: (not way.sure, way.rank)))


def holds(judged: Budget, before: Budget) -> bool:
    """The change solves what was wrong: it starts, and the stated demand fits where it did not."""
    if judged.outcome != "starts":
        return False
    wanted = before.demand
    if before.outcome == "starts" and wanted is not None and judged.demand is not None:
        return judged.demand.fits.likely >= min(wanted.sequences, judged.demand.sequences)
    return True


Candidate = tuple[str, Mapping[str, object], str]


def _candidates(facts: Facts, config: EngineConfig, budget: Budget) -> Iterator[Candidate]:
    """Cheapest first."""
    values = values_of(facts, {})
    given: Mapping[str, object] = {} if isinstance(values, Unknown) else values
    if budget.outcome == "refused_free_memory":
        yield from _lower_share(config)
        return
    yield from _share(config)
    yield from _fp8_cache(config)
    yield from _length(config, budget)
    yield from _sequences(config, budget, given)
    yield from _batch(config, budget)
    if config.lora is None:
        yield from _siblings(facts, config)
    yield from _ranks(facts, config)


def _lower_share(config: EngineConfig) -> Iterator[Candidate]:
    ceiling = config.card.ceiling if config.card is not None else None
    if ceiling is None:
        return
    share = int(ceiling.low * 100) / 100
    if 0.3 < share < config.utilization:
        yield f"Set --gpu-memory-utilization {share:g}", {"gpu_memory_utilization": share}, "a smaller KV cache"


def _share(config: EngineConfig) -> Iterator[Candidate]:
    """Raise the share up to what the card gives an idle machine."""
    if config.kv_cache_memory_bytes is not None or config.num_gpu_blocks_override is not None:
        return
    ceiling = config.card.ceiling if config.card is not None else None
    limit = min(SAFE_UTILIZATION, int(ceiling.low * 100) / 100) if ceiling is not None else SAFE_UTILIZATION
    if config.utilization < limit - 0.005:
        yield (
            f"Set --gpu-memory-utilization {limit:g}",
            {"gpu_memory_utilization": limit},
            "less room for other processes on the card",
        )


def _fp8_cache(config: EngineConfig) -> Iterator[Candidate]:
    """Half the cache, where the card and the model's attention run it."""
    if config.kv_cache_dtype != "auto" or config.dtype == "float32":
        return
    card = config.card
    if card is None or (card.capability is not None and card.capability < (8, 0)):
        return
    yield "Store the KV cache in FP8 (--kv-cache-dtype fp8)", {"kv_cache_dtype": "fp8"}, "a little accuracy"


def rounded(length: float) -> int:
    """The largest round length that is not above ``length``."""
    for step in ROUND:
        candidate = int(length) // step * step
        if candidate and candidate >= length * 0.875:
            return candidate
    return int(length) // 256 * 256


def _length(config: EngineConfig, budget: Budget) -> Iterator[Candidate]:
    """A shorter maximum that holds at the pessimistic end, then one at the likely value."""
    demand, held = budget.demand, budget.holds_length
    if config.auto_length or budget.max_model_len is None:
        return
    lengths: tuple[int, ...] = ()
    if demand is not None and budget.outcome == "starts":
        share = demand.context / demand.sequences
        low, likely = demand.fits.low * share, demand.fits.likely * share
        lengths = (2 ** int(low).bit_length() // 2, rounded(likely))
    elif held is not None:
        lengths = (rounded(held.low), rounded(held.likely))
    for length in dict.fromkeys(lengths):
        if 256 <= length < budget.max_model_len:
            yield f"Set --max-model-len {length}", {"max_model_len": length}, f"requests above {length:,} tokens are refused"


def _sequences(config: EngineConfig, budget: Budget, given: Mapping[str, object]) -> Iterator[Candidate]:
    """Fewer sequences: what the pool holds at once, or a smaller profile run."""
    demand = budget.demand
    if demand is not None and budget.outcome == "starts":
        fits = int(demand.fits.low) or int(demand.fits.likely)
        if 1 <= fits < demand.sequences and "max_num_seqs" in given:
            yield f"Set --max-num-seqs {fits}", {"max_num_seqs": fits}, "requests beyond that wait in the queue"
        return
    for sequences in (64, 16):
        if sequences < config.max_num_seqs:
            cost = f"at most {sequences} requests run at once"
            yield f"Set --max-num-seqs {sequences}", {"max_num_seqs": sequences}, cost


def _batch(config: EngineConfig, budget: Budget) -> Iterator[Candidate]:
    """A smaller profile run where the batch is large."""
    if budget.outcome == "starts" or not config.chunked_prefill or config.max_num_batched_tokens <= 2048:
        return
    changes: dict[str, object] = {"max_num_batched_tokens": 2048}
    if config.max_num_seqs > 256:
        changes["max_num_seqs"] = 256
    words = " and ".join(f"--{k.replace('_', '-')} {v}" for k, v in changes.items())
    yield f"Set {words}", changes, "slower prompt processing"


def _siblings(facts: Facts, config: EngineConfig) -> Iterator[Candidate]:
    """A quantized checkpoint of the same model."""
    from lint_vllm.facts.catalogue import siblings

    for other in siblings(config.model):
        method = other.quantization
        bits = f"{method.bits:g}-bit " if method is not None and method.bits else ""
        changes: dict[str, object] = {"model": other.id}
        yield f"Serve {other.id}", changes, f"{bits}weights: a little accuracy"


def _ranks(facts: Facts, config: EngineConfig) -> Iterator[Candidate]:
    """More GPUs: a larger tensor-parallel size that divides the heads; of the machine's own cards first."""
    heads = config.model.attention_heads or 0
    have = facts.gpu_count.value if isinstance(facts.gpu_count, Known) else None
    size = config.tensor_parallel_size * 2
    while size <= MOST_GPUS and heads and heads % size == 0:
        needed = size * config.pipeline_parallel_size * config.data_parallel_size
        changes: dict[str, Any] = {"tensor_parallel_size": size}
        cost = f"{needed} GPUs"
        if have is not None and needed > have:
            changes["gpu_count"] = needed
            cost = f"{needed} GPUs where the machine has {have}"
        yield f"Set --tensor-parallel-size {size}", changes, cost
        size *= 2
