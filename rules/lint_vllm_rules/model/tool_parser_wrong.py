"""The tool parser belongs to another family.

Why: each family writes tool calls in its own form. A parser of another family leaves them in the text, or breaks on them, only when
the first tool call comes.
Instead: the parser of the family.
Wrong when: the checkpoint was tuned to another format, or a chat template makes it write one.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.examples import compose
from lint_vllm.facts.conversation import family_of
from lint_vllm.facts.served import parser_span
from lint_vllm.model_report import model_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_AUTO = "--enable-auto-tool-choice --tool-call-parser"


@rule(
    code="MDL051",
    name="tool-parser-wrong",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 tool_parsers/__init__.py", "QwenLM/Qwen3-Coder#537", "NousResearch/hermes-agent#39099"),
    bad=(
        Bad(f"vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct {_AUTO} hermes\n", mark="hermes"),
        Bad(
            compose("Qwen/Qwen3.6-35B-A3B-FP8", "--enable-auto-tool-choice", "--tool-call-parser=pythonic"),
            name="compose.yaml",
            mark="pythonic",
        ),
    ),
    good=(
        Good(f"vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct {_AUTO} qwen3_xml\n"),
        Good(f'vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct {_AUTO} "$PARSER"\n'),
        Good(f"vllm serve acme/assistant-7b {_AUTO} pythonic\n"),
        Good(f"vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct {_AUTO} mine --tool-parser-plugin mine.py --chat-template t.jinja\n"),
    ),
)
def tool_parser_wrong(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("tool_call_parser")
    if argument is None or argument.value_span is None or not isinstance(argument.value, str) or not isinstance(args.model, str):
        return
    if args.given("tool_parser_plugin") or args.given("chat_template") or model_of(facts) is None:
        return
    family, release = family_of(args.model, "tool"), facts.release.version
    span = parser_span("tool", argument.value)
    if family is None or span is None or not span.holds(release) or argument.value in (*family.parsers, "hf"):
        return
    there = [p for p in family.parsers if (s := parser_span("tool", p)) is not None and s.holds(release)]
    if not there:
        return
    edits = replace_value(argument, there[0])
    yield Finding(
        argument.value_span,
        f"{family.name} models write tool calls that {argument.value} does not read: calls stay in the text of the answer",
        fixes=(
            Fix(f"use {there[0]}", edits, Applicability.UNSAFE if edits else Applicability.DISPLAY),
            *(Fix(f"or {other}", applicability=Applicability.DISPLAY) for other in there[1:]),
        ),
    )
