"""The transient peak of vLLM's profile run: encoder, forward pass and dummy sampler, one after another.

vLLM measures it (v1/worker/gpu_model_runner.py ``profile_run``) and has no formula. Memory is freed in between, so the
peak is the largest of the three, not their sum. The forms were found on measured start-ups (``docs/accuracy.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lint_vllm.budget.coefficients import coefficients, largest, newest, spread, times, triple, widest
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.model_runner import model_runner
from lint_vllm.budget.quantity import Quantity
from lint_vllm.facts import version_key
from lint_vllm.facts.model_config import class_defaults, filled

_NOTHING = Quantity.exact(0)
_MOE_CHUNK = 32768
"""Tokens that the fused expert kernels take at once (vllm envs.py ``VLLM_FUSED_MOE_CHUNK_SIZE``)."""


def activations(config: EngineConfig) -> Quantity:
    """Bytes per GPU at the highest moment of the profile run, above what stays."""
    return largest([forward(config), sampler(config), encoder(config)])


def forward(config: EngineConfig) -> Quantity:
    """One pass of ``max_num_batched_tokens`` tokens: the widest layer's inputs and outputs, and the expert workspace."""
    model, tp = config.model, config.tensor_parallel_size
    hidden = model.hidden_size or 0
    query = (model.attention_heads or 0) * (model.head_dim or 0)
    width = max(3 * _dense_width(config) / tp, 2 * query / tp) + 3 * hidden
    tokens = config.max_num_batched_tokens
    amount = tokens * config.dtype_bytes * width + _expert_workspace(config)
    wide = model.mla or model.model_type in coefficients()["forward"]["wide_types"]
    return times(spread("forward", "wide" if wide else "dense"), amount)


def _dense_width(config: EngineConfig) -> float:
    if config.model.experts and not _number(config.model.text, "first_k_dense_replace"):
        return _number(config.model.text, "shared_expert_intermediate_size")
    return config.model.intermediate_size or 4 * (config.model.hidden_size or 0)


def _expert_workspace(config: EngineConfig) -> float:
    model = config.model
    if not model.experts:
        return 0.0
    whole = _number(model.text, "moe_intermediate_size") or float(model.intermediate_size or 0)
    width = whole if config.expert_parallel else whole / config.tensor_parallel_size
    tokens = min(config.max_num_batched_tokens, _MOE_CHUNK)
    return tokens * (model.experts_per_token or 1) * config.dtype_bytes * (max(2 * width, model.hidden_size or 0) + width)


def sampler(config: EngineConfig) -> Quantity:
    """Logits of ``max_num_seqs`` sequences with the copies the release's sampler makes of them; on the last stage."""
    if config.runner == "pooling":
        return _NOTHING
    rows = min(config.max_num_seqs, config.max_num_batched_tokens)
    logits = rows * (config.model.vocab_size or 0) * 4
    return times(_sampler_copies(config), logits)


def _sampler_copies(config: EngineConfig) -> Quantity:
    """How many float32 copies of the logits live at once, by engine, runner and release."""
    table = coefficients()["sampler"]
    histories = table["by_runner"]
    copies = triple(newest(histories[model_runner(config)], config.release))
    if config.env.get("VLLM_USE_FLASHINFER_SAMPLER") == "1" and model_runner(config) == "v1":
        copies = triple(table["flashinfer"])
    if config.release_sure and not config.vendor_build:
        return copies
    if config.vendor_build:  # it may carry another sampler and set its switch
        known = triple(table["flashinfer"])
        return widest([copies, known], (known.low * copies.high) ** 0.5)
    any_release = [triple(entry) for history in histories.values() for _since, entry in history]
    # Nobody stated the release: it may be any of them, so neither the newest nor the oldest is likely.
    return widest(any_release, sorted(entry.likely for entry in any_release)[len(any_release) // 2])


def encoder(config: EngineConfig) -> Quantity:
    """One batch of the largest images, videos or sounds through the tower, and its output."""
    model = config.model
    if not model.multimodal or config.skip_mm_profiling or config.language_model_only or _all_limits_zero(config):
        return _NOTHING
    tower = _tower(model.config)
    table = coefficients()["encoder"]
    item = float(table["largest_item_tokens"].get(model.model_type, table["default_item_tokens"]))
    tokens = max(config.max_num_batched_tokens, item)
    if model.model_type in table["one_item_a_sequence"] and not config.v1:
        tokens = item * config.max_num_seqs
    parts = [_pass(config, tower, tokens, item, spread("encoder", "factor")), _plain_attention(config, tower, item)]
    kept = _kept_layers(tower)
    if kept:
        parts.append(times(spread("encoder", "kept_layers"), tokens * config.dtype_bytes * kept))
    if _long_video(config):
        video = min(config.max_model_len, table["long_video"]["tokens"])
        parts.append(_pass(config, tower, video, item, spread("encoder", "long_video_factor")))
    return largest(parts)


def _pass(config: EngineConfig, tower: Mapping[str, Any], tokens: float, item: float, factor: Quantity) -> Quantity:
    """One batch of ``tokens`` embeddings: the widest layer over its patches, and the embeddings that are kept."""
    hidden = _number(tower, "embed_dim") or _number(tower, "hidden_size") or _number(tower, "d_model") or 1152.0
    inner = _number(tower, "intermediate_size") or _number(tower, "encoder_ffn_dim") or 4 * hidden
    patches = tokens * _patches_a_token(config, tower, item)
    amount = patches * config.dtype_bytes * (inner / _shards(config) + 5 * hidden)
    return times(factor, amount) + Quantity.exact(tokens * (config.model.hidden_size or 0) * config.dtype_bytes)


def _kept_layers(tower: Mapping[str, Any]) -> float:
    """Elements a patch of a tower that hands on several layers' outputs: kept, stacked and joined, beside its own two copies.

    vllm==0.10.2 models/mllama.py ``MllamaVisionModel.forward`` (Llama 3.2 Vision); nothing of it is split over ranks.
    """
    out, hidden = _number(tower, "vision_output_dim"), _number(tower, "hidden_size")
    return 2 * (out - hidden) + out + 2 * hidden if out > hidden else 0.0


def _shards(config: EngineConfig) -> int:
    return 1 if config.mm_encoder_tp_data else config.tensor_parallel_size


def _long_video(config: EngineConfig) -> bool:
    """Whether the dummy video of this model and release grows with the length."""
    until = coefficients()["encoder"]["long_video"]["until"]
    if config.model.model_type not in until or config.multimodal_limits.get("video") == 0:
        return False
    last = until[config.model.model_type]
    return last is None or version_key(config.release) < version_key(last)


def _plain_attention(config: EngineConfig, tower: Mapping[str, Any], item: float) -> Quantity:
    """Consumer AMD parts have no flash kernel for towers: scores of every patch against every patch, float32.

    Seen once, to the byte: 65,536 patches and 16 heads asked for 256 GiB (ROCm, gfx1151).
    """
    card = config.card
    if card is None or card.vendor != "amd" or not card.arch.startswith(("gfx10", "gfx11", "gfx12")):
        return _NOTHING
    heads = _number(tower, "num_heads") or _number(tower, "num_attention_heads") or 16.0
    patches = item * _patches_a_token(config, tower, item)
    scores = patches * patches * 4 * max(1.0, heads / _shards(config))
    return Quantity(0.0, scores, scores)


def _patches_a_token(config: EngineConfig, tower: Mapping[str, Any], item: float) -> float:
    merge = _number(tower, "spatial_merge_size") or _number(config.model.config, "spatial_merge_size")
    if merge:
        return merge * merge
    size, patch = _number(tower, "image_size"), _number(tower, "patch_size")
    if not size or not patch or config.model.model_type not in ("gemma3", "gemma3n"):
        return 1.0
    return max(1.0, (size / patch) ** 2 / item)


def _tower(config: Mapping[str, Any] | Mapping[str, object]) -> Mapping[str, Any]:
    """The tower's configuration over its class defaults."""
    for place in (config, config.get("thinker_config")):
        if isinstance(place, Mapping):
            outer = class_defaults().get(str(place.get("model_type") or ""), {})
            for name in ("vision_config", "audio_config", "visual"):
                tower = place.get(name)
                if isinstance(tower, Mapping):
                    usual = outer.get(name)
                    return filled(tower, str(usual.get("model_type") or "") if isinstance(usual, Mapping) else "")
    return {}


def _all_limits_zero(config: EngineConfig) -> bool:
    limits = config.multimodal_limits
    return bool(limits) and all(count == 0 for count in limits.values()) and "image" in limits


def _number(config: Mapping[str, Any] | Mapping[str, object], name: str) -> float:
    value = config.get(name)
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        value = value[0]
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
