"""A flag or value that a later release brings.

Why: the release in use does not know it: the argument parser refuses the launch.
Instead: a newer image, or do without.
Wrong when: the image holds another release than its tag says.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of, choice_added_in
from lint_vllm.judgement import softened
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG024",
    name="flag-too-new",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("data set flags/options.jsonl", "vllm-project/vllm#17609", "vllm-project/vllm#32521"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --attention-backend FLASHINFER\n", mark="--attention-backend", facts={"vllm_version": "0.9.0"}
        ),
        Bad("vllm serve Qwen/Qwen3-8B --reasoning-parser qwen3\n", mark="qwen3", facts={"vllm_version": "0.8.5"}),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --attention-backend FLASHINFER\n", facts={"vllm_version": "0.33.0"}),
        Good('vllm serve Qwen/Qwen3-8B --reasoning-parser "$PARSER"\n', facts={"vllm_version": "0.8.5"}),
    ),
)
def flag_too_new(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.form == "python":
        return
    for problem in (*args.problems, *args.late_problems):
        if not problem.is_error or cause_of(problem, args) != "too_new":
            continue
        what = problem.value if problem.kind == "bad_value" and problem.value else problem.flag or problem.span.text
        came = problem.introduced_in or choice_added_in(problem.known_flag, problem.value, facts.release.table)
        yield Finding(
            problem.span,
            f"{what} first appears in vLLM {came}; {facts.release.version} ({facts.release.origin}) refuses it {'at argument parsing' if problem.stage == 'parser' else 'when it configures itself'}",
            fixes=(Fix(f"use vLLM {came} or later"), Fix("leave it out")),
            severity=softened(facts, Severity.ERROR),
        )
