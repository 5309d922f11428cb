"""The token batch is smaller than a block of this hybrid model.

Why: with prefix caching, a model with Mamba or linear-attention layers keeps its state at block borders, and its blocks are enlarged
to hold a state (often 500 to 2,000 tokens). vLLM asserts that a block fits `--max-num-batched-tokens`.
Instead: a larger `--max-num-batched-tokens`, or no prefix caching.
Wrong when: the cache dtype of the state is set so that blocks are smaller than concluded.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import replace_value
from lint_vllm.model_report import model_of, plain_number, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_NEW = {"vllm_version": "0.33.0", "gpu": "NVIDIA H100 80GB HBM3"}


@rule(
    code="MDL040",
    name="hybrid-block-vs-mbt",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 config/vllm.py validate_mamba_block_size", "vllm-project/vllm#36734"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3.6-35B-A3B-FP8 --enable-prefix-caching --max-num-seqs 16 --max-num-batched-tokens 256\n",
            mark="256",
            facts=_NEW,
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen3.6-35B-A3B-FP8 --enable-prefix-caching --max-num-seqs 16 --max-num-batched-tokens 8192\n",
            facts=_NEW,
        ),
        Good('vllm serve Qwen/Qwen3.6-35B-A3B-FP8 --enable-prefix-caching --max-num-batched-tokens "$TOKENS"\n', facts=_NEW),
        Good("vllm serve Qwen/Qwen3-8B --enable-prefix-caching --max-num-seqs 16 --max-num-batched-tokens 256\n", facts=_NEW),
    ),
)
def hybrid_block_vs_mbt(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model = args.get("max_num_batched_tokens"), model_of(facts)
    if argument is None or argument.value_span is None or model is None or not model.hybrid_state:
        return
    tokens, block = plain_number(argument.value), facts.budget.block_size
    if tokens is None or block is None or tokens >= block or not facts.release.at_least("0.17.0"):
        return
    caching = args.value("enable_prefix_caching")
    if caching is False or (caching is not True and not facts.release.at_least("0.20.0")):
        return
    enough = -(-max(block, 2048) // 1024) * 1024
    edits = replace_value(argument, str(enough))
    yield Finding(
        argument.value_span,
        f"a block of {model.id} takes {block:,} tokens with prefix caching, the batch holds {tokens:,}: an assertion fails at start",
        fixes=(
            Fix(
                f"raise it to {enough:,}",
                edits,
                Applicability.UNSAFE if edits else Applicability.DISPLAY,
                "more memory for activations",
                verified=facts.rebudget({"max_num_batched_tokens": enough}).outcome != "arg_error",
            ),
        ),
        severity=sure(facts, model, Severity.WARNING),
    )
