"""A flag is given twice.

Why: the last one wins, with dashes or underscores alike; the other is dead text that somebody will edit one day.
Instead: one of them.
Wrong when: a wrapper adds the second on purpose, to override.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Label, Severity, rule


@rule(
    code="ARG014",
    name="duplicate-flag",
    severity=Severity.WARNING,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 utils/argparse_utils.py",),
    bad=(Bad("vllm serve Qwen/Qwen3-8B --max-model-len 8192 --max_model_len 4096\n", mark="--max-model-len"),),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 8192\n"),
        Good("vllm serve Qwen/Qwen3-8B --middleware a.b --middleware c.d\n"),
        Good('vllm serve Qwen/Qwen3-8B --max-model-len 8192 "$MORE"\n'),
    ),
)
def duplicate_flag(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        if problem.kind != "duplicate" or problem.argument is None:
            continue
        last = args.get(problem.argument.dest)
        first = next((a for a in args.arguments if a.dest == problem.argument.dest and a is not last), problem.argument)
        if last is None or first.conditional or last.conditional or first.from_config != last.from_config:
            continue
        if first.name_span.source is not last.name_span.source or first.name_span == last.name_span:
            continue
        yield Finding(
            first.name_span,
            f"{first.flag} is given twice: {last.raw if last.raw is not None else 'the last one'} wins, this one has no effect",
            fixes=(Fix("leave this one out", edits=remove_argument(first), applicability=Applicability.UNSAFE, verified=True),),
            related=(Label(last.name_span, "the one that counts"),),
        )
