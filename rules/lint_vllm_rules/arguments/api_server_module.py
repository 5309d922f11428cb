"""The deprecated module entry point.

Why: `python -m vllm.entrypoints.openai.api_server` is marked deprecated in 0.33 and reads some things differently than
`vllm serve` (a positional model is ignored).
Instead: `vllm serve MODEL`.
Wrong when: something else imports the module. Silent where no release is stated.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.launch import Launch
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, Span, rule

_MODULE = "vllm.entrypoints.openai.api_server"


@rule(
    code="ARG026",
    name="api-server-module",
    severity=Severity.INFO,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 entrypoints/openai/api_server.py",),
    bad=(
        Bad(
            "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B\n",
            mark="vllm.entrypoints.openai.api_server",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B\n"),
        Good("python -m vllm.entrypoints.openai.api_server --model $MODEL\n", facts={"vllm_version": "0.9.0"}),
        Good("python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B\n"),
    ),
)
def api_server_module(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.launch.form == "api_server" and facts.release.sure and facts.release.at_least("0.33.0"):
        yield Finding(
            _module(args.launch),
            "the api_server module is deprecated as an entry point",
            fixes=(Fix("start it with: vllm serve MODEL ..."),),
        )


def _module(launch: Launch) -> Span:
    """The module's name where the command spells it out, else the command."""
    source, block = launch.source, launch.block
    at = source.text.find(_MODULE, launch.command.start, max(block.end, launch.command.end))
    return Span(source, at, at + len(_MODULE)) if at >= 0 else launch.command
