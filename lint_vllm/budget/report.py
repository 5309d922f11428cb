"""The stable JSON form of a budget."""

from __future__ import annotations

from lint_vllm.budget.quantity import Quantity
from lint_vllm.budget.result import Budget
from lint_vllm.facts import Facts
from lint_vllm.known import Known


def number(value: float) -> int | float:
    """Whole figures as whole numbers; shares and concurrency to six places."""
    return int(value) if float(value).is_integer() else round(value, 6)


def quantity(item: Quantity | None) -> dict[str, int | float] | None:
    if item is None:
        return None
    return {"low": number(item.low), "likely": number(item.likely), "high": number(item.high)}


def whole(item: Quantity | None) -> dict[str, int | float] | None:
    """Bytes."""
    return None if item is None else quantity(Quantity(round(item.low), round(item.likely), round(item.high)))


def budget_json(facts: Facts, budget: Budget) -> dict[str, object]:
    """One entry of ``budget --format json`` without its place in a file (path and line are the caller's)."""
    model = facts.model.value if isinstance(facts.model, Known) else None
    card = facts.gpu.value if isinstance(facts.gpu, Known) else None
    count = facts.gpu_count.value if isinstance(facts.gpu_count, Known) else None
    return {
        "model": {
            "id": model.id if model is not None else None,
            "origin": facts.model.origin if isinstance(facts.model, Known) else None,
        },
        "gpu": {
            "name": card.name if card is not None else None,
            "count": count,
            "total_bytes": whole(card.total) if card is not None else None,
            "origin": facts.gpu.origin if isinstance(facts.gpu, Known) else None,
        },
        "vllm_version": facts.release.version,
        "per_gpu": {
            "total": whole(budget.total),
            "requested": whole(budget.requested),
            "weights": whole(budget.weights),
            "activations": whole(budget.activations),
            "cuda_graphs": whole(budget.cuda_graphs),
            "framework": whole(budget.framework),
            "margin": whole(budget.margin),
            "kv_available": whole(budget.kv_available),
        },
        "load_peak": whole(budget.load_peak),
        "kv": {
            "max_model_len": budget.max_model_len,
            "bytes_per_sequence": budget.bytes_per_sequence,
            "tokens": quantity(budget.tokens),
            "max_concurrency": quantity(budget.max_concurrency),
        },
        "demand": None
        if budget.demand is None
        else {
            "sequences": budget.demand.sequences,
            "context": budget.demand.context,
            "fits_sequences": quantity(budget.demand.fits),
        },
        "outcome": budget.outcome,
        "confidence": budget.confidence,
        "unknown": list(budget.unknown),
    }
