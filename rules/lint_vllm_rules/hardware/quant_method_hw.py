"""A quantization method that this card cannot run.

Why: each method has a least compute capability by release: AWQ 7.5, the Marlin kernels 8.0 until 0.13, MXFP4 8.0, FP-Quant 10.0. Below it
the start is refused when the engine is configured.
Instead: a checkpoint in a format for the card; on V100 GPTQ with its plain kernel.
Wrong when: the job runs on another card than the file says.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.model_report import capability_of, model_of, refusal, sure, value_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_FP8 = ("fp8", "fbgemm_fp8", "ptpc_fp8", "modelopt", "deepseek_v4_fp8")
_V100 = {"vllm_version": "0.10.0", "gpu": "Tesla V100-SXM2-32GB"}


@rule(
    code="HW022",
    name="quant-method-hw",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/vllm.py _get_quantization_config", "vllm==0.33.0 model_executor/layers/quantization"),
    bad=(
        Bad("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --dtype half\n", mark="Qwen/Qwen2.5-7B-Instruct-AWQ", facts=_V100),
        Bad(
            "from vllm import LLM\n\nllm = LLM('openai/gpt-oss-20b')\n",
            name="run.py",
            mark="openai/gpt-oss-20b",
            facts={"vllm_version": "0.20.2", "gpu": "Tesla T4"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --dtype half\n", facts={"vllm_version": "0.10.0", "gpu": "Tesla T4"}),
        Good('vllm serve "$MODEL" --quantization awq\n', facts=_V100),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --dtype half\n"),
    ),
)
def quant_method_hw(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model, found = model_of(facts), refusal(facts, "quantization_floor")
    if model is None or found is None or capability_of(facts) is None or found.message.split(" ", 1)[0] in _FP8:
        return
    if not args.given("quantization") and not model.quantization_stated:
        return
    yield Finding(
        value_place(args, "quantization"),
        f"{found.message}: it is refused when the engine is configured",
        fixes=(Fix("use a checkpoint in a format that this card runs, or a later card", applicability=Applicability.DISPLAY),),
        severity=sure(facts, model),
    )
