"""float16 on a family that overflows in it.

Why: Gemma 2 and 3, GLM-4 and PLaMo 2 have activations beyond what float16 holds. From 0.9.2 vLLM refuses it when the model is
configured; before it gave wrong answers.
Instead: bfloat16, or float32 on cards without bfloat16.
Wrong when: never for these families.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.dtype import resolve
from lint_vllm.budget.refusal import Refusal
from lint_vllm.edits import replace_value
from lint_vllm.model_report import capability_of, model_of, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_L40S = {"vllm_version": "0.33.0", "gpu": "NVIDIA L40S"}


@rule(
    code="MDL035",
    name="fp16-unsafe-family",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/model.py _FLOAT16_NOT_SUPPORTED_MODELS",),
    bad=(
        Bad(
            'from vllm import LLM\n\nllm = LLM("google/gemma-3-12b-it", dtype="float16")\n',
            name="run.py",
            mark="float16",
            fixed='from vllm import LLM\n\nllm = LLM("google/gemma-3-12b-it", dtype="bfloat16")\n',
            facts=_L40S,
        ),
        Bad("vllm serve google/gemma-2-9b-it --dtype half\n", mark="half", facts={"vllm_version": "0.10.0"}),
    ),
    good=(
        Good("vllm serve google/gemma-3-12b-it --dtype bfloat16\n", facts=_L40S),
        Good('vllm serve google/gemma-3-12b-it --dtype "$DTYPE"\n', facts=_L40S),
        Good("vllm serve Qwen/Qwen3-8B --dtype half\n", facts=_L40S),
    ),
)
def fp16_unsafe_family(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model = args.get("dtype"), model_of(facts)
    if argument is None or argument.value_span is None or argument.value not in ("half", "float16") or model is None:
        return
    if not isinstance(resolve(str(argument.value), model, None, False), Refusal):
        return
    refused = facts.release.at_least("0.9.1")
    capability = capability_of(facts)
    target = "float32" if capability is not None and capability < (8, 0) else "bfloat16"
    edits = replace_value(argument, target)
    safe = bool(edits) and target == "bfloat16" and capability is not None
    outcome = "vLLM refuses it when it configures the model" if refused else "answers are wrong"
    yield Finding(
        argument.value_span,
        f"{model.model_type} models overflow in float16: {outcome}",
        fixes=(
            Fix(
                f"use {target}",
                edits,
                Applicability.SAFE if safe else Applicability.UNSAFE if edits else Applicability.DISPLAY,
                cost="" if target == "bfloat16" else "twice the memory",
                verified=facts.rebudget({"dtype": target}).outcome != "arg_error",
            ),
        ),
        severity=sure(facts, model, Severity.ERROR if refused else Severity.WARNING),
    )
