"""A value that the release's parser refuses.

Why: wrong type, not one of the choices, or missing: argument parsing stops, the server does not start.
Instead: a value the option takes; choices are those of the release.
Wrong when: a plug-in adds choices.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.edits import replace_value
from lint_vllm.judgement import softened
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG015",
    name="bad-value",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 engine/arg_utils.py EngineArgs.add_cli_args",),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --dtype fp16\n", mark="fp16", facts={"vllm_version": "0.33.0"}),
        Bad("vllm serve Qwen/Qwen3-8B --max-num-seqs many\n", mark="many", facts={"vllm_version": "0.33.0"}),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --dtype float16\n"),
        Good('vllm serve Qwen/Qwen3-8B --dtype "$DTYPE"\n'),
    ),
)
def bad_value(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "bad_value":
            continue
        near = problem.suggestions[:1]
        yield Finding(
            problem.span,
            f"vLLM {facts.release.version} refuses this argument: {problem.message}",
            fixes=tuple(
                Fix(
                    f"write {value}",
                    edits=replace_value(problem.argument, value) if problem.argument is not None else (),
                    applicability=Applicability.UNSAFE,
                )
                for value in near
            ),
            severity=softened(facts, Severity.ERROR),
        )
    for problem in args.late_problems:
        if problem.is_error and problem.kind == "bad_value":
            yield Finding(
                problem.span,
                f"vLLM {facts.release.version} parses this, and its configuration then refuses it: {problem.message}",
                severity=softened(facts, Severity.ERROR),
            )
