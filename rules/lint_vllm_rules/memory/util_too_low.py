"""The share is too small for weights and profile run.

Why: `--gpu-memory-utilization` bounds weights, activations, graphs and cache together. Below what the first three take nothing
is left for the cache, and start-up ends, on a card that has room.
Instead: raise the share to what the model needs.
Wrong when: another process needs the rest of the card; then the model does not fit beside it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.judgement import raises_share
from lint_vllm.memory_report import ledger_notes, severity_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="MEM012",
    name="util-too-low",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 v1/worker/utils.py request_memory", "vllm-project/vllm#3345"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --gpu-memory-utilization 0.10 --max-model-len 4096\n",
            mark="0.10",
            facts={"gpu": "NVIDIA RTX A6000", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --gpu-memory-utilization 0.30 --max-model-len 4096\n",
            facts={"gpu": "NVIDIA RTX A6000"},
        ),
        Good('vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --gpu-memory-utilization "$SHARE"\n', facts={"gpu": "NVIDIA RTX A6000"}),
    ),
)
def util_too_low(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, budget = args.get("gpu_memory_utilization"), facts.budget
    severity = severity_of(budget, facts)
    if argument is None or argument.value_span is None or severity is None or budget.requested is None or budget.weights is None:
        return
    needed = raises_share(args, facts)
    if needed is None:
        return
    edits = replace_value(argument, f"{needed:g}")
    yield Finding(
        argument.value_span,
        f"a share of {budget.requested.gib()} does not hold {budget.weights.gib()} of weights and the profile run: nothing is left for a "
        "cache, and start-up ends",
        fixes=(
            Fix(
                f"raise the share to {needed:g}",
                edits=edits,
                applicability=Applicability.SAFE if edits and not facts.siblings_in_scope else Applicability.UNSAFE,
                cost="memory of the card that others could use",
                verified=True,
            ),
        ),
        notes=ledger_notes(facts, budget),
        severity=severity,
    )
