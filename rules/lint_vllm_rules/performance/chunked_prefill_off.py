"""Chunked prefill is switched off.

Why: without it a prompt is computed in one step, so `--max-num-batched-tokens` must be at least `--max-model-len`: the profile
run and its activations grow with the context, and long prompts stall everybody's decoding.
Instead: leave the flag out; chunked prefill is on where the model supports it.
Wrong when: the model does not support it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="PRF003",
    name="chunked-prefill-off",
    severity=Severity.INFO,
    since="0.1",
    sources=("vllm==0.33.0 config/scheduler.py SchedulerConfig",),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --no-enable-chunked-prefill --max-num-batched-tokens 40960\n",
            mark="--no-enable-chunked-prefill",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B\n"),
        Good('vllm serve Qwen/Qwen3-8B --max-num-batched-tokens "$TOKENS"\n'),
        Good("vllm serve Qwen/Qwen3-Embedding-8B --runner pooling --no-enable-chunked-prefill\n"),
    ),
)
def chunked_prefill_off(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("enable_chunked_prefill")
    if argument is None or argument.value is not False or args.value("runner") == "pooling" or args.value("task") is not None:
        return
    yield Finding(
        argument.name_span,
        "without chunked prefill the profile run covers a whole prompt of max-model-len: activations grow, and long prompts stall decoding",
        fixes=(Fix("leave the flag out", edits=remove_argument(argument), applicability=Applicability.UNSAFE),),
    )
