"""No attention backend of this card takes an FP8 KV cache.

Why: FlashAttention takes it on compute capability 9.0, FlashInfer from 8.0, Triton from 8.9. Where the backend that is left (or forced)
does not, the start fails while weights are loaded.
Instead: `--kv-cache-dtype auto`, or another `--attention-backend`.
Wrong when: FlashInfer is missing or added in the environment.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.examples import compose
from lint_vllm.model_report import capability_of, model_of, refusal, sure, value_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_T4 = {"vllm_version": "0.33.0", "gpu": "Tesla T4"}
_MODEL = "vllm serve Qwen/Qwen2.5-3B-Instruct --dtype half"


@rule(
    code="HW020",
    name="fp8-kv-hw",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 platforms/cuda.py get_attn_backend_cls", "vllm-project/vllm#26431", "1CatAI/1Cat-vLLM#27"),
    bad=(
        Bad(f"{_MODEL} --kv-cache-dtype fp8\n", mark="fp8", facts=_T4),
        Bad(
            compose("Qwen/Qwen2.5-3B-Instruct", "--kv-cache-dtype=fp8"), name="compose.yaml", mark="fp8", facts={"gpu": "Tesla T4"}
        ),
        Bad(
            "vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8 --attention-backend TRITON_ATTN\n",
            mark="fp8",
            facts={"vllm_version": "0.33.0", "gpu": "NVIDIA GeForce RTX 3090"},
        ),
    ),
    good=(
        Good(f"{_MODEL} --kv-cache-dtype auto\n", facts=_T4),
        Good(f'{_MODEL} --kv-cache-dtype "$KV"\n', facts=_T4),
        Good("vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8\n", facts={"vllm_version": "0.33.0", "gpu": "NVIDIA GeForce RTX 3090"}),
        Good("vllm serve Qwen/Qwen3-8B --kv-cache-dtype fp8\n"),
    ),
)
def fp8_kv_hw(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model, found = args.get("kv_cache_dtype"), model_of(facts), refusal(facts, "kv_cache_dtype")
    if (
        argument is None
        or found is None
        or model is None
        or capability_of(facts) is None
        or not str(argument.value).startswith("fp8")
    ):
        return
    if not facts.release.at_least("0.11.1"):  # older engines had other backends
        return
    edits = remove_argument(argument)
    yield Finding(
        value_place(args, "kv_cache_dtype"),
        f"{found.message}: {found.phase} fails",
        fixes=(
            Fix(
                "leave the cache in 16 bits",
                edits,
                Applicability.UNSAFE if edits else Applicability.DISPLAY,
                "twice the memory for the cache",
                verified=facts.rebudget({"kv_cache_dtype": None}).outcome != "arg_error",
            ),
        ),
        severity=sure(facts, model, dated=False),
    )
