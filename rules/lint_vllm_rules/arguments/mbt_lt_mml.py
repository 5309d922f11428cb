"""Batched tokens below the context length, with chunked prefill off.

Why: without chunked prefill a prompt is computed in one step, so a step must hold a whole context. SchedulerConfig refuses
`--max-num-batched-tokens` below `--max-model-len` then.
Instead: leave chunked prefill on, or raise the batch limit.
Wrong when: chunked prefill is on, which is the default; the rule speaks only where it is switched off.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.length import derived_length
from lint_vllm.edits import remove_argument
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Known, Label, Severity, rule


@rule(
    code="ARG070",
    name="mbt-lt-mml",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/scheduler.py SchedulerConfig", "vllm-project/vllm#18681"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --max-model-len 32768 --max-num-batched-tokens 8192 --no-enable-chunked-prefill\n",
            mark="8192",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 32768 --max-num-batched-tokens 8192\n", facts={"vllm_version": "0.33.0"}),
        Good(
            'vllm serve Qwen/Qwen3-8B --max-model-len "$LEN" --max-num-batched-tokens 8192 --no-enable-chunked-prefill\n',
            facts={"vllm_version": "0.33.0"},
        ),
    ),
)
def mbt_lt_mml(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    batched, chunked = args.get("max_num_batched_tokens"), args.get("enable_chunked_prefill")
    if batched is None or chunked is None or chunked.value is not False or chunked.conditional or batched.conditional:
        return
    length = args.value("max_model_len")
    if not args.given("max_model_len") and args.complete and isinstance(facts.model, Known):
        length = derived_length(facts.model.value, facts.release.version)[0]
    if not isinstance(batched.value, int) or not isinstance(length, int) or batched.value >= length or batched.value_span is None:
        return
    yield Finding(
        batched.value_span,
        f"without chunked prefill a step must hold a whole context: {batched.value:,} batched tokens are below max-model-len "
        f"{length:,}, and the scheduler's configuration refuses it",
        fixes=(
            Fix("leave chunked prefill on", edits=remove_argument(chunked), applicability=Applicability.UNSAFE, verified=True),
            Fix(f"raise --max-num-batched-tokens to {length}", cost="a larger profile run and less cache"),
        ),
        related=(Label(chunked.name_span, "chunked prefill is switched off here"),),
    )
