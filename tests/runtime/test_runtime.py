"""The runtime term: which drivers apply, by runner and release, and how they scale."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.budget import activations, framework, graphs, load_peak
from lint_vllm.budget.engine_config import EngineConfig, Lora, Speculative
from lint_vllm.budget.model_runner import model_runner
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.runtime import combined, estimate
from lint_vllm.facts.cards import find_card
from lint_vllm.facts.model import Model

DENSE = Model(
    "acme/7b",
    "test",
    True,
    {},
    {},
    architectures=("Qwen2ForCausalLM",),
    model_type="qwen2",
    num_layers=28,
    hidden_size=3584,
    attention_heads=28,
    kv_heads=4,
    head_dim=128,
    intermediate_size=18944,
    vocab_size=152064,
)
VISION = replace(
    DENSE,
    multimodal=True,
    model_type="qwen3_vl",
    architectures=("Qwen3VLForConditionalGeneration",),
    config={"vision_config": {"hidden_size": 1152, "intermediate_size": 4304, "spatial_merge_size": 2, "num_heads": 16}},
)
SPARSE = replace(
    DENSE, experts=128, experts_per_token=8, text={"moe_intermediate_size": 768}, architectures=("Qwen3MoeForCausalLM",)
)
CARD = find_card("RTX 4090")


def config(model: Model = DENSE, release: str = "0.33.0", **changes: object) -> EngineConfig:
    given_ = EngineConfig(model, CARD, 1, release, cudagraph_capture_sizes=tuple(range(1, 52)))
    return replace(given_, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("release", "model", "changes", "runner"),
    [
        ("0.7.3", DENSE, {"v1": False}, "v0"),
        ("0.11.2", DENSE, {}, "v1"),
        ("0.22.1", DENSE, {}, "v1"),
        ("0.22.1", replace(DENSE, architectures=("Qwen3ForCausalLM",)), {}, "v2"),
        ("0.22.1", replace(DENSE, architectures=("Qwen3ForCausalLM",)), {"quantization": "fp8"}, "v1"),
        ("0.26.0", DENSE, {}, "v2"),
        ("0.26.0", SPARSE, {}, "v1"),
        ("0.26.0", replace(DENSE, hybrid_state=True), {}, "v1"),
        ("0.29.0", SPARSE, {}, "v2"),
        ("0.33.0", SPARSE, {}, "v2"),
        ("0.33.0", DENSE, {"env": {"VLLM_USE_V2_MODEL_RUNNER": "0"}}, "v1"),
        ("0.29.0", DENSE, {"speculative": Speculative("ngram", 3)}, "v1"),
        ("0.29.0", replace(DENSE, architectures=("DeepseekV4ForCausalLM",)), {"card": find_card("MI300X")}, "v1"),
    ],
)
def test_the_runner(release: str, model: Model, changes: dict[str, object], runner: str) -> None:
    assert model_runner(config(model, release, **changes)) == runner


@pytest.mark.parametrize(
    ("release", "changes", "inside"),
    [
        ("0.19.1", {}, False),
        ("0.19.1", {"env": {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "1"}}, True),
        ("0.20.2", {}, True),
        ("0.20.2", {"env": {"VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS": "0"}}, False),
        ("0.20.2", {"card": find_card("MI300X")}, False),
        ("0.26.0", {}, False),  # runner V2 estimates nothing before 0.29
        ("0.26.0", {"model": SPARSE}, True),
        ("0.29.0", {}, True),
    ],
)
def test_where_graphs_are_counted(release: str, changes: dict[str, object], inside: bool) -> None:
    assert graphs.inside_share(config(release=release, **changes)) is inside


def test_eager_has_no_graphs() -> None:
    assert graphs.captured(config(enforce_eager=True)) == Quantity.exact(0)
    assert graphs.captured(config(cudagraph_mode="NONE")) == Quantity.exact(0)


@pytest.mark.parametrize(("release", "v1", "likely"), [("0.7.3", False, 9.7), ("0.14.1", True, 9.7), ("0.19.1", True, 4.7)])
def test_sampler_copies_by_release(release: str, v1: bool, likely: float) -> None:
    logits = 256 * 152064 * 4
    assert activations.sampler(config(release=release, v1=v1, max_num_seqs=256)).likely == pytest.approx(likely * logits, rel=0.1)


def test_an_unstated_release_spans_all_samplers() -> None:
    sure, unsure = config(max_num_seqs=256), config(max_num_seqs=256, release_sure=False)
    assert activations.sampler(unsure).high > 1.9 * activations.sampler(sure).high
    assert activations.sampler(sure).likely < activations.sampler(unsure).likely < activations.sampler(unsure).high / 1.5
    assert graphs.captured(unsure).low == 0


def test_pooling_models_sample_nothing() -> None:
    assert activations.sampler(config(runner="pooling")) == Quantity.exact(0)
    assert "nccl_after_snapshot_gib" not in framework.drivers(config(runner="pooling"))


@pytest.mark.parametrize(
    "off",
    [
        {"skip_mm_profiling": True},
        {"language_model_only": True},
        {"multimodal_limits": {"image": 0, "video": 0}},
    ],
)
def test_no_encoder_run(off: dict[str, object]) -> None:
    assert activations.encoder(config(VISION)).likely > GIB
    assert activations.encoder(config(VISION, **off)) == Quantity.exact(0)


def test_towers_without_flash_attention_are_quadratic() -> None:
    rdna = activations.encoder(config(VISION, card=find_card("Strix Halo")))
    assert rdna.likely == pytest.approx(256 * GIB)


@pytest.mark.parametrize(
    ("changes", "driver"),
    [
        ({"tensor_parallel_size": 2}, "nccl_after_snapshot_gib"),
        ({"tensor_parallel_size": 2, "release": "0.10.2"}, "nccl_before_snapshot_gib"),
        ({"attention_backend": "FLASHINFER"}, "flashinfer_gib"),
        ({"cpu_offload_gb": 4.0}, "offload_gib"),
        ({"speculative": Speculative("eagle3", 3)}, "draft_gib"),
        ({"lora": Lora()}, "lora_gib"),
        ({"kv_connector": "LMCacheConnectorV1"}, "connector_gib"),
        ({"card": find_card("GB10")}, "unified_gib"),
        ({"card": find_card("MI300X")}, "rocm_gib"),
        ({"release": "0.8.5"}, "context_counted_gib"),
        ({"release": "0.6.4", "v1": False}, "context_counted_gib"),
    ],
)
def test_each_driver_adds(changes: dict[str, object], driver: str) -> None:
    plain = framework.framework(config(release=str(changes.get("release", "0.33.0"))))
    assert driver in framework.drivers(config(**changes))
    assert framework.framework(config(**changes)).high >= plain.high or driver == "rocm_gib"


def test_sleep_mode_hides_memory_before_0_27() -> None:
    old, new = config(release="0.20.2", enable_sleep_mode=True), config(release="0.27.1", enable_sleep_mode=True)
    assert framework.framework(old).likely < 0
    assert framework.outside(old).likely > 2 * GIB
    assert framework.framework(new) == framework.framework(config(release="0.27.1"))


def test_the_peak_is_the_largest_and_not_the_sum() -> None:
    parts = [activations.forward(config(VISION)), activations.sampler(config(VISION)), activations.encoder(config(VISION))]
    peak = activations.activations(config(VISION))
    assert peak.likely == max(part.likely for part in parts)
    assert peak.likely < sum(part.likely for part in parts)


def test_online_quantization_peaks_at_the_full_weights_in_old_releases() -> None:
    weights = Quantity.exact(8 * GIB)
    old = load_peak.while_loading(config(release="0.11.2", online_quantization=True, quantization="fp8"), weights)
    new = load_peak.while_loading(config(release="0.30.0", online_quantization=True, quantization="fp8"), weights)
    assert old.likely > new.likely + 4 * GIB


def test_spreads_do_not_simply_add_up() -> None:
    one = Quantity(1, 2, 4)
    both = combined([one, one])
    assert both.likely == 4
    assert 1 < both.low < 4 < both.high < 8


@given(
    st.integers(1, 2048),
    st.integers(1, 65536),
    st.sampled_from([1, 2, 4, 8]),
    st.sampled_from(["0.7.3", "0.10.2", "0.19.1", "0.26.0", "0.33.0"]),
    st.sampled_from([DENSE, SPARSE, VISION]),
)
def test_more_never_needs_less(sequences: int, tokens: int, tp: int, release: str, model: Model) -> None:
    base = config(model, release, max_num_seqs=sequences, max_num_batched_tokens=tokens, tensor_parallel_size=tp)
    here = estimate(base)
    for change in (
        {"max_num_seqs": sequences + 64},
        {"max_num_batched_tokens": tokens + 1024},
        {"cudagraph_capture_sizes": tuple(range(1, 84))},
    ):
        more = estimate(replace(base, **change))
        for end in ("low", "likely", "high"):
            assert getattr(more.activations, end) >= getattr(here.activations, end)
            assert getattr(more.cuda_graphs, end) >= getattr(here.cuda_graphs, end)
            assert getattr(more.framework, end) >= getattr(here.framework, end)
    wider = estimate(replace(base, tensor_parallel_size=tp * 2))
    assert wider.activations.likely <= here.activations.likely
    for item in (here.activations, here.cuda_graphs, here.framework, here.margin, here.load_peak, here.in_share):
        assert 0 <= item.low <= item.likely <= item.high
