"""The deprecated module entry point.

Why: `python -m vllm.entrypoints.openai.api_server` is marked deprecated in 0.33 and reads some things differently than
`vllm serve` (a positional model is ignored).
Instead: `vllm serve MODEL`.
Wrong when: the release is too old to have `vllm serve`.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG026",
    name="api-server-module",
    severity=Severity.INFO,
    since="0.1",
    strict=True,
    docs=True,
    sources=("vllm==0.33.0 entrypoints/openai/api_server.py",),
    bad=(
        Bad(
            "python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B\n",
            facts={"vllm_version": "0.33.0"},
            profile="strict",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B\n", profile="strict"),
        Good("python -m vllm.entrypoints.openai.api_server --model $MODEL\n", facts={"vllm_version": "0.9.0"}, profile="strict"),
    ),
)
def api_server_module(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.launch.form == "api_server" and facts.release.at_least("0.33.0"):
        yield Finding(
            args.launch.command,
            "the api_server module is deprecated as an entry point",
            fixes=(Fix("start it with: vllm serve MODEL ..."),),
        )
