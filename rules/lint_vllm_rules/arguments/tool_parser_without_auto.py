"""One tool flag without the other.

Why: a `--tool-call-parser` is used only with `--enable-auto-tool-choice`; without the switch tool calls come back as plain text.
The switch without a parser is refused at argument parsing.
Instead: give both flags.
Wrong when: clients force a tool by name, which needs no parser.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import add_flag
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG060",
    name="tool-parser-without-auto",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 entrypoints/openai/cli_args.py validate_parsed_serve_args", "vllm-project/vllm#55754"),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --tool-call-parser hermes\n", mark="--tool-call-parser"),
        Bad("vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice\n", mark="--enable-auto-tool-choice"),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice --tool-call-parser hermes\n"),
        Good('vllm serve Qwen/Qwen3-8B --tool-call-parser hermes "$MORE"\n'),
    ),
)
def tool_parser_without_auto(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    parser, switch = args.get("tool_call_parser"), args.get("enable_auto_tool_choice")
    if not args.complete or args.form == "python":
        return
    if parser is not None and switch is None and parser.value is not None:
        edits = add_flag(args, "--enable-auto-tool-choice")
        yield Finding(
            parser.name_span,
            "the tool parser is not used without --enable-auto-tool-choice: tool calls come back as text",
            fixes=(
                Fix(
                    "add --enable-auto-tool-choice",
                    edits=edits,
                    applicability=Applicability.SAFE if edits else Applicability.DISPLAY,
                ),
            ),
        )
    elif switch is not None and switch.value is True and parser is None and not switch.conditional:
        yield Finding(
            switch.name_span,
            "--enable-auto-tool-choice needs --tool-call-parser: argument parsing refuses it alone",
            fixes=(Fix("add --tool-call-parser with the parser of the model's family"),),
            severity=Severity.ERROR if args.launch.wrapper is None else Severity.WARNING,
        )
