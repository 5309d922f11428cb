"""An option of another serving program.

Why: vLLM's parser does not know it and refuses the launch, or reads it as something else: 0.33 takes `-ngl` for `--nnodes gl`
and `-c` for `--compilation-config`.
Instead: vLLM's own option for the same thing.
Wrong when: a plug-in adds an option of that name.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of, foreign_program, written_option
from lint_vllm.edits import remove_words
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, Span, rule


@rule(
    code="ARG002",
    name="foreign-flag",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("data set foreign_flags.json", "containers/ramalama#758"),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --ctx-size 8192\n", mark="--ctx-size"),
        Bad("vllm serve Qwen/Qwen3-8B --mem-fraction-static=0.8\n", mark="--mem-fraction-static"),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 8192\n"),
        Good('vllm serve Qwen/Qwen3-8B "$OPTIONS"\n'),
    ),
)
def foreign_flag(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "foreign":
            continue
        word = written_option(problem)
        written = (word.value if word is not None else problem.span.text).split("=")[0]
        found = foreign_program(written) or foreign_program(problem.flag or "")
        if found is None:
            continue
        program, own = found
        place = problem.span
        if word is not None and word.content.value:
            place = word.content[: len(written)].span
        fixes = [Fix(f"use {own}" if own else "leave it out: vLLM has no such setting")]
        if own is None and problem.words:
            fixes[0] = Fix(fixes[0].title, edits=remove_words(problem.words), applicability=Applicability.UNSAFE)
        yield Finding(
            Span(place.source, place.start, place.end),
            f"{written} is an option of {program}; vLLM's argument parser refuses it",
            fixes=tuple(fixes),
        )
