"""The quantization kernel does not take this dtype.

Why: the plain AWQ kernel (until 0.23) and the plain GPTQ kernel (until 0.21) compute in float16 only, MXFP4 in bfloat16 only. Another
dtype is refused when the engine is configured.
Instead: the dtype of the kernel, or for AWQ and GPTQ no `--quantization` flag, so that Marlin runs it.
Wrong when: the release is a vendor's build with other kernels.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument, replace_value
from lint_vllm.examples import compose
from lint_vllm.model_report import model_of, refusal, sure, value_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_OLD = {"vllm_version": "0.8.5"}
_AWQ = "vllm serve Qwen/Qwen2.5-14B-Instruct-AWQ --quantization awq"


@rule(
    code="MDL033",
    name="awq-bf16",
    severity=Severity.ERROR,
    since="0.1",
    sources=(
        "vllm==0.8.5 model_executor/layers/quantization/awq.py get_supported_act_dtypes",
        "vllm-project/vllm#1114",
        "vllm-project/vllm#1823",
    ),
    bad=(
        Bad(f"{_AWQ} --dtype bfloat16\n", mark="bfloat16", fixed=f"{_AWQ} --dtype float16\n", facts=_OLD),
        Bad(
            compose(
                "--model=Qwen/Qwen2.5-14B-Instruct-AWQ", "--quantization=awq", "--dtype=bfloat16", image="vllm/vllm-openai:v0.10.0"
            ),
            name="compose.yaml",
            mark="bfloat16",
        ),
    ),
    good=(
        Good(f"{_AWQ} --dtype bfloat16\n", facts={"vllm_version": "0.33.0"}),
        Good(f"{_AWQ} --dtype half\n", facts=_OLD),
        Good(f'{_AWQ} --dtype "$DTYPE"\n', facts=_OLD),
        Good("vllm serve Qwen/Qwen2.5-14B-Instruct-AWQ --dtype bfloat16\n", facts=_OLD),
    ),
)
def awq_bf16(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model, found = model_of(facts), refusal(facts, "quantization_dtype")
    if model is None or found is None:
        return
    argument, method = args.get("dtype"), args.get("quantization")
    stated = argument is not None and argument.value != "auto"
    wanted = found.message.rsplit("use ", 1)[-1]
    fixes: list[Fix] = []
    if argument is not None and stated:
        edits = replace_value(argument, wanted) if " " not in wanted else ()
        holds = bool(edits) and facts.rebudget({"dtype": wanted}).outcome != "arg_error"
        fixes.append(Fix(f"use {wanted}", edits, Applicability.SAFE if holds else Applicability.DISPLAY, verified=holds))
    if method is not None and facts.rebudget({"quantization": None}).outcome != "arg_error":
        edits = remove_argument(method)
        kind = Applicability.UNSAFE if edits else Applicability.DISPLAY
        fixes.append(Fix("leave --quantization out: Marlin takes both dtypes", edits, kind, verified=True))
    yield Finding(
        value_place(args, "dtype" if stated else "quantization"),
        f"{found.message}: it is refused when the engine is configured",
        fixes=tuple(fixes),
        severity=sure(facts, model),
    )
