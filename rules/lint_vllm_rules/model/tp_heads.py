"""Tensor parallelism does not divide the model.

Why: attention heads, KV heads and the padded vocabulary are split over the ranks. The head count is checked when the model is
configured; KV heads and the vocabulary (a multiple of 64) by assertions while it is built.
Instead: a tensor parallel size that divides them; spread over the remaining GPUs with `--pipeline-parallel-size` or replicas.
Wrong when: the checkpoint has another shape than its `config.json` in the catalogue.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.verify import parallel
from lint_vllm.edits import replace_value
from lint_vllm.examples import compose
from lint_vllm.judgement import count_of
from lint_vllm.model_report import model_of, refusal, sure, value_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="MDL010",
    name="tp-heads",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/model.py verify_with_parallel_config", "vllm-project/vllm#7716", "gpustack/gpustack#2259"),
    bad=(
        Bad("vllm serve google/gemma-3-27b-it --tensor-parallel-size 3\n", mark="3"),
        Bad(
            "from vllm import LLM\n\nllm = LLM('meta-llama/Llama-2-13b-chat-hf', tensor_parallel_size=3)\n", name="run.py", mark="3"
        ),
        Bad(compose("Qwen/Qwen3-8B", "--tensor-parallel-size=6"), name="compose.yaml", mark="6"),
        Bad("vllm serve Qwen/Qwen2.5-7B-Instruct --tensor-parallel-size 7\n", mark="7"),
    ),
    good=(
        Good("vllm serve google/gemma-3-27b-it --tensor-parallel-size 2\n"),
        Good('vllm serve google/gemma-3-27b-it --tensor-parallel-size "$GPUS"\n'),
        Good("vllm serve ./my-model --tensor-parallel-size 3\n"),
    ),
)
def tp_heads(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model, size = model_of(facts), count_of(args, "tensor_parallel_size")
    if model is None or size is None or size == 1:
        return
    found = parallel({}, model, None, size, 1, 1, 1, 1, False)
    if found is None:
        found = refusal(facts, "parallel")
        if found is None or found.dests != ("tensor_parallel_size",):
            return
    argument = args.get("tensor_parallel_size")
    fits = _fitting(facts, size)
    fixes: list[Fix] = []
    if fits is not None:
        edits = replace_value(argument, str(fits)) if argument is not None else ()
        kind = Applicability.UNSAFE if edits else Applicability.DISPLAY
        fixes.append(Fix(f"use --tensor-parallel-size {fits}", edits, kind, "another number of GPUs", verified=True))
    fixes.append(Fix(f"split by layers: --pipeline-parallel-size {size}", applicability=Applicability.DISPLAY, cost="latency"))
    yield Finding(
        value_place(args, "tensor_parallel_size"),
        f"{found.message.split(': tensor parallel')[0]}: {model.label} cannot be split over {size} GPUs",
        fixes=tuple(fixes),
        severity=sure(facts, model, dated=False),
    )


def _fitting(facts: Facts, size: int) -> int | None:
    """The largest smaller size that the engine accepts."""
    for smaller in range(size - 1, 0, -1):
        found = facts.rebudget({"tensor_parallel_size": smaller}).refusal
        if found is None or found.kind not in ("parallel", "quant_group") or len(found.dests) > 1:
            return smaller
    return None
