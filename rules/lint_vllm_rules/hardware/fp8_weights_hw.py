"""FP8 weights on a card that the release does not run them on.

Why: FP8 checkpoints and `--quantization fp8` need compute capability 8.0 until 0.13 and 7.5 since 0.14 (weight-only kernels below 8.9).
The start is refused when the engine is configured.
Instead: an AWQ or GPTQ checkpoint, or a later release.
Wrong when: the job runs on another card than the file says.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.model_report import capability_of, model_of, refusal, sure, value_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

FP8 = ("fp8", "fbgemm_fp8", "ptpc_fp8", "modelopt", "deepseek_v4_fp8")
_T4 = {"vllm_version": "0.8.5", "gpu": "Tesla T4"}


@rule(
    code="HW021",
    name="fp8-weights-hw",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.8.5 model_executor/layers/quantization/fp8.py get_min_capability", "vllm-project/vllm#4327"),
    bad=(
        Bad("vllm serve Qwen/Qwen2.5-3B-Instruct --dtype half --quantization fp8\n", mark="fp8", facts=_T4),
        Bad(
            "from vllm import LLM\n\nllm = LLM('Qwen/Qwen2.5-3B-Instruct', dtype='half', quantization='fp8')\n",
            name="run.py",
            mark="fp8",
            facts={"vllm_version": "0.33.0", "gpu": "Tesla V100-SXM2-32GB"},
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen2.5-3B-Instruct --dtype half --quantization fp8\n",
            facts={"vllm_version": "0.33.0", "gpu": "Tesla T4"},
        ),
        Good('vllm serve Qwen/Qwen2.5-3B-Instruct --dtype half --quantization "$METHOD"\n', facts=_T4),
        Good("vllm serve Qwen/Qwen2.5-3B-Instruct --quantization fp8\n", facts={"vllm_version": "0.8.5", "gpu": "NVIDIA A10"}),
    ),
)
def fp8_weights_hw(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model, found = model_of(facts), refusal(facts, "quantization_floor")
    if model is None or found is None or capability_of(facts) is None or found.message.split(" ", 1)[0] not in FP8:
        return
    if not args.given("quantization") and not model.quantization_stated:
        return
    yield Finding(
        value_place(args, "quantization"),
        f"{found.message}: it is refused when the engine is configured",
        fixes=(Fix("use an AWQ or GPTQ checkpoint on this card", applicability=Applicability.DISPLAY, cost="4-bit weights"),),
        severity=sure(facts, model),
    )
