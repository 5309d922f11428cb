"""The weights alone do not fit.

Why: each GPU loads its part of the weights before anything else is sized. Where they exceed the card, loading dies of
out-of-memory; where they exceed the share, nothing is left for a cache.
Instead: more GPUs (`--tensor-parallel-size`), or a quantized checkpoint of the model. Lowering `--gpu-memory-utilization`
does not help, whatever the message of the failure says.
Wrong when: the checkpoint of a fork is smaller than the facts of its base model.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.memory_report import fixes, gib, ledger_notes, model_place, severity_of
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Known, Severity, rule


@rule(
    code="MEM001",
    name="oom-load",
    severity=Severity.ERROR,
    since="0.1",
    sources=(
        "vllm==0.33.0 v1/worker/gpu_worker.py determine_available_memory",
        "vllm-project/vllm#5714",
        "noonghunna/club-3090#32",
    ),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-14B-Instruct\n",
            mark="Qwen/Qwen2.5-14B-Instruct",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
        Bad(
            "from vllm import LLM\n\nllm = LLM('meta-llama/Llama-3.1-70B-Instruct')\n",
            name="run.py",
            mark="meta-llama/Llama-3.1-70B-Instruct",
            facts={"gpu": "H100", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192\n", facts={"gpu": "RTX 4090"}),
        Good("vllm serve Qwen/Qwen2.5-14B-Instruct -tp 2 --max-model-len 8192\n", facts={"gpu": "RTX 4090", "gpu_count": "2"}),
        Good('vllm serve "$MODEL"\n', facts={"gpu": "RTX 4090"}),
        Good("vllm serve Qwen/Qwen2.5-14B-Instruct\n"),
    ),
)
def oom_load(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    budget = facts.budget
    severity = severity_of(budget, facts)
    if budget.outcome != "oom_load" or severity is None or budget.weights is None or args.given("cpu_offload_gb"):
        return
    card = facts.gpu.value.name if isinstance(facts.gpu, Known) else "the card"
    total = budget.total
    alone = total is not None and budget.weights.low > total.high
    what = f"the weights take {budget.weights.gib()} on each GPU, {card} has {gib(total.high) if total is not None else 'less'}"
    if not alone and budget.load_peak is not None:
        what = (
            f"loading peaks at {budget.load_peak.gib()} on each GPU, {card} has {gib(total.high) if total is not None else 'less'}"
        )
    yield Finding(
        model_place(args),
        f"{what}: weight loading runs out of memory",
        fixes=fixes(args, facts, budget, only=("model", "tensor_parallel_size")),
        notes=ledger_notes(facts, budget),
        severity=severity,
    )
