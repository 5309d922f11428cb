"""An FP8 KV cache without scales in the checkpoint.

Why: keys and values are stored in 8 bits with a scale; a checkpoint without calibrated ones runs with a scale of 1.0. Mostly that is
fine, some models lose accuracy (Llama-3.1-70B on MI300: perplexity 2.73 to 2.89).
Instead: accept it after a test of quality, take a checkpoint with `kv_cache_scheme`, or a per-token-head cache dtype (from 0.20).
Wrong when: the loss was measured and accepted.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.verify import checkpoint_kv_dtype
from lint_vllm.model_report import model_of, refusal
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_H100 = {"vllm_version": "0.33.0", "gpu": "NVIDIA H100 80GB HBM3"}


@rule(
    code="MDL034",
    name="fp8-kv-scales",
    severity=Severity.INFO,
    since="0.1",
    sources=("vllm==0.33.0 model_executor/layers/quantization/kv_cache.py", "vllm-project/vllm#5493", "ROCm/vllm#317"),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8\n", mark="fp8", facts=_H100),
        Bad("from vllm import LLM\n\nllm = LLM('Qwen/Qwen3-8B', kv_cache_dtype='fp8')\n", name="run.py", mark="fp8", facts=_H100),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --kv-cache-dtype auto\n", facts=_H100),
        Good('vllm serve Qwen/Qwen3-8B --kv-cache-dtype "$KV"\n', facts=_H100),
        Good("vllm serve ./mine --kv-cache-dtype fp8\n", facts=_H100),
        Good("vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8 --calculate-kv-scales\n", facts={"vllm_version": "0.11.0"}),
    ),
)
def fp8_kv_scales(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model = args.get("kv_cache_dtype"), model_of(facts)
    if argument is None or argument.value_span is None or argument.value not in ("fp8", "fp8_e4m3") or model is None:
        return
    if not model.exact or "kv" in model.id.lower().rsplit("/", 1)[-1] or args.value("calculate_kv_scales") is True:
        return
    stored = model.quantization.method if model.quantization is not None else None
    per_tensor = stored == "fp8" and model.quantization is not None and model.quantization.block is None  # may hold scales
    if per_tensor or (stored is not None and not model.quantization_stated):
        return
    if stored not in (None, "awq", "gptq", "fp8", "bitsandbytes") or checkpoint_kv_dtype(model) is not None:
        return
    if refusal(facts, "kv_cache_dtype") is not None:
        return
    checkpoint = "a 16-bit checkpoint" if stored is None else f"a {stored} checkpoint"
    yield Finding(
        argument.value_span,
        f"{model.id} is {checkpoint} without KV scales: the FP8 cache runs with a scale of 1.0",
        fixes=(
            Fix(
                "compare answers before and after, or use a checkpoint with calibrated KV scales",
                applicability=Applicability.DISPLAY,
            ),
        ),
    )
