"""Prefix caching is switched off.

Why: requests that share a beginning (a system prompt, a conversation) reuse its cache blocks at no cost in memory; without it
every request computes them again.
Instead: leave the flag out; prefix caching is on by default.
Wrong when: prompts never share a beginning, or a benchmark must not profit from it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="PRF002",
    name="prefix-caching-off",
    severity=Severity.INFO,
    since="0.1",
    strict=True,
    sources=("vllm==0.33.0 engine/arg_utils.py EngineArgs",),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --no-enable-prefix-caching\n",
            mark="--no-enable-prefix-caching",
            facts={"vllm_version": "0.33.0"},
            profile="strict",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B\n", profile="strict"),
        Good('vllm serve Qwen/Qwen3-8B "$CACHING"\n', profile="strict"),
    ),
)
def prefix_caching_off(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("enable_prefix_caching")
    if argument is None or argument.value is not False or args.value("runner") == "pooling":
        return
    yield Finding(
        argument.name_span,
        "prefix caching is switched off: shared beginnings of prompts are computed again for every request",
        fixes=(Fix("leave the flag out", edits=remove_argument(argument), applicability=Applicability.UNSAFE),),
    )
