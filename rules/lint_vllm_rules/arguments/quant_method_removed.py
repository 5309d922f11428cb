"""A quantization method that the release no longer carries.

Why: the parser takes any word; the model configuration then looks the method up and refuses it, before weights are loaded.
gguf left the built-in methods in 0.24, bitsandbytes in 0.28.
Instead: a checkpoint in another format (AWQ, GPTQ, FP8), or online FP8.
Wrong when: a plug-in registers the method.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.facts.release_facts import method_removed_in
from lint_vllm.judgement import softened
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG025",
    name="quant-method-removed",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.28.0 model_executor/layers/quantization/__init__.py", "vllm-project/vllm#39583"),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --quantization bitsandbytes\n", mark="bitsandbytes", facts={"vllm_version": "0.30.0"}),
        Bad(
            "from vllm import LLM\n\nllm = LLM('Qwen/Qwen3-8B', quantization='bitsandbytes')\n",
            name="run.py",
            mark="bitsandbytes",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --quantization bitsandbytes\n", facts={"vllm_version": "0.27.1"}),
        Good('vllm serve Qwen/Qwen3-8B --quantization "$METHOD"\n', facts={"vllm_version": "0.33.0"}),
    ),
)
def quant_method_removed(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for dest in ("quantization", "load_format"):
        argument = args.get(dest)
        if argument is None or argument.value_span is None or not isinstance(argument.value, str):
            continue
        gone = method_removed_in(argument.value)
        if gone is None or not facts.release.at_least(gone):
            continue
        yield Finding(
            argument.value_span,
            f"{argument.value} left vLLM in {gone}: {facts.release.version} ({facts.release.origin}) refuses it when the model is configured",
            fixes=(Fix("serve an AWQ, GPTQ or FP8 checkpoint of the model"), Fix("quantize while loading: --quantization fp8")),
            severity=softened(facts, Severity.ERROR),
        )
        return
