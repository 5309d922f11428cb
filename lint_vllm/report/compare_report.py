"""The comparison of models as a table for people, in markdown, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.report import budget_json
from lint_vllm.known import Known
from lint_vllm.report.budget_report import VERDICTS
from lint_vllm.report.frame import printable

if TYPE_CHECKING:
    from lint_vllm.compare import Row

VERSION = 1
HEAD = ("model", "bits", "GPU", "weights", "KV heads", "KV a sequence", "KV pool", "holds", "verdict", "figures")


def render(name: str, rows: Sequence[Row], context: int, concurrency: int) -> str:
    if name == "json":
        return json.dumps(_document(rows, context, concurrency), indent=2, ensure_ascii=False) + "\n"
    cells = [[printable(cell) for cell in _cells(row, concurrency)] for row in rows]
    title = f"{concurrency} sequences of {context:,} tokens; memory per GPU, as vLLM {_release(rows)}"
    return "\n".join((_markdown if name == "markdown" else _text)(title, cells)) + "\n"


def _release(rows: Sequence[Row]) -> str:
    return next((row.facts.release.version for row in rows if row.facts is not None), "?")


def _cells(row: Row, concurrency: int) -> list[str]:
    variant, budget = row.variant, row.budget
    if budget is None or row.facts is None:
        return [variant.model, str(variant.bits), row.gpu or "-", "-", "-", "-", "-", "-", "no such variant", variant.how]
    count = row.facts.gpu_count.value if isinstance(row.facts.gpu_count, Known) else 1
    card = "-" if row.gpu is None else row.gpu if count == 1 else f"{count} x {row.gpu}"
    sequence = "-" if budget.bytes_per_sequence is None else f"{budget.bytes_per_sequence / GIB:.2f} GiB"
    return [
        variant.model,
        str(variant.bits),
        card,
        _gib(budget.weights),
        _heads(row),
        sequence,
        _gib(budget.kv_available),
        _figure(budget.max_concurrency),
        verdict(row, concurrency),
        variant.how,
    ]


def verdict(row: Row, concurrency: int) -> str:
    budget = row.budget
    if budget is None:
        return "no such variant"
    if budget.outcome == "arg_error":
        return f"refused: {budget.details[0]}" if budget.details else VERDICTS["arg_error"]
    if budget.outcome == "unknown":
        return f"not judged: {budget.unknown[0]}" if budget.unknown else VERDICTS["unknown"]
    if budget.outcome != "starts" or budget.max_concurrency is None:
        return f"{VERDICTS[budget.outcome]} ({budget.confidence})"
    if budget.max_concurrency.low >= concurrency:
        return f"holds {concurrency}"
    if budget.max_concurrency.likely >= concurrency:
        return f"likely holds {concurrency}"
    return f"starts, holds {budget.max_concurrency.likely:.1f} of {concurrency}"


def _heads(row: Row) -> str:
    model = row.facts.model.value if row.facts is not None and isinstance(row.facts.model, Known) else None
    if model is None:
        return "-"
    if model.mla:
        return "latent"
    return "-" if model.kv_heads is None else str(model.kv_heads) + (" + states" if model.hybrid_state else "")


def _gib(item: Quantity | None) -> str:
    return "-" if item is None else f"{item.likely / GIB:.1f} GiB"


def _figure(item: Quantity | None) -> str:
    if item is None:
        return "-"
    low, likely, high = (f"{value:.1f}" for value in (item.low, item.likely, item.high))
    return likely if low == high else f"{likely} ({low} to {high})"


def _text(title: str, cells: Sequence[Sequence[str]]) -> Iterator[str]:
    rows = [HEAD, *cells]
    widths = [max(len(row[at]) for row in rows) for at in range(len(HEAD))]
    yield title
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _markdown(title: str, cells: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"{title}."
    yield ""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{' --- |' * len(HEAD)}"
    for row in cells:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|').replace('<', '&lt;') for cell in row)} |"


def _document(rows: Sequence[Row], context: int, concurrency: int) -> dict[str, Any]:
    return {
        "version": VERSION,
        "context": context,
        "concurrency": concurrency,
        "rows": [
            {
                "model": row.variant.model,
                "bits": row.variant.bits,
                "checkpoint": row.variant.name,
                "figures": row.variant.how,
                "kv_heads": _heads(row),
                "verdict": verdict(row, concurrency),
                "budget": None if row.budget is None or row.facts is None else budget_json(row.facts, row.budget),
            }
            for row in rows
        ],
    }
