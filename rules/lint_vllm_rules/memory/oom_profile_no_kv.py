"""Nothing is left for a cache.

Why: after the weights are loaded a profile run measures activations; weights, activations and graphs together take the whole
share, and "no available memory for the cache blocks" ends the start.
Instead: more GPUs, a quantized checkpoint, or smaller batches (`--max-num-batched-tokens`, `--max-num-seqs`) where the profile
run is what is large. A lower share makes it worse.
Wrong when: the measured items of your build differ from those of public start-ups; save a log with `lint-vllm log --save`.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.judgement import fails_by_images, raises_share
from lint_vllm.memory_report import fixes, ledger_notes, model_place, severity_of
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Severity, rule


@rule(
    code="MEM011",
    name="oom-profile-no-kv",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 v1/core/kv_cache_planning.py get_kv_cache_configs", "vllm-project/vllm#2248", "QwenLM/Qwen3#12"),
    bad=(
        Bad(
            "vllm serve mistralai/Mistral-Nemo-Instruct-2407 --max-model-len 4096\n",
            mark="mistralai/Mistral-Nemo-Instruct-2407",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 4096\n", facts={"gpu": "RTX 4090"}),
        Good('vllm serve "$MODEL" --max-model-len 4096\n', facts={"gpu": "RTX 4090"}),
    ),
)
def oom_profile_no_kv(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    budget = facts.budget
    severity = severity_of(budget, facts)
    if budget.outcome != "oom_profile" or severity is None or budget.weights is None or budget.requested is None:
        return
    if args.given("cpu_offload_gb") or raises_share(args, facts) is not None:
        return
    if budget.kv_available is not None and budget.kv_available.likely > 0:  # graph capture fails, which has its own rule
        return
    if fails_by_images(facts):
        return
    yield Finding(
        model_place(args),
        f"weights take {budget.weights.gib()} of a share of {budget.requested.gib()} on each GPU; activations take the rest: nothing is "
        "left for a cache and profiling ends the start",
        fixes=fixes(args, facts, budget),
        notes=ledger_notes(facts, budget),
        severity=severity,
    )
