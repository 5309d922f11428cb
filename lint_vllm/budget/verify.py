"""What vLLM's configuration classes refuse: quantization, parallel sizes, scheduler limits, KV dtypes.

vllm==0.33.0 config/model.py ``_verify_quantization``, ``verify_with_parallel_config``; config/scheduler.py
``verify_max_model_len``; config/cache.py. Each function returns a ``Refusal`` or what it settled.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import gcd
from typing import Any

from lint_vllm.budget.refusal import Refusal
from lint_vllm.budget.releases import engine_data, since
from lint_vllm.facts import version_key
from lint_vllm.facts.card import Card
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import MLA_TYPES, positive
from lint_vllm.facts.served import floor


def contradicts(asked: str, stored: str) -> bool:
    """Whether ``--quantization`` names another method than the checkpoint's; kernels of one format are one family."""
    table = engine_data()["quantization"]
    if asked == stored or asked == "humming":
        return False
    families = [table.get(x, {}).get("family", x) for x in (asked, stored)]
    if stored in ("gptq", "awq") and asked in ("moe_wna16", "inc", "marlin", "ipex", "bitblas", "gptq_bitblas", f"cpu_{stored}"):
        return False
    return bool(families[0] != families[1])


def kernel_of(asked: str | None, stored: str | None, capability: tuple[int, int] | None, release: str) -> str | None:
    """The method in effect: AWQ and GPTQ checkpoints run in the Marlin kernel where nobody asks for another and the card has it
    (``override_quantization_method``)."""
    if asked is None and stored in ("awq", "gptq"):
        marlin = floor(f"{stored}_marlin", release)
        least = marlin.capability if marlin is not None else None
        if least is not None and (capability is None or capability >= least):
            return f"{stored}_marlin"
    return asked or stored


def expert_blocks(model: Model, ranks: int, capability: tuple[int, int] | None, release: str) -> Refusal | None:
    """Experts in FP8 blocks whose share of a rank is no whole number of blocks.

    vllm==0.33.0 model_executor/layers/quantization/fp8.py ``Fp8MoEMethod.create_weights``; from 0.29 the scales are refined to
    the common divisor, 32 or more, on compute capability 8.9 and later.
    """
    block = model.quantization.block if model.quantization is not None and model.quantization.method == "fp8" else None
    width = positive(model.text.get("moe_intermediate_size")) or (model.intermediate_size if model.experts else None)
    if block is None or not model.experts or not width or ranks < 1 or width % ranks:
        return None
    share = width // ranks
    if not share % block[0] and (ranks == 1 or not share % block[1]):
        return None
    refined = since("fp8_expert_blocks_refined", release)
    if refined and (capability is None or capability >= (8, 9)) and gcd(share, *block) >= 32:
        return None
    return Refusal(
        "quant_group",
        f"expert width {width} / {ranks} ranks = {share} is no multiple of the FP8 block of {block[0]}",
        "weight loading",
        ("tensor_parallel_size",),
    )


def quantization(
    given: Mapping[str, Any], model: Model, card: Card | None, dtype: str, release: str
) -> tuple[str | None, bool] | Refusal:
    """The method in effect, and whether a 16-bit checkpoint is quantized while loading."""
    asked = given.get("quantization")
    stored = model.quantization.method if model.quantization is not None else None
    if asked is not None:
        asked = str(asked).lower()
    method = asked or stored
    if method is None:
        return None, False
    until = engine_data()["quantization_until"].get(method)
    if until is not None and version_key(release) >= version_key(until):
        return Refusal("quantization", f"quantization method {method} left vLLM in {until}", dests=("quantization",))
    if asked is not None and stored is not None and model.quantization_stated and contradicts(asked, stored):
        return Refusal(
            "quantization",
            f"the checkpoint is quantized with {stored}, --quantization asks for {asked}",
            dests=("quantization",),
        )
    capability = card.capability if card is not None and card.vendor == "nvidia" else None
    kernel = kernel_of(asked, stored, capability, release) or method
    needs = floor(kernel, release)
    if needs is not None:
        least = needs.capability
        if capability is not None and least is not None and capability < least:
            return Refusal(
                "quantization_floor",
                f"{kernel} needs compute capability {least[0]}.{least[1]} in vLLM {release}; "
                f"{card.name if card else ''} has {capability[0]}.{capability[1]}",
                dests=("quantization",),
            )
        # quantized checkpoints often state another dtype than their base: the catalogue's counts only where it was asked for
        stated = given.get("dtype", "auto") != "auto" or model.record is None
        if stated and needs.dtypes is not None and dtype not in needs.dtypes:
            return Refusal(
                "quantization_dtype",
                f"{kernel} does not run in {dtype} in vLLM {release}: use {' or '.join(needs.dtypes)}",
                dests=("dtype", "quantization"),
            )
    return method, stored is None


def parallel(
    given: Mapping[str, Any], model: Model, gpu_count: int | None, tp: int, pp: int, dp: int, pcp: int, dcp: int, experts: bool
) -> Refusal | None:
    """Heads, ranks and context parallelism."""
    for dest, size in (("tensor_parallel_size", tp), ("pipeline_parallel_size", pp), ("data_parallel_size", dp)):
        if size < 1:
            return Refusal("parallel", f"--{dest.replace('_', '-')} {size} is not positive", dests=(dest,))
    heads = model.attention_heads
    if heads and heads % tp:
        return Refusal(
            "parallel",
            f"{heads} attention heads do not divide by tensor parallel size {tp}",
            dests=("tensor_parallel_size",),
        )
    if experts and not model.experts:
        return Refusal(
            "parallel",
            f"--enable-expert-parallel needs a mixture-of-experts model; {model.id} has no experts",
            dests=("enable_expert_parallel",),
        )
    world = tp * pp * pcp
    executor, nodes = given.get("distributed_executor_backend"), given.get("nnodes")
    local = executor != "ray" and not (isinstance(nodes, int) and nodes > 1) and given.get("data_parallel_backend") != "ray"
    if gpu_count is not None and gpu_count > 0 and local:
        replicas = given.get("data_parallel_size_local")
        replicas = (
            replicas if isinstance(replicas, int) and replicas > 0 else (1 if given.get("data_parallel_rank") is not None else dp)
        )
        if world * replicas > gpu_count:
            parts = f"tensor {tp} x pipeline {pp}" + (f" x data {replicas}" if replicas > 1 else "")
            return Refusal(
                "parallel",
                f"{world * replicas} GPUs are needed ({parts}), the machine has {gpu_count}",
                dests=("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"),
            )
    if dcp > 1:
        if tp % dcp:
            return Refusal(
                "parallel",
                f"tensor parallel size {tp} does not divide by decode context parallel size {dcp}",
                dests=("decode_context_parallel_size",),
            )
        if not model.mla and model.kv_heads and heads:
            if tp <= model.kv_heads:
                return Refusal(
                    "parallel",
                    f"decode context parallelism needs a tensor parallel size above the {model.kv_heads} KV heads; it is {tp}",
                    dests=("decode_context_parallel_size", "tensor_parallel_size"),
                )
            if dcp > tp // model.kv_heads:
                return Refusal(
                    "parallel",
                    f"decode context parallel size {dcp} is above {tp // model.kv_heads} (tensor parallel size / KV heads)",
                    dests=("decode_context_parallel_size",),
                )
            if (heads // model.kv_heads) % dcp:
                return Refusal(
                    "parallel",
                    f"{heads // model.kv_heads} query heads per KV head do not divide by decode context parallel size {dcp}",
                    dests=("decode_context_parallel_size",),
                )
    return None


def scheduler(
    given: Mapping[str, Any], tokens: int, sequences: int, length: int, chunked: bool, model: Model, prefix: bool
) -> Refusal | None:
    """Batched tokens against sequences and length."""
    if tokens < 1 or sequences < 1:
        return Refusal(
            "scheduler",
            "--max-num-batched-tokens and --max-num-seqs must be positive",
            dests=("max_num_batched_tokens", "max_num_seqs"),
        )
    if tokens < length and not chunked:
        return Refusal(
            "scheduler",
            f"--max-num-batched-tokens {tokens:,} is below max-model-len {length:,} while chunked prefill is off",
            dests=("max_num_batched_tokens", "max_model_len"),
        )
    if tokens < sequences:
        return Refusal(
            "scheduler",
            f"--max-num-batched-tokens {tokens:,} is below --max-num-seqs {sequences:,}",
            dests=("max_num_batched_tokens", "max_num_seqs"),
        )
    active = given.get("max_num_active_seqs")
    if isinstance(active, int) and active > sequences:
        return Refusal(
            "scheduler", f"--max-num-active-seqs {active} is above --max-num-seqs {sequences}", dests=("max_num_active_seqs",)
        )
    threshold = given.get("long_prefill_token_threshold")
    if isinstance(threshold, int) and threshold > length:
        return Refusal(
            "scheduler",
            f"--long-prefill-token-threshold {threshold:,} is above max-model-len {length:,}",
            dests=("long_prefill_token_threshold",),
        )
    if model.hybrid_state and prefix and not chunked:
        return Refusal(
            "other", "prefix caching of a Mamba or linear-attention model needs chunked prefill", dests=("enable_chunked_prefill",)
        )
    return None


def checkpoint_kv_dtype(model: Model) -> str | None:
    """The KV dtype that a quantized checkpoint asks for (``get_kv_cache_quant_algo_string``)."""
    if model.quantization is None:
        return None
    config = model.quantization.config
    inner = config.get("quantization")
    algorithm = config.get("kv_cache_quant_algo") or (inner.get("kv_cache_quant_algo") if isinstance(inner, Mapping) else None)
    if model.quantization.method.startswith("modelopt"):
        scheme = config.get("kv_cache_scheme")
        if algorithm is None and isinstance(scheme, Mapping) and scheme.get("num_bits") == 8 and scheme.get("type") == "float":
            algorithm = "FP8"
        if isinstance(algorithm, str):
            return {"FP8": "fp8_e4m3", "NVFP4": "nvfp4"}.get(algorithm.upper())
        return None
    scheme = config.get("kv_cache_scheme")
    stated = scheme if isinstance(scheme, Mapping) and model.quantization.method == "compressed-tensors" else {}
    if stated.get("num_bits") == 8 and stated.get("type") == "float":
        return "fp8_e4m3"
    return None


def kv_dtype(
    given: Mapping[str, Any], model: Model, dtype: str, card: Card | None, release: str
) -> tuple[str, tuple[str, ...]] | Refusal:
    """The KV dtype in effect and the layers that keep the model's dtype."""
    asked = str(given.get("kv_cache_dtype", "auto"))
    table = engine_data()["kv_dtypes"]
    entry = table.get(asked)
    dests = ("kv_cache_dtype",)
    if entry is None:
        return Refusal("kv_cache_dtype", f"{asked!r} is no KV cache dtype", dests=dests)
    platform = entry.get("platform")
    if platform == "rocm" and card is not None and card.vendor == "nvidia":
        return Refusal("kv_cache_dtype", f"KV cache dtype {asked} runs on ROCm only", dests=dests)
    if asked in ("float16", "bfloat16") and asked != dtype and since("kv_dtype_equals_dtype", release):
        return Refusal("kv_cache_dtype", f"--kv-cache-dtype {asked} must equal the model's dtype, {dtype}: use auto", dests=dests)
    skipped = given.get("kv_cache_dtype_skip_layers")
    layers = [str(s) for s in skipped] if isinstance(skipped, (list, tuple)) else []
    if entry.get("turboquant"):
        count = positive(model.text.get("num_hidden_layers")) or 0
        if not model.hybrid_state and count:
            n = min(2, count // 2)
            layers += [str(i) for i in (*range(n), *range(count - n, count))]
    latent = model.mla or str(model.text.get("model_type")) in MLA_TYPES
    if asked.endswith("_ds_mla") and not (latent and positive(model.text.get("index_topk"))):
        return Refusal(
            "kv_cache_dtype",
            f"KV cache dtype {asked} is for sparse latent attention (DeepSeek-V3.2 and later) only",
            "weight loading",
            dests,
        )
    if asked.startswith("nvfp4") and not asked.endswith("_ds_mla") and model.mla:
        return Refusal("kv_cache_dtype", f"KV cache dtype {asked} does not run with latent attention", dests=dests)
    if asked == "auto":
        return checkpoint_kv_dtype(model) or "auto", tuple(layers)
    return asked, tuple(dict.fromkeys(layers))
