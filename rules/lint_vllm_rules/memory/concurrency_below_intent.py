"""The cache holds fewer full-length requests than the launch asks for.

Why: it starts, but the pool holds fewer sequences of `--max-model-len` than were asked for. When they grow long together, vLLM
preempts some and computes them again: latency jumps under exactly the load that was planned for.
Instead: an FP8 cache, a shorter context, fewer sequences, a quantized checkpoint, or more GPUs.
Wrong when: requests are much shorter than `--max-model-len`; state the workload (`context=`) and it is judged by that.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.memory_report import all_notes, fixes, gib, place_of, range_of
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Severity, Span, rule

_CARD = {"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"}


@rule(
    code="MEM031",
    name="concurrency-below-intent",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 v1/core/kv_cache_planning.py", "tenstorrent/tt-xla#5874"),
    bad=(
        Bad("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768 --max-num-seqs 4\n", mark="4", facts=_CARD),
        Bad(
            "# lint-vllm: concurrency=16 context=16384\nvllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 16384\n",
            mark="16384",
            facts=_CARD,
        ),
        Bad("model: Qwen/Qwen2.5-7B-Instruct\nmax-model-len: 32768\nmax-num-seqs: 4\n", name="serve.yaml", mark="4", facts=_CARD),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 16384 --max-num-seqs 4\n", facts=_CARD),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768 --max-num-seqs 4 --kv-cache-dtype fp8\n", facts=_CARD),
        Good('vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768 --max-num-seqs "$N"\n', facts=_CARD),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768 --max-num-seqs 256\n", facts=_CARD),
    ),
)
def concurrency_below_intent(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    budget = facts.budget
    demand = budget.demand
    if budget.outcome != "starts" or demand is None or budget.kv_available is None or demand.fits.likely >= demand.sequences:
        return
    if demand.sequences <= 1 or budget.unknown:
        return
    per_sequence = budget.kv_available.likely / demand.fits.likely if demand.fits.likely > 0 else 0
    yield Finding(
        _place(args, facts),
        f"{demand.sequences} sequences of {demand.context:,} tokens ({demand.origin}) need {gib(demand.sequences * per_sequence)} of KV cache on "
        f"each GPU, the pool of {budget.kv_available.gib()} holds {range_of(demand.fits)}: it starts, and preempts above that while serving",
        fixes=fixes(args, facts, budget),
        notes=all_notes(facts, budget),
        severity=None if demand.stated else Severity.INFO,
    )


def _place(args: ArgumentSet, facts: Facts) -> Span:
    """What states the number of sequences, else the length, else the command."""
    return place_of(args, "max_num_seqs", "max_model_len")
