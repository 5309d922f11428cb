"""Batch limits far above what the card can run.

Why: `--max-num-seqs` and `--max-num-batched-tokens` size the profile run: sampler copies grow with sequences x vocabulary,
activations with batched tokens. What they take is missing in the cache, which then cannot hold that many sequences anyway.
Instead: limits near what the pool holds.
Wrong when: requests are only a few tokens long.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.memory_report import ledger_notes
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Options, Severity, rule


class Limits(Options):
    min_tokens: int = 64
    """Cache tokens a sequence that are taken for too few."""
    min_sequences: int = 2048
    """Smaller explicit limits are left alone."""
    max_activation_share: float = 0.4


@rule(
    code="MEM032",
    name="batch-too-large",
    severity=Severity.WARNING,
    since="0.1",
    options=Limits,
    sources=("vllm==0.33.0 v1/worker/gpu_model_runner.py profile_run", "vllm-project/vllm#14632"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-72B-Instruct -tp 4 --max-model-len 8192 --max-num-seqs 8192 --max-num-batched-tokens 16384\n",
            mark="8192",
            facts={"gpu": "NVIDIA H100 80GB HBM3", "gpu_count": "4", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen2.5-72B-Instruct -tp 4 --max-model-len 8192 --max-num-seqs 512\n",
            facts={"gpu": "NVIDIA H100 80GB HBM3", "gpu_count": "4", "vllm_version": "0.33.0"},
        ),
        Good('vllm serve Qwen/Qwen2.5-72B-Instruct -tp 4 --max-num-seqs "$N"\n', facts={"gpu": "H100", "gpu_count": "4"}),
    ),
)
def batch_too_large(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    budget = facts.budget
    sequences, batched = args.get("max_num_seqs"), args.get("max_num_batched_tokens")
    if (
        budget.tokens is None
        or budget.requested is None
        or budget.activations is None
        or budget.outcome in ("unknown", "arg_error")
    ):
        return
    if (
        sequences is not None
        and isinstance(sequences.value, int)
        and sequences.value >= limits.min_sequences
        and sequences.value_span
    ):
        each = budget.tokens.likely / sequences.value
        if each < limits.min_tokens:
            better = next((n for n in (1024, 512, 256, 128) if budget.tokens.likely / n >= 4 * limits.min_tokens), 64)
            edits = replace_value(sequences, str(better))
            yield Finding(
                sequences.value_span,
                f"{sequences.value:,} sequences share a pool of about {int(budget.tokens.likely):,} tokens, {each:.0f} each; the profile run for "
                f"them takes {budget.activations.gib()} of the share",
                fixes=(Fix(f"set {better}", edits, Applicability.UNSAFE, "requests beyond that wait in the queue"),),
                notes=ledger_notes(facts, budget),
            )
            return
    if batched is not None and isinstance(batched.value, int) and batched.value > 16384 and batched.value_span is not None:
        if budget.activations.likely < limits.max_activation_share * budget.requested.likely:
            return
        edits = replace_value(batched, "8192")
        yield Finding(
            batched.value_span,
            f"the profile run for {batched.value:,} batched tokens takes {budget.activations.gib()} of a share of {budget.requested.gib()}",
            fixes=(Fix("set 8192", edits, Applicability.UNSAFE, "slower prompt processing"),),
            notes=ledger_notes(facts, budget),
        )
