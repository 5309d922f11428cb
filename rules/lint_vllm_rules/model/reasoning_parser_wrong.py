"""The reasoning parser belongs to another family.

Why: each family marks its thinking in its own way, and not all mark its start. A parser of another family puts the thinking into the
answer, or the answer into the thinking.
Instead: the parser of the family.
Wrong when: the checkpoint was tuned to another format.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.examples import compose
from lint_vllm.facts.conversation import family_of
from lint_vllm.facts.served import parser_span
from lint_vllm.model_report import model_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="MDL052",
    name="reasoning-parser-wrong",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 reasoning/__init__.py", "vllm-project/vllm#29408", "vllm-project/vllm#13125"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-VL-30B-A3B-Thinking-FP8 --reasoning-parser deepseek_r1\n",
            mark="deepseek_r1",
            facts={"vllm_version": "0.11.2"},
        ),
        Bad(compose("openai/gpt-oss-20b", "--reasoning-parser=qwen3"), name="compose.yaml", mark="qwen3"),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-VL-30B-A3B-Thinking-FP8 --reasoning-parser qwen3\n"),
        Good('vllm serve Qwen/Qwen3-VL-30B-A3B-Thinking-FP8 --reasoning-parser "$PARSER"\n'),
        Good("vllm serve Qwen/Qwen3-8B --reasoning-parser deepseek_r1\n"),
    ),
)
def reasoning_parser_wrong(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("reasoning_parser")
    if argument is None or argument.value_span is None or not isinstance(argument.value, str) or not isinstance(args.model, str):
        return
    if args.given("reasoning_parser_plugin") or args.given("chat_template") or model_of(facts) is None:
        return
    family, release = family_of(args.model, "reasoning"), facts.release.version
    span = parser_span("reasoning", argument.value)
    if family is None or span is None or not span.holds(release) or argument.value in (*family.parsers, "hf"):
        return
    there = [p for p in family.parsers if (s := parser_span("reasoning", p)) is not None and s.holds(release)]
    if not there:
        return
    edits = replace_value(argument, there[0])
    yield Finding(
        argument.value_span,
        f"{family.name} models mark their thinking in a way that {argument.value} does not read: thinking and answer get mixed up",
        fixes=(Fix(f"use {there[0]}", edits, Applicability.UNSAFE if edits else Applicability.DISPLAY),),
    )
