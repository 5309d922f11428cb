"""Graphs inside the share make the cache smaller than in older releases.

Why: since 0.20.2 the memory of CUDA graphs is estimated and taken out of the cache before it is sized. The same flags hold
fewer tokens than before the upgrade.
Instead: raise the share by the size of the graphs where the card allows it, or capture fewer sizes.
Wrong when: the smaller pool is enough. The rule speaks only where the share is set by hand below the default (it was tuned to
leave room on the card) and the graphs take a twentieth of the pool or more.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.memory_report import ledger_notes, place_of
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Options, Severity, rule


class Limits(Options):
    min_part: float = 0.05
    """Report where the graphs take this part of the pool."""


@rule(
    code="MEM023",
    name="cudagraph-estimate-shift",
    severity=Severity.INFO,
    since="0.1",
    options=Limits,
    sources=("vllm==0.20.2 v1/worker/gpu_worker.py determine_available_memory", "vllm-project/vllm#46462"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.75\n",
            mark="0.75",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.8\n",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.10.2"},
        ),
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192\n",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
        Good(
            'vllm serve "$MODEL" --max-model-len 8192 --gpu-memory-utilization 0.8\n',
            facts={"gpu": "RTX 4090", "vllm_version": "0.33.0"},
        ),
    ),
)
def cudagraph_estimate_shift(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    budget = facts.budget
    share, default = args.get("gpu_memory_utilization"), args.defaults.get("gpu_memory_utilization")
    if share is None or not isinstance(share.value, float) or not isinstance(default, float) or share.value >= default:
        return
    if not facts.release.sure or not facts.release.at_least("0.20.2") or budget.outcome != "starts" or not budget.graphs_inside:
        return
    if (
        budget.cuda_graphs is None
        or budget.kv_available is None
        or budget.cuda_graphs.likely < limits.min_part * budget.kv_available.likely
    ):
        return
    yield Finding(
        place_of(args, "gpu_memory_utilization"),
        f"CUDA graphs take {budget.cuda_graphs.gib()} of the share since 0.20.2; {budget.kv_available.gib()} of cache is left",
        fixes=(Fix("capture fewer sizes: --max-cudagraph-capture-size 64", cost="larger batches run without graphs"),),
        notes=ledger_notes(facts, budget),
    )
