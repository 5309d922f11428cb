"""Batched tokens below the number of sequences.

Why: every running sequence needs one token a step; SchedulerConfig refuses `--max-num-batched-tokens` below `--max-num-seqs`.
Instead: raise the one or lower the other.
Wrong when: never; the check is in every release.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG072",
    name="mbt-lt-seqs",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/scheduler.py SchedulerConfig",),
    bad=(Bad("vllm serve Qwen/Qwen3-8B --max-num-seqs 512 --max-num-batched-tokens 256\n", mark="256"),),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-num-seqs 256 --max-num-batched-tokens 2048\n"),
        Good("vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 64\n"),
        Good('vllm serve Qwen/Qwen3-8B --max-num-seqs "$N" --max-num-batched-tokens 256\n'),
    ),
)
def mbt_lt_seqs(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    batched, sequences = args.get("max_num_batched_tokens"), args.get("max_num_seqs")
    if batched is None or sequences is None or batched.value_span is None or batched.conditional or sequences.conditional:
        return
    if isinstance(batched.value, int) and isinstance(sequences.value, int) and 0 < batched.value < sequences.value:
        yield Finding(
            batched.value_span,
            f"{batched.value} batched tokens cannot serve {sequences.value} sequences, each needs one a step: the scheduler's "
            "configuration refuses it",
            fixes=(
                Fix(f"raise --max-num-batched-tokens to {max(2048, sequences.value)}"),
                Fix(f"lower --max-num-seqs to {batched.value}"),
            ),
        )
