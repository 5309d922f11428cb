"""CUDA graphs do not fit beside the share.

Why: up to 0.20.1 graphs are captured after the cache has taken the whole share; they must fit into what the share leaves.
Where it leaves too little, capture runs out of memory at the end of a long start.
Instead: a lower share, fewer capture sizes (lower `--max-num-seqs` or `--max-cudagraph-capture-size`); `--enforce-eager` last.
Wrong when: your model captures fewer graphs than public start-ups show.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.edits import add_flag, replace_value
from lint_vllm.memory_report import ledger_notes, place_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="MEM020",
    name="oom-cudagraph",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.9.1 v1/worker/gpu_model_runner.py capture_model", "vllm-project/vllm#19186", "vllm-project/vllm#11251"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.98\n",
            mark="0.98",
            facts={"gpu": "NVIDIA A10G", "gpu_count": "1", "vllm_version": "0.9.1"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192\n", facts={"gpu": "NVIDIA A10G", "vllm_version": "0.9.1"}),
        Good(
            'vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization "$SHARE"\n',
            facts={"gpu": "NVIDIA A10G", "vllm_version": "0.9.1"},
        ),
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.98 --enforce-eager\n",
            facts={"gpu": "NVIDIA A10G", "vllm_version": "0.9.1"},
        ),
    ),
)
def oom_cudagraph(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    budget = facts.budget
    if (
        budget.graphs_inside
        or budget.total is None
        or budget.requested is None
        or budget.cuda_graphs is None
        or not facts.release.sure
    ):
        return
    if budget.outcome not in ("starts", "oom_profile") or budget.cuda_graphs.likely <= 0 or args.given("kv_cache_memory_bytes"):
        return
    left = Quantity(
        budget.total.low - budget.requested.low,
        budget.total.likely - budget.requested.likely,
        budget.total.high - budget.requested.high,
    )
    context = 0.3 * GIB
    if left.likely >= budget.cuda_graphs.likely + context:
        return
    yield Finding(
        place_of(args, "gpu_memory_utilization"),
        f"vLLM {facts.release.version} captures CUDA graphs outside the share: {budget.cuda_graphs.gib()} of graphs and the CUDA context "
        f"must fit into {left.gib()}; graph capture is likely to run out of memory",
        fixes=tuple(_ways(args, facts)),
        notes=ledger_notes(facts, budget),
    )


def _ways(args: ArgumentSet, facts: Facts) -> Iterator[Fix]:
    for share in (0.95, 0.92, 0.9, 0.88, 0.85):
        budget = facts.rebudget({"gpu_memory_utilization": share})
        if budget.total is None or budget.cuda_graphs is None or budget.outcome != "starts":
            continue
        if (1 - share) * budget.total.likely < budget.cuda_graphs.likely + 0.5 * GIB:
            continue
        argument = args.get("gpu_memory_utilization")
        edits = (
            replace_value(argument, f"{share:g}")
            if argument is not None
            else add_flag(args, "--gpu-memory-utilization", f"{share:g}")
        )
        yield Fix(f"lower the share to {share:g}", edits, Applicability.UNSAFE, "a smaller KV pool", verified=True)
        return
