"""More sequences than the state cache has blocks.

Why: models with Mamba or linear-attention layers keep one state block for each running sequence. When `--max-num-seqs` exceeds
the number of blocks, start-up ends at graph capture; the default (1024 on large cards) often does.
Instead: `--max-num-seqs` at the concurrency you need.
Wrong when: the pool comes out larger than the engine's best case.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import add_flag, replace_value
from lint_vllm.memory_report import ledger_notes, place_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Known, Severity, rule


@rule(
    code="MEM030",
    name="hybrid-max-num-seqs",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.28.0 v1/worker/gpu_model_runner.py", "vllm-project/vllm#38632", "vllm-project/vllm#49064"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct-FP8 -tp 2 --max-model-len 262144 --max-num-seqs 4096\n",
            mark="4096",
            facts={"gpu": "NVIDIA H100 80GB HBM3", "gpu_count": "2", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen3-Next-80B-A3B-Instruct-FP8 -tp 2 --max-model-len 32768 --max-num-seqs 64\n",
            facts={"gpu": "NVIDIA H100 80GB HBM3", "gpu_count": "2", "vllm_version": "0.33.0"},
        ),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-num-seqs 1024\n", facts={"gpu": "H100", "vllm_version": "0.33.0"}),
        Good('vllm serve "$MODEL" --max-num-seqs 4096\n', facts={"gpu": "H100", "vllm_version": "0.33.0"}),
    ),
)
def hybrid_max_num_seqs(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    budget = facts.budget
    if not isinstance(facts.model, Known) or not facts.model.value.hybrid_state or not facts.release.at_least("0.18.1"):
        return
    if budget.outcome != "starts" or budget.kv_available is None or not budget.bytes_per_block or budget.max_num_seqs is None:
        return
    blocks = budget.kv_available.scaled(1 / budget.bytes_per_block)
    if args.value("enforce_eager") is True or blocks.likely >= budget.max_num_seqs:
        return
    given = args.get("max_num_seqs")
    if given is not None and not given.known:
        return
    by_default = (
        "" if given is not None else f" by default on {facts.gpu.value.name}" if isinstance(facts.gpu, Known) else " by default"
    )
    certain = blocks.high < budget.max_num_seqs
    yield Finding(
        place_of(args, "max_num_seqs"),
        f"{budget.max_num_seqs} sequences{by_default} need a state block each, the pool has {blocks.low:.0f} to {blocks.high:.0f}: start-up ends "
        "at graph capture",
        fixes=tuple(_fewer(args, facts, blocks.low)),
        notes=ledger_notes(facts, budget),
        severity=Severity.ERROR if certain and facts.model.value.exact else Severity.WARNING,
    )


def _fewer(args: ArgumentSet, facts: Facts, most: float) -> Iterator[Fix]:
    wanted = facts.workload.concurrency
    sequences = next((n for n in (512, 256, 128, 64, 32, 16, 8) if n < most), 4)
    stated = wanted is not None and wanted.value <= most
    if wanted is not None and stated:
        sequences = wanted.value
    argument = args.get("max_num_seqs")
    edits = replace_value(argument, str(sequences)) if argument is not None else add_flag(args, "--max-num-seqs", str(sequences))
    yield Fix(
        f"set --max-num-seqs {sequences}",
        edits,
        Applicability.SAFE if stated and edits else Applicability.UNSAFE,
        "" if stated else "requests beyond that wait in the queue",
        verified=True,
    )
