"""The draft's tensor parallel size is neither 1 nor the target's.

Why: vLLM runs a draft on one rank or on all of the target's; SpeculativeConfig refuses anything else when the engine is
configured.
Instead: 1, or the same as `--tensor-parallel-size`.
Wrong when: never seen.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.json_place import value_place
from lint_vllm.judgement import count_of
from lint_vllm.rule import Applicability, Argument, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule

_KEY = "draft_tensor_parallel_size"


@rule(
    code="ARG033",
    name="spec-draft-tp",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/speculative.py SpeculativeConfig", "vllm-project/vllm#10483"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-32B -tp 4 --speculative-config "
            '\'{"model":"Qwen/Qwen3-0.6B","num_speculative_tokens":3,"draft_tensor_parallel_size":2}\'\n',
            mark="2",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen3-32B -tp 4 --speculative-config "
            '\'{"model":"Qwen/Qwen3-0.6B","num_speculative_tokens":3,"draft_tensor_parallel_size":4}\'\n',
            facts={"vllm_version": "0.33.0"},
        ),
        Good(
            'vllm serve Qwen/Qwen3-32B -tp "$TP" --speculative-config '
            '\'{"model":"Qwen/Qwen3-0.6B","num_speculative_tokens":3,"draft_tensor_parallel_size":2}\'\n',
            facts={"vllm_version": "0.33.0"},
        ),
    ),
)
def spec_draft_tp(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    target = count_of(args, "tensor_parallel_size")
    for dest in ("speculative_config", f"speculative_{_KEY}"):
        argument = args.get(dest)
        if argument is None or target is None:
            continue
        whole = argument.value
        draft = whole.get(_KEY) if isinstance(whole, dict) else whole
        if not isinstance(draft, int) or isinstance(draft, bool) or draft in (1, target):
            continue
        yield _finding(argument, value_place(argument, _KEY) if isinstance(whole, dict) else argument.editable, draft, target)


def _finding(argument: Argument, span: Span | None, draft: int, target: int) -> Finding:
    return Finding(
        span or argument.value_span or argument.name_span,
        f"a draft runs on 1 rank or on all {target} of the target; {draft} is refused when the engine is configured",
        fixes=(
            Fix(
                "use 1",
                edits=(Edit(span, "1"),) if span is not None and span.text == str(draft) else (),
                applicability=Applicability.UNSAFE,
                cost="the whole draft on one GPU",
            ),
        ),
    )
