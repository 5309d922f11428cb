"""The formula part of the budget against figures that vLLM's own classes give (vllm==0.33.0), and its properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from lint_vllm.budget.account import account
from lint_vllm.budget.engine_config import EngineConfig, Refusal, resolve
from lint_vllm.budget.kv_cache import Group, KvPlan, Spec
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.result import Budget
from lint_vllm.budget.runtime import RuntimeEstimate
from lint_vllm.budget.weights import weights
from lint_vllm.facts.card import Card
from lint_vllm.facts.model_config import from_config
from lint_vllm.known import Unknown

H100 = Card("NVIDIA H100 80GB HBM3", "nvidia", Quantity.exact(85_017_493_504), (9, 0))
A100 = Card("NVIDIA A100-SXM4-80GB", "nvidia", Quantity.exact(84_974_239_744), (8, 0))
A10 = Card("NVIDIA A10", "nvidia", Quantity.exact(23_609_475_072), (8, 6))
T4 = Card("Tesla T4", "nvidia", Quantity.exact(15_835_594_752), (7, 5))
B200 = Card("NVIDIA B200", "nvidia", Quantity.exact(191_503_138_816), (10, 0))

LLAMA_8B = {
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 131072,
    "model_type": "llama",
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "rope_scaling": {"factor": 8.0, "original_max_position_embeddings": 8192, "rope_type": "llama3"},
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 128256,
}
QWEN_7B = {
    "architectures": ["Qwen2ForCausalLM"],
    "hidden_size": 3584,
    "intermediate_size": 18944,
    "max_position_embeddings": 32768,
    "model_type": "qwen2",
    "num_attention_heads": 28,
    "num_hidden_layers": 28,
    "num_key_value_heads": 4,
    "sliding_window": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_sliding_window": False,
    "vocab_size": 152064,
}
GEMMA3_1B = {
    "architectures": ["Gemma3ForCausalLM"],
    "head_dim": 256,
    "hidden_size": 1152,
    "intermediate_size": 6912,
    "max_position_embeddings": 32768,
    "model_type": "gemma3_text",
    "num_attention_heads": 4,
    "num_hidden_layers": 26,
    "num_key_value_heads": 1,
    "sliding_window": 512,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "vocab_size": 262144,
}
GPT_OSS_20B = {
    "architectures": ["GptOssForCausalLM"],
    "head_dim": 64,
    "hidden_size": 2880,
    "intermediate_size": 2880,
    "max_position_embeddings": 131072,
    "model_type": "gpt_oss",
    "num_attention_heads": 64,
    "num_experts_per_tok": 4,
    "num_hidden_layers": 24,
    "num_key_value_heads": 8,
    "num_local_experts": 32,
    "quantization_config": {"quant_method": "mxfp4"},
    "sliding_window": 128,
    "tie_word_embeddings": False,
    "vocab_size": 201088,
}
DEEPSEEK_V3 = {
    "architectures": ["DeepseekV3ForCausalLM"],
    "first_k_dense_replace": 3,
    "hidden_size": 7168,
    "intermediate_size": 18432,
    "kv_lora_rank": 512,
    "max_position_embeddings": 163840,
    "model_type": "deepseek_v3",
    "moe_intermediate_size": 2048,
    "moe_layer_freq": 1,
    "n_routed_experts": 256,
    "n_shared_experts": 1,
    "num_attention_heads": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 61,
    "num_key_value_heads": 128,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "quantization_config": {"activation_scheme": "dynamic", "fmt": "e4m3", "quant_method": "fp8", "weight_block_size": [128, 128]},
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "v_head_dim": 128,
    "vocab_size": 129280,
}
GRANITE_H = {
    "architectures": ["GraniteMoeHybridForCausalLM"],
    "hidden_size": 1536,
    "intermediate_size": 512,
    "layer_types": ["attention" if i in (5, 15, 25, 35) else "mamba" for i in range(40)],
    "mamba_conv_bias": True,
    "mamba_d_conv": 4,
    "mamba_d_head": 64,
    "mamba_d_state": 128,
    "mamba_expand": 2,
    "mamba_n_groups": 1,
    "mamba_n_heads": 48,
    "max_position_embeddings": 131072,
    "model_type": "granitemoehybrid",
    "num_attention_heads": 12,
    "num_experts_per_tok": 6,
    "num_hidden_layers": 40,
    "num_key_value_heads": 4,
    "num_local_experts": 64,
    "shared_intermediate_size": 1024,
    "tie_word_embeddings": True,
    "torch_dtype": "bfloat16",
    "vocab_size": 100352,
}
MISTRAL_7B = {
    "architectures": ["MistralForCausalLM"],
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "max_position_embeddings": 32768,
    "model_type": "mistral",
    "num_attention_heads": 32,
    "num_hidden_layers": 32,
    "num_key_value_heads": 8,
    "sliding_window": 4096,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 32000,
}
QWEN3_MOE = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "decoder_sparse_step": 1,
    "head_dim": 128,
    "hidden_size": 2048,
    "intermediate_size": 6144,
    "max_position_embeddings": 40960,
    "mlp_only_layers": [],
    "model_type": "qwen3_moe",
    "moe_intermediate_size": 768,
    "num_attention_heads": 32,
    "num_experts": 128,
    "num_experts_per_tok": 8,
    "num_hidden_layers": 48,
    "num_key_value_heads": 4,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "vocab_size": 151936,
}


def nothing(config: EngineConfig, weights: Quantity | None = None) -> RuntimeEstimate:
    zero = Quantity.exact(0)
    return RuntimeEstimate(zero, zero, zero, zero, zero, True)


def configured(
    shape: Mapping[str, Any], card: Card = H100, count: int | None = None, release: str = "0.33.0", **values: object
) -> EngineConfig:
    config = resolve(values, from_config(shape, "org/model", "config"), card, count, release)
    assert isinstance(config, EngineConfig), config
    return config


def judged(shape: Mapping[str, Any], card: Card = H100, release: str = "0.33.0", **values: object) -> Budget:
    values.setdefault("kv_cache_memory_bytes", 64 * GIB)
    return account(configured(shape, card, None, release, **values), nothing)


def refused(
    shape: Mapping[str, Any], card: Card = H100, count: int | None = None, release: str = "0.33.0", **values: object
) -> Refusal:
    config = resolve(values, from_config(shape, "org/model", "config"), card, count, release)
    assert isinstance(config, Refusal), config
    return config


# ---- weights -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "values", "card", "size"),
    [
        (QWEN_7B, {}, H100, 15_231_233_024),
        (QWEN_7B, {"tensor_parallel_size": 2}, H100, 7_615_820_800),
        (LLAMA_8B, {}, H100, 16_060_522_496),
        (GPT_OSS_20B, {}, H100, 14_217_788_544),
        (GPT_OSS_20B, {}, A100, 14_679_227_520),
        (DEEPSEEK_V3, {"tensor_parallel_size": 8}, H100, 85_140_130_848),
        (GRANITE_H, {}, H100, 13_878_077_952),
        (MISTRAL_7B, {}, H100, 14_483_464_192),
        (GEMMA3_1B, {}, H100, 1_999_771_904),
    ],
)
def test_weights_of_one_gpu(shape: Mapping[str, Any], values: dict[str, object], card: Card, size: int) -> None:
    budget = judged(shape, card, **values)
    assert budget.weights is not None
    assert budget.weights.likely == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize(
    ("quantization", "size"),
    [
        ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, 2_282_613_760 + 3_288_133_632),
        ({"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": False, "sym": True}, 2_282_613_760 + 3_288_133_632),
    ],
)
def test_packed_checkpoints_keep_embeddings_in_16_bit(quantization: dict[str, object], size: int) -> None:
    budget = judged({**QWEN_7B, "torch_dtype": "float16", "quantization_config": quantization}, A10)
    assert budget.weights is not None
    assert budget.weights.likely == size


def test_modules_that_a_checkpoint_lists_stay_16_bit() -> None:
    plain = {"quant_method": "fp8", "activation_scheme": "dynamic"}
    less = {**plain, "modules_to_not_convert": ["lm_head", "model.layers.0.mlp.down_proj"]}
    whole, kept = judged({**LLAMA_8B, "quantization_config": plain}), judged({**LLAMA_8B, "quantization_config": less})
    assert whole.weights is not None
    assert kept.weights is not None
    assert kept.weights.likely - whole.weights.likely == 14336 * 4096 - 4


def test_expert_parallel_takes_as_much_as_sharding() -> None:
    sharded = judged(QWEN3_MOE, tensor_parallel_size=8)
    spread = judged(QWEN3_MOE, tensor_parallel_size=8, enable_expert_parallel=True)
    assert sharded.weights == spread.weights


def test_cpu_offload_takes_weights_off_the_card() -> None:
    whole, less = judged(LLAMA_8B), judged(LLAMA_8B, cpu_offload_gb=4)
    assert whole.weights is not None
    assert less.weights is not None
    assert whole.weights.likely - less.weights.likely == 4 * GIB


def test_a_draft_model_is_loaded_beside_the_model() -> None:
    draft = from_config({**LLAMA_8B, "num_hidden_layers": 2, "tie_word_embeddings": True}, "org/draft", "config")
    values = {"speculative_config": {"model": "org/draft", "num_speculative_tokens": 3}, "kv_cache_memory_bytes": 64 * GIB}
    config = resolve(values, from_config(LLAMA_8B, "org/model", "config"), H100, None, "0.33.0", drafts={"org/draft": draft})
    assert isinstance(config, EngineConfig)
    alone, both = judged(LLAMA_8B), account(config, nothing)
    assert alone.weights is not None
    assert both.weights is not None
    assert both.weights.likely > alone.weights.likely
    assert (both.bytes_per_sequence or 0) > (alone.bytes_per_sequence or 0)


def test_unknown_architectures_are_not_guessed() -> None:
    budget = judged({**LLAMA_8B, "model_type": "novel", "architectures": ["NovelForCausalLM"]})
    assert budget.outcome == "unknown"
    assert "NovelForCausalLM" in budget.unknown[0]


# ---- cache -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "card", "values", "size", "block"),
    [
        (LLAMA_8B, H100, {"max_model_len": 32768}, 4 * GIB, 16),
        (LLAMA_8B, H100, {"max_model_len": 32768, "kv_cache_dtype": "fp8"}, 2 * GIB, 16),
        (LLAMA_8B, H100, {"max_model_len": 32768, "tensor_parallel_size": 8}, GIB // 2, 16),
        (LLAMA_8B, H100, {"max_model_len": 32768, "tensor_parallel_size": 16}, GIB // 2, 16),
        (MISTRAL_7B, H100, {}, 2_686_451_712, 16),
        (GPT_OSS_20B, H100, {"async_scheduling": False}, 3_426_091_008, 16),
        (GPT_OSS_20B, H100, {"disable_hybrid_kv_cache_manager": True}, 6 * GIB, 16),
        (GEMMA3_1B, H100, {"enable_prefix_caching": False}, 549_847_040, 16),
        (DEEPSEEK_V3, H100, {"tensor_parallel_size": 8, "kv_cache_dtype": "fp8"}, 5_756_682_240, 64),
        (GRANITE_H, H100, {"enable_prefix_caching": False}, 1_104_281_600, 400),
        (GRANITE_H, H100, {}, 1_163_264_000, 400),
    ],
)
def test_cache_of_one_request(shape: Mapping[str, Any], card: Card, values: dict[str, object], size: int, block: int) -> None:
    budget = judged(shape, card, **values)
    assert budget.bytes_per_sequence == size
    assert budget.block_size == block


def test_context_parallelism_divides_a_latent_cache() -> None:
    whole = judged(DEEPSEEK_V3, tensor_parallel_size=8)
    parts = judged(DEEPSEEK_V3, tensor_parallel_size=8, decode_context_parallel_size=8)
    assert (whole.bytes_per_sequence or 0) == 8 * (parts.bytes_per_sequence or 0)


def test_one_block_is_kept_back() -> None:
    exact, more = 4 * GIB, 4 * GIB + 2 * 1024 * 1024
    assert judged(LLAMA_8B, max_model_len=32768, kv_cache_memory_bytes=exact).outcome == "refused_kv"
    assert judged(LLAMA_8B, max_model_len=32768, kv_cache_memory_bytes=more).outcome == "starts"
    assert judged(LLAMA_8B, release="0.28.0", max_model_len=32768, kv_cache_memory_bytes=exact).outcome == "starts"


def test_automatic_length_shrinks_to_what_fits() -> None:
    budget = judged(QWEN_7B, max_model_len=-1, kv_cache_memory_bytes=3 * GIB // 2)
    assert budget.max_model_len == 28064
    assert budget.outcome == "starts"


def test_tokens_and_concurrency_as_the_log_prints_them() -> None:
    budget = judged(LLAMA_8B, max_model_len=8192, kv_cache_memory_bytes=10 * GIB)
    assert budget.tokens == Quantity.exact(81920)
    assert budget.max_concurrency == Quantity.exact(10)


def test_a_stated_block_count_replaces_the_pool() -> None:
    assert judged(QWEN_7B, num_gpu_blocks_override=1000).outcome == "refused_kv"


def test_groups_are_as_large_as_the_rarest_kind() -> None:
    config = configured(GEMMA3_1B)
    full, slides = Spec("full", 16, 100), Spec("sliding", 16, 100, 512)
    layout = KvPlan(config, (Group(slides, 4, 400), Group(full, 4, 400)), 16, 400)
    assert layout.blocks_per_request(32768) == slides.blocks(32768, config) + full.blocks(32768, config)


# ---- arguments as resolved, and refusals -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("card", "usage", "release", "tokens", "sequences"),
    [
        (H100, "server", "0.33.0", 8192, 1024),
        (H100, "LLM", "0.33.0", 16384, 1024),
        (A100, "server", "0.33.0", 2048, 256),
        (A100, "server", "0.8.5", 8192, 1024),
        (A10, "LLM", "0.33.0", 8192, 256),
        (B200, "server", "0.33.0", 16384, 1024),
        (B200, "server", "0.27.1", 8192, 1024),
    ],
)
def test_batch_defaults_follow_the_card(card: Card, usage: Any, release: str, tokens: int, sequences: int) -> None:
    config = resolve({}, from_config(LLAMA_8B, "m", "c"), card, None, release, usage=usage)
    assert isinstance(config, EngineConfig)
    assert (config.max_num_batched_tokens, config.max_num_seqs) == (tokens, sequences)


def test_dtype_follows_the_card() -> None:
    assert configured(LLAMA_8B, T4).dtype == "float16"
    assert configured(GEMMA3_1B, T4).dtype == "float32"
    assert configured({**LLAMA_8B, "torch_dtype": "float32"}, H100).dtype == "bfloat16"


def test_share_changed_in_0_20() -> None:
    assert configured(LLAMA_8B, release="0.19.1").utilization == 0.9
    assert configured(LLAMA_8B, release="0.20.2").utilization == 0.92


def test_yarn_multiplies_up_to_0_29() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    overrides = {"rope_scaling": yarn}
    assert configured(QWEN_7B, release="0.29.0", hf_overrides=overrides, max_model_len=131072).derived_max_model_len == 131072
    assert refused(QWEN_7B, release="0.33.0", hf_overrides=overrides, max_model_len=131072).kind == "max_model_len"
    longer = {**overrides, "max_position_embeddings": 131072}
    assert configured(QWEN_7B, hf_overrides=longer, max_model_len=131072).max_model_len == 131072


@pytest.mark.parametrize(
    ("shape", "card", "count", "values", "kind"),
    [
        (QWEN_7B, H100, None, {"tensor_parallel_size": 3}, "parallel"),
        (QWEN_7B, H100, 1, {"tensor_parallel_size": 2}, "parallel"),
        (QWEN_7B, H100, None, {"enable_expert_parallel": True}, "parallel"),
        (QWEN_7B, H100, None, {"decode_context_parallel_size": 2, "tensor_parallel_size": 4}, "parallel"),
        (LLAMA_8B, H100, None, {"kv_cache_dtype": "float16"}, "kv_cache_dtype"),
        (LLAMA_8B, H100, None, {"kv_cache_dtype": "nonsense"}, "kv_cache_dtype"),
        (GEMMA3_1B, H100, None, {"dtype": "float16"}, "dtype"),
        (LLAMA_8B, T4, None, {"dtype": "bfloat16"}, "dtype"),
        (GPT_OSS_20B, T4, None, {}, "quantization"),
        (GPT_OSS_20B, H100, None, {"dtype": "float16"}, "quantization"),
        (LLAMA_8B, H100, None, {"quantization": "bitsandbytes"}, "quantization"),
        (QWEN_7B, H100, None, {"max_num_seqs": 512, "max_num_batched_tokens": 256}, "scheduler"),
        (GEMMA3_1B, H100, None, {"max_num_batched_tokens": 1024, "enable_chunked_prefill": False}, "scheduler"),
        (QWEN_7B, H100, None, {"max_model_len": 65536}, "max_model_len"),
        (GRANITE_H, H100, None, {"enable_chunked_prefill": False}, "other"),
    ],
)
def test_refusals_of_the_configuration_classes(
    shape: Mapping[str, Any], card: Card, count: int | None, values: dict[str, object], kind: str
) -> None:
    refusal = refused(shape, card, count, **values)
    assert refusal.kind.startswith(kind)
    assert refusal.message


@pytest.mark.parametrize(
    ("shape", "card", "values"),
    [
        (QWEN_7B, H100, {"tensor_parallel_size": 7}),
        (QWEN_7B, H100, {"block_size": 8}),
        (QWEN_7B, T4, {"kv_cache_dtype": "fp8"}),
    ],
)
def test_refusals_at_model_build(shape: Mapping[str, Any], card: Card, values: dict[str, object]) -> None:
    budget = judged(shape, card, **values)
    assert budget.outcome == "arg_error"
    assert budget.phase == "weight loading"


def test_an_unknown_argument_makes_the_answer_unknown() -> None:
    config = resolve({"max_model_len": Unknown("shell variable LEN")}, from_config(LLAMA_8B, "m", "c"), H100, None, "0.33.0")
    assert isinstance(config, Unknown)
    assert "max-model-len" in config.reason


# ---- the verdict -------------------------------------------------------------------------------------------------


def spread(low: float, likely: float, high: float) -> Any:
    def runtime(config: EngineConfig, weights: Quantity | None = None) -> RuntimeEstimate:
        zero = Quantity.exact(0)
        return RuntimeEstimate(Quantity(low, likely, high), zero, zero, zero, zero, True)

    return runtime


@pytest.mark.parametrize(
    ("ends", "outcome", "confidence", "worst"),
    [
        ((0, 1, 2), "starts", "certain", "starts"),
        ((0, 1, 20), "starts", "likely", "oom_profile"),
        ((0, 12, 20), "oom_profile", "likely", "oom_profile"),
        ((12, 13, 20), "oom_profile", "certain", "oom_profile"),
        ((3.5, 4, 4.1), "refused_kv", "likely", "refused_kv"),
    ],
)
def test_certain_only_when_the_optimistic_end_fails(
    ends: tuple[float, float, float], outcome: str, confidence: str, worst: str
) -> None:
    card = replace(A10, total=Quantity.exact(24 * GIB))
    config = configured(QWEN_7B, card, max_model_len=32768, gpu_memory_utilization=0.83)
    budget = account(config, spread(*(e * GIB for e in ends)))
    assert (budget.outcome, budget.confidence, budget.at_worst) == (outcome, confidence, worst)


def test_weights_larger_than_the_card_fail_while_loading() -> None:
    budget = account(configured(LLAMA_8B, T4), nothing)
    assert (budget.outcome, budget.confidence, budget.phase) == ("oom_load", "certain", "weight loading")


# ---- properties --------------------------------------------------------------------------------------------------

SHAPES = st.sampled_from([LLAMA_8B, QWEN_7B, GEMMA3_1B, GPT_OSS_20B, DEEPSEEK_V3, GRANITE_H, MISTRAL_7B, QWEN3_MOE])
slow = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@slow
@given(SHAPES, st.integers(256, 32000), st.integers(0, 8000))
def test_a_longer_context_never_needs_less(shape: Mapping[str, Any], length: int, more: int) -> None:
    short = judged(shape, max_model_len=length).bytes_per_sequence
    long = judged(shape, max_model_len=min(length + more, 32768)).bytes_per_sequence
    assert short is not None
    assert long is not None
    assert short <= long


@slow
@given(SHAPES, st.integers(1, 40), st.integers(1, 40))
def test_a_larger_pool_never_holds_less(shape: Mapping[str, Any], pool: int, more: int) -> None:
    small = judged(shape, max_model_len=8192, kv_cache_memory_bytes=pool * GIB)
    large = judged(shape, max_model_len=8192, kv_cache_memory_bytes=(pool + more) * GIB)
    assert small.tokens is not None
    assert large.tokens is not None
    assert small.tokens.likely <= large.tokens.likely
    assert not (small.outcome == "starts" and large.outcome == "refused_kv")


@slow
@given(SHAPES, st.sampled_from([1, 2, 4]))
def test_more_ranks_never_need_more_of_one_gpu(shape: Mapping[str, Any], ranks: int) -> None:
    assume(shape["num_attention_heads"] % (ranks * 2) == 0)
    few, many = judged(shape, tensor_parallel_size=ranks), judged(shape, tensor_parallel_size=ranks * 2)
    assume(few.weights is not None and many.weights is not None)
    assume(few.bytes_per_sequence is not None and many.bytes_per_sequence is not None)
    assert few.weights is not None
    assert many.weights is not None
    assert many.weights.likely <= few.weights.likely
    # a hybrid's block grows when attention is split further than states: its cache may round up
    hybrid = shape["model_type"] == "granitemoehybrid"
    assert (many.bytes_per_sequence or 0) <= (few.bytes_per_sequence or 0) * (1.1 if hybrid else 1)


@slow
@given(st.sampled_from([LLAMA_8B, QWEN_7B, MISTRAL_7B, QWEN3_MOE]))
def test_a_wider_cache_never_needs_less(shape: Mapping[str, Any]) -> None:
    sizes = [judged(shape, kv_cache_dtype=d).bytes_per_sequence for d in ("nvfp4", "fp8", "auto")]
    assert sizes == sorted(sizes, key=lambda s: s or 0)


@slow
@given(st.recursive(st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3), lambda x: st.lists(x, max_size=2), max_leaves=4),
       st.sampled_from(sorted(LLAMA_8B)), SHAPES)  # fmt: skip
def test_no_configuration_breaks_the_engine(value: object, key: str, shape: Mapping[str, Any]) -> None:
    model = from_config({**shape, key: value}, "org/model", "config")
    config = resolve({"max_model_len": 1024}, model, H100, None, "0.33.0")
    if isinstance(config, EngineConfig):
        account(config, nothing)
        assert weights(config) is not None
