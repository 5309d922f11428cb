"""A start-up log in plain words: what the server holds, or which phase failed and what to change."""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.result import Budget
from lint_vllm.frozen import dataclass
from lint_vllm.log import StartupLog


@dataclass(frozen=True, slots=True)
class Comparison:
    """One item as expected and as measured, in bytes (``tokens``: tokens; ``concurrency``: requests)."""

    item: str
    predicted: Quantity
    measured: float

    @property
    def inside(self) -> bool:
        # Logs round to 0.01.
        slack = 0.005 * (GIB if self.item not in ("tokens", "concurrency") else 1)
        return self.predicted.low - slack <= self.measured <= self.predicted.high + slack


def explain(log: StartupLog) -> tuple[str, ...]:
    """Sentences for people, the outcome first."""
    return tuple(_sentences(log))


def _sentences(log: StartupLog) -> Iterator[str]:
    if not log.measured_anything:
        yield "The log shows no memory figures of a vLLM start."
        return
    yield from _outcome(log)
    yield from _account(log)
    yield from _capacity(log)


def _outcome(log: StartupLog) -> Iterator[str]:
    what = f"vLLM {log.release}" if log.release else "vLLM"
    model = f" with {log.model}" if log.model else ""
    if log.outcome == "starts":
        yield f"{what} started{model}."
    elif log.outcome == "refused_free_memory":
        yield f"{what} refused to start{model}: {_short_of_free_memory(log)}"
    elif log.outcome == "refused_kv":
        yield f"{what} refused to start{model} when it sized the KV cache: {_too_long(log)}"
    elif log.outcome == "oom_runtime":
        yield f"{what} started{model} and ran out of memory while serving{_tried(log)}. {_advice(log)}"
    elif log.outcome in ("oom_load", "oom_profile"):
        where = {"weight loading": "while loading weights", "KV sizing": "when it sized the KV cache"}.get(
            log.phase, f"in {log.phase}"
        )
        if log.phase == "KV sizing":
            yield f"{what} failed{model} {where}: after weights and the profile run nothing of its share was left. {_advice(log)}"
        else:
            yield f"{what} ran out of memory{model} {where}{_tried(log)}. {_advice(log)}"
    else:
        yield f"The log of {what}{model} ends before it shows whether the server started."


def _short_of_free_memory(log: StartupLog) -> str:
    if log.free_at_start_gib is None or log.requested_gib is None or not log.total_gib:
        return "less memory was free than --gpu-memory-utilization asks for."
    most = int(log.free_at_start_gib / log.total_gib * 100) / 100
    return (
        f"{log.free_at_start_gib:.2f} of {log.total_gib:.2f} GiB were free, and --gpu-memory-utilization"
        f" {log.utilization:g} asks for {log.requested_gib:.2f}. Free the GPU, or give at most {most:g}."
    )


def _too_long(log: StartupLog) -> str:
    if log.kv_needed_gib is not None and log.kv_available_gib is not None:
        lead = (
            f"one request of {log.max_model_len:,} tokens needs {log.kv_needed_gib:.2f} GiB and the pool has"
            f" {log.kv_available_gib:.2f}."
        )
    elif log.kv_tokens is not None and log.max_model_len is not None:
        lead = f"one request of {log.max_model_len:,} tokens does not fit a pool of {log.kv_tokens:,}."
    else:
        lead = "one request of --max-model-len tokens does not fit the pool."
    longest = log.estimated_max_len or log.kv_tokens
    way = f"Give --max-model-len {longest} or less" if longest else "Lower --max-model-len"
    return f"{lead} {way}, or make the pool larger (--kv-cache-dtype fp8, a higher --gpu-memory-utilization, more GPUs)."


def _tried(log: StartupLog) -> str:
    if log.oom_tried_gib is None:
        return ""
    free = f" with {log.oom_free_gib:.2f} GiB free" if log.oom_free_gib is not None else ""
    return f": it asked for {log.oom_tried_gib:.2f} GiB more{free}"


_WAYS = {
    "weight loading": "The weights do not fit: use more GPUs (--tensor-parallel-size), a quantized checkpoint, or --cpu-offload-gb.",
    "profiling": "Lower --max-num-batched-tokens or --max-num-seqs (for images and video: --limit-mm-per-prompt).",
    "sampler warm-up": "Lower --max-num-seqs, or --gpu-memory-utilization to leave room beside the share.",
    "KV sizing": "Raise --gpu-memory-utilization, lower --max-num-batched-tokens or --max-num-seqs, or use a smaller checkpoint.",
    "graph capture": "Lower --gpu-memory-utilization so that CUDA graphs fit beside the share, capture fewer sizes, or give"
    " --enforce-eager.",
    "serving": "Lower --gpu-memory-utilization or --max-num-batched-tokens to leave room for what serving allocates.",
}


def _advice(log: StartupLog) -> str:
    return _WAYS.get(log.phase, "")


def _account(log: StartupLog) -> Iterator[str]:
    parts = [
        f"{name} {value:.2f}"
        for name, value in (
            ("weights", log.weights_gib),
            ("activations", log.activations_gib),
            ("other persistent memory", log.framework_gib),
            ("CUDA graphs", log.cudagraph_gib),
            ("KV pool", log.kv_available_gib),
        )
        if value is not None
    ]
    if parts:
        share = (
            f" of a share of {log.share_gib:.2f} GiB ({log.utilization:g} x {log.total_gib:.2f})"
            if log.share_gib is not None and log.utilization is not None and log.total_gib is not None
            else ""
        )
        yield f"GiB a GPU{share}: {', '.join(parts)}."


def _capacity(log: StartupLog) -> Iterator[str]:
    if log.outcome == "refused_kv" or log.length is None:
        return
    tokens = log.kv_tokens if log.kv_tokens is not None else None
    many = log.max_concurrency
    if many is None and tokens is not None:
        many = tokens / log.length
    if many is None:
        return
    pool = f" ({tokens:,} tokens in all)" if tokens is not None else ""
    if many < 1:
        yield f"The pool does not hold one request of {log.length:,} tokens{pool}."
    else:
        yield f"The pool holds {int(many)} full request{'s' if int(many) != 1 else ''} of {log.length:,} tokens at once{pool}."


def compare(log: StartupLog, budget: Budget) -> tuple[Comparison, ...]:
    """Item by item, what the engine expected of this launch and what vLLM measured."""
    graphs = log.cudagraph_estimate_gib if log.estimate_applied else log.cudagraph_gib
    pairs: tuple[tuple[str, Quantity | None, float | None], ...] = (
        ("card", budget.total, log.total_gib),
        ("share", budget.requested, log.share_gib),
        ("weights", budget.weights, log.weights_gib),
        ("activations", budget.activations, log.activations_gib),
        ("CUDA graphs", budget.cuda_graphs, graphs),
        ("framework", budget.framework, log.framework_gib),
        ("KV pool", budget.kv_available, log.kv_available_gib),
    )
    rows = [Comparison(item, q, gib * GIB) for item, q, gib in pairs if q is not None and gib is not None]
    if budget.tokens is not None and log.kv_tokens is not None:
        rows.append(Comparison("tokens", budget.tokens, log.kv_tokens))
    if budget.max_concurrency is not None and log.max_concurrency is not None:
        rows.append(Comparison("concurrency", budget.max_concurrency, log.max_concurrency))
    return tuple(rows)
