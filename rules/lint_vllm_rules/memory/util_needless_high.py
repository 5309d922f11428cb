"""The pool is far larger than the stated load.

Why: vLLM takes its whole share at start, needed or not. For a small stated load most of the card lies idle, out of reach of
other processes.
Instead: `--kv-cache-memory-bytes` with what the load needs, or a lower share.
Wrong when: nothing else wants the card.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.memory_report import gib, place_of
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Options, Severity, rule


class Limits(Options):
    min_factor: float = 8.0
    """Pool over stated need from which it is reported."""


@rule(
    code="MEM060",
    name="util-needless-high",
    severity=Severity.INFO,
    since="0.1",
    options=Limits,
    sources=("vllm-project/vllm#33263",),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-1.7B --max-model-len 1024 --max-num-seqs 1\n",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen3-1.7B --max-model-len 1024 --max-num-seqs 1 --kv-cache-memory-bytes 256M\n",
            facts={"gpu": "RTX 4090"},
        ),
        Good('vllm serve Qwen/Qwen3-1.7B --max-model-len 1024 --max-num-seqs "$N"\n', facts={"gpu": "RTX 4090"}),
    ),
)
def util_needless_high(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    budget = facts.budget
    demand = budget.demand
    if budget.outcome != "starts" or demand is None or not demand.stated or budget.kv_available is None or demand.fits.low <= 0:
        return
    if args.given("kv_cache_memory_bytes") or args.given("num_gpu_blocks_override") or budget.unknown or facts.siblings_in_scope:
        return
    if demand.fits.low < limits.min_factor * demand.sequences:
        return
    needed = demand.sequences * budget.kv_available.low / demand.fits.low
    yield Finding(
        place_of(args, "gpu_memory_utilization"),
        f"{demand.sequences} sequences of {demand.context:,} tokens ({demand.origin}) need {gib(needed)} of KV cache, the share reserves "
        f"{budget.kv_available.gib()}",
        fixes=(
            Fix(
                f"reserve what it needs: --kv-cache-memory-bytes {max(256, -(-int(needed * 1.2) // 2**20))}M"
                if facts.release.at_least("0.10.2")
                else "lower --gpu-memory-utilization",
                cost="no room for more load",
            ),
        ),
    )
