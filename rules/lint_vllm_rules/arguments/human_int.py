"""A number with a suffix that means something else, or nothing.

Why: in vLLM `32k` is 32000 and `32K` is 32768; a capital suffix takes no decimals (`32.5K` is refused), and a comma is never
allowed. A length of 32000 where 32768 was meant is served without a word.
Instead: the number itself, or a capital K.
Wrong when: 32000 was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.edits import replace_value
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_POWERS_OF_TWO = re.compile(r"(2|4|8|16|32|64|128|256|512)k")


@rule(
    code="ARG013",
    name="human-int",
    severity=Severity.INFO,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 utils/argparse_utils.py human_readable_int",),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --max-model-len 32k\n", mark="32k"),
        Bad("vllm serve Qwen/Qwen3-8B --max-model-len 32.5K\n", mark="32.5K"),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 32K\n"),
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 25k\n"),
        Good('vllm serve Qwen/Qwen3-8B --max-model-len "$LEN"\n'),
    ),
)
def human_int(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        if problem.is_error and cause_of(problem, args) == "human_integer":
            yield Finding(
                problem.span,
                f"{problem.value} is no number for {problem.known_flag or problem.flag} in vLLM {facts.release.version}: argument parsing refuses it",
                fixes=(Fix("write the plain number"),),
                severity=Severity.ERROR,
            )
    argument = args.get("max_model_len")
    if argument is None or argument.value_span is None or not argument.known or not isinstance(argument.value, int):
        return
    match = _POWERS_OF_TWO.fullmatch(argument.raw or "")
    if match:
        binary = int(match[1]) * 1024
        yield Finding(
            argument.value_span,
            f"{argument.raw} is {argument.value:,} tokens; {match[1]}K would be {binary:,}",
            fixes=(
                Fix(
                    f"write {match[1]}K for {binary:,}, or {argument.value} for {argument.value:,}",
                    edits=replace_value(argument, str(argument.value)),
                    applicability=Applicability.UNSAFE,
                    verified=True,
                ),
            ),
        )
