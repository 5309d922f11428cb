"""The account of one GPU, and the verdict."""

from __future__ import annotations

from typing import Literal

from lint_vllm.budget.quantity import Quantity
from lint_vllm.budget.refusal import Refusal
from lint_vllm.frozen import dataclass

Outcome = Literal[
    "starts",
    "refused_kv",  # one sequence of max_model_len does not fit the pool: KV sizing refuses
    "refused_free_memory",  # less free at start than utilization asks for
    "oom_load",  # weights do not fit: loading fails
    "oom_profile",  # nothing left for the cache after profiling, or graph capture fails
    "oom_runtime",  # starts, and fails under load
    "arg_error",  # refused before memory matters
    "unknown",
]
Confidence = Literal["certain", "likely", "possible"]


@dataclass(frozen=True, slots=True)
class Demand:
    """Sequences of ``context`` tokens that somebody stated, and where; ``fits`` is how many full ones the pool holds."""

    sequences: int
    context: int
    origin: str
    stated: bool
    """False for a ``--max-num-seqs`` of 5 to 32, which is a limit more than a demand."""
    fits: Quantity


@dataclass(frozen=True, slots=True)
class Budget:
    """Bytes per GPU. A ``None`` item does not apply or is not known; ``unknown`` says why the rest could not be judged.

    ``total`` and ``requested`` (total x utilization) follow the card. ``kv_available`` is the pool. ``margin`` is slack
    (fragmentation, rounding). ``load_peak`` is the highest point while weights load, judged against the whole card.
    ``bytes_per_sequence`` is the cache of one request of ``max_model_len`` tokens, whole blocks, group-aware.
    """

    outcome: Outcome
    confidence: Confidence
    unknown: tuple[str, ...] = ()
    phase: str = ""
    """Which phase fails: argument parsing, weight loading, profiling, KV sizing, graph capture, serving."""
    utilization: float | None = None
    total: Quantity | None = None
    requested: Quantity | None = None
    weights: Quantity | None = None
    activations: Quantity | None = None
    cuda_graphs: Quantity | None = None
    framework: Quantity | None = None
    margin: Quantity | None = None
    kv_available: Quantity | None = None
    load_peak: Quantity | None = None
    max_model_len: int | None = None
    derived_max_model_len: int | None = None
    """The limit from the model's configuration; max_model_len without the flag."""
    bytes_per_sequence: int | None = None
    bytes_per_block: int | None = None
    block_size: int | None = None
    tokens: Quantity | None = None
    max_concurrency: Quantity | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None
    holds_length: Quantity | None = None
    """The longest single request that the pool holds, in tokens (not capped by max_model_len, but by the model)."""
    demand: Demand | None = None
    world_size: int = 1
    at_worst: Outcome = "starts"
    """What happens at the pessimistic end; a start with another outcome here is *possible* to fail."""
    graphs_inside: bool = True
    """Whether CUDA graphs are taken out of the share (since 0.20.2) or captured beside it."""
    refusal: Refusal | None = None
    """What vLLM refuses before memory matters, where ``outcome`` is ``arg_error``."""
    details: tuple[str, ...] = ()
    """Plain sentences on how items were concluded (dtype on this card, graphs outside the share ...)."""

    @property
    def known(self) -> bool:
        return self.outcome != "unknown"

    @property
    def fails(self) -> bool:
        return self.outcome not in ("starts", "unknown", "oom_runtime")

    def ledger(self) -> tuple[str, ...]:
        """One line an item, for notes: weights, KV, rest, share."""
        rows: list[str] = []
        for name, item in (
            ("card", self.total),
            (f"share at utilization {self.utilization:g}" if self.utilization is not None else "share", self.requested),
            ("weights", self.weights),
            ("activations", self.activations),
            ("CUDA graphs", self.cuda_graphs),
            ("framework", self.framework),
            ("margin", self.margin),
            ("KV pool", self.kv_available),
        ):
            if item is not None:
                rows.append(f"{name}: {item.gib()}")
        if self.bytes_per_sequence is not None and self.max_model_len is not None:
            rows.append(f"KV of one sequence of {self.max_model_len:,} tokens: {Quantity.exact(self.bytes_per_sequence).gib()}")
        return tuple(rows)
