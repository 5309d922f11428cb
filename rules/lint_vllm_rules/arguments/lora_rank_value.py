"""--max-lora-rank takes only certain values.

Why: kernels exist for a few ranks; anything else is refused, by the parser since 0.11.1, by LoRAConfig before.
Instead: the next allowed value at or above the adapters' rank.
Wrong when: never; the list is the release's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.facts.release_facts import allowed_lora_ranks
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG061",
    name="lora-rank-value",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 config/lora.py LoRAConfig",),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --enable-lora --max-lora-rank 24\n",
            mark="24",
            fixed="vllm serve Qwen/Qwen3-8B --enable-lora --max-lora-rank 32\n",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --enable-lora --max-lora-rank 32\n"),
        Good('vllm serve Qwen/Qwen3-8B --enable-lora --max-lora-rank "$RANK"\n'),
    ),
)
def lora_rank_value(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("max_lora_rank")
    if argument is None or argument.value_span is None:
        return
    try:
        rank = int(str(argument.raw if argument.raw is not None else argument.value))
    except ValueError:
        return
    allowed = allowed_lora_ranks(facts.release.version)
    if rank in allowed or rank <= 0:
        return
    larger = [value for value in allowed if value > rank]
    edits = replace_value(argument, str(larger[0])) if larger else ()
    yield Finding(
        argument.value_span,
        f"rank {rank} is not one of {', '.join(map(str, allowed))}: vLLM {facts.release.version} refuses it",
        fixes=(
            Fix(
                f"use {larger[0]}",
                edits=edits,
                applicability=Applicability.SAFE if edits else Applicability.DISPLAY,
                cost="larger adapter buffers",
            ),
        )
        if larger
        else (),
    )
