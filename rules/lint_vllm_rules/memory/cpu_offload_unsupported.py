"""CPU offload is too small.

Why: `--cpu-offload-gb` keeps that much of the weights on the host, per GPU. What is left on the card must still leave room for
activations and one full-length request; where it does not, start-up fails when memory is sized.
Instead: a larger offload (slow: weights cross the bus every step), a quantized checkpoint, or more GPUs.
Wrong when: never seen; the rule speaks only where the engine's best case fails.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB
from lint_vllm.edits import replace_value
from lint_vllm.memory_report import fixes, gib, ledger_notes, severity_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="MEM002",
    name="cpu-offload-unsupported",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 config/offload.py", "vllm-project/vllm#9339"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-32B-Instruct --cpu-offload-gb 10 --max-model-len 8192\n",
            mark="10",
            facts={"gpu": "NVIDIA RTX A6000", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-32B-Instruct --cpu-offload-gb 30 --max-model-len 8192\n", facts={"gpu": "NVIDIA RTX A6000"}),
        Good('vllm serve Qwen/Qwen2.5-32B-Instruct --cpu-offload-gb "$GB"\n', facts={"gpu": "NVIDIA RTX A6000"}),
    ),
)
def cpu_offload_unsupported(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, budget = args.get("cpu_offload_gb"), facts.budget
    severity = severity_of(budget, facts)
    if argument is None or argument.value_span is None or not isinstance(argument.value, (int, float)) or argument.value <= 0:
        return
    if not budget.fails or budget.outcome in ("arg_error", "refused_free_memory") or severity is None or budget.weights is None:
        return
    yield Finding(
        argument.value_span,
        f"with {argument.value:g} GiB on the host {gib(budget.weights.likely)} of weights stay on each GPU: "
        f"{'loading runs out of memory' if budget.outcome == 'oom_load' else f'{budget.phase} fails, too little is left for a cache'}",
        fixes=(
            *_larger(args, facts),
            *fixes(args, facts, budget, only=("model", "tensor_parallel_size", "max_model_len", "kv_cache_dtype")),
        ),
        notes=ledger_notes(facts, budget),
        severity=severity,
    )


def _larger(args: ArgumentSet, facts: Facts) -> Iterator[Fix]:
    argument, budget = args.get("cpu_offload_gb"), facts.budget
    if argument is None or budget.weights is None or not isinstance(argument.value, (int, float)):
        return
    most = int(argument.value + budget.weights.likely / GIB)
    for offload in range(5 * math.ceil((argument.value + 1) / 5), most, 5):
        if facts.rebudget({"cpu_offload_gb": float(offload)}).outcome == "starts":
            edits = replace_value(argument, str(offload))
            yield Fix(
                f"offload {offload} GiB",
                edits=edits,
                applicability=Applicability.UNSAFE if edits else Applicability.DISPLAY,
                cost="every step moves these weights over the bus",
                verified=True,
            )
            return
