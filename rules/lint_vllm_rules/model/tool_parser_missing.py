"""Clients send tools, the server has no tool parser.

Why: without `--enable-auto-tool-choice` and `--tool-call-parser` a request with tools and automatic choice is answered with HTTP 400.
Instead: both flags, with the parser of the model's family.
Wrong when: the client that sends tools talks to another server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.edits import add_flag
from lint_vllm.facts.conversation import family_of
from lint_vllm.facts.served import parser_span
from lint_vllm.model_report import model_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_TOOLS = re.compile(r"""["']?tool_choice["']?\s*[=:]\s*["'](?:auto|required)["']""")
_CLIENTS = (".py", ".ts", ".js", ".json", ".yaml", ".yml")
_CLIENT = 'client.chat.completions.create(model="Qwen/Qwen3-8B", messages=m, tools=t, tool_choice="auto")\n'


@rule(
    code="MDL050",
    name="tool-parser-missing",
    severity=Severity.INFO,
    since="0.1",
    sources=(
        "vllm==0.33.0 entrypoints/openai/chat_completion/serving.py",
        "langchain4j/langchain4j#3475",
        "vllm-project/vllm#9986",
    ),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B\n", mark="Qwen/Qwen3-8B", files={"client.py": _CLIENT}),
        Bad(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n    command: --model Qwen/Qwen3-8B\n",
            name="compose.yaml",
            mark="Qwen/Qwen3-8B",
            files={"client.py": _CLIENT},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen3-8B --enable-auto-tool-choice --tool-call-parser hermes\n",
            files={"client.py": _CLIENT},
        ),
        Good("vllm serve Qwen/Qwen3-8B $MORE\n", files={"client.py": _CLIENT}),
        Good("vllm serve Qwen/Qwen3-8B\n"),
    ),
)
def tool_parser_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.form == "python" or not args.complete or args.launch.passage == "doc" or args.launch.wrapper is not None:
        return
    if (
        args.given("enable_auto_tool_choice")
        or args.given("tool_call_parser")
        or not isinstance(args.model, str)
        or args.model_span is None
    ):
        return
    names = args.value("served_model_name")
    served = [n for n in (names if isinstance(names, (list, tuple)) else [names]) if isinstance(n, str)] or [args.model]
    if any(len(name) < 4 for name in served):
        return
    client = next(
        (
            f.path
            for f in facts.repository.beside(_CLIENTS)
            if f.path != args.launch.path and any(n in f.text for n in served) and _TOOLS.search(f.text)
        ),
        None,
    )
    if client is None:
        return
    family = family_of(args.model, "tool")
    known = (
        [p for p in family.parsers if (s := parser_span("tool", p)) is not None and s.holds(facts.release.version)]
        if family
        else []
    )
    fixes = [
        Fix("add --enable-auto-tool-choice and --tool-call-parser with the family's parser", applicability=Applicability.DISPLAY)
    ]
    if known:
        edits = add_flag(args, "--enable-auto-tool-choice")
        fixes = [Fix(f"add --enable-auto-tool-choice and --tool-call-parser {known[0]}", applicability=Applicability.DISPLAY)]
        if edits and len(edits) == 1 and edits[0].text.startswith(" "):
            both = type(edits[0])(edits[0].span, f"{edits[0].text} --tool-call-parser {known[0]}")
            fixes = [Fix(fixes[0].title, (both,), Applicability.UNSAFE)]
    yield Finding(
        model_place(args),
        f"{client} asks this server for tools, but it starts without a tool parser: such requests get HTTP 400",
        fixes=tuple(fixes),
    )
