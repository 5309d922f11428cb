"""Vision and audio towers with their projectors, by ``model_type`` of the whole model.

Encoder blocks are sharded over the tensor-parallel ranks (``--mm-encoder-tp-mode weights``) or whole on each; embeddings,
norms and most projectors are whole. Sizes come from the tower's own configuration over its class defaults
(vllm==0.33.0 model_executor/models/{siglip,clip,qwen2_vl,qwen2_5_vl,qwen3_vl,mllama4,kimi_k25_vit,...}.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from lint_vllm.budget.ledger import Ledger, NotModelled
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import class_defaults, filled, positive

Config = Mapping[str, Any]


def need(config: Config, *keys: str) -> int:
    for key in keys:
        found = positive(config.get(key))
        if found is not None:
            return found
    raise NotModelled(f"{keys[0]} of the vision or audio tower is not in the configuration")


def part(model: Model, key: str) -> Config | None:
    """A tower's configuration over its class defaults; None where the model has none."""
    given = model.config.get(key)
    outer = class_defaults().get(model.model_type, {}).get(key)
    kind = str(outer.get("model_type", "")) if isinstance(outer, Mapping) else ""
    if isinstance(given, Mapping):
        return filled(given, kind)
    if given is None and key not in model.config and kind:
        return filled({}, kind)
    return None


def towers(model: Model, ledger: Ledger) -> None:
    """Write the towers of a multimodal model; models without one write nothing."""
    if not ledger.is_first:
        return
    thinker = model.config.get("thinker_config")
    if isinstance(thinker, Mapping):
        # Omni models: vLLM builds the thinker alone
        model = replace(model, config=thinker, model_type=str(thinker.get("model_type") or f"{model.model_type}_thinker"))
    counted = positive((model.record or {}).get("vision_params"))
    build = TOWERS.get(model.model_type)
    # a residual is what a published total leaves beside the language part: no better than a tower that is built
    residual = str((model.record or {}).get("verified", "")).endswith("the residual")
    if counted is not None and not (residual and build is not None and model.model_type in BUILT_WHOLE):
        size = counted * ledger.rank.item
        ledger.bytes += size // ledger.rank.encoder_tp
        ledger.uncertain += size - size // ledger.rank.encoder_tp
        ledger.notes.append("size of the vision tower from the catalogue's parameter count")
    elif build is not None and model.multimodal:
        build(model, ledger)
    elif model.multimodal:
        raise NotModelled(f"the vision or audio tower of {model.model_type}")


def block(
    ledger: Ledger, prefix: str, hidden: int, width: int, heads: int, *, gated: bool = False, bias: bool = True, mlp_bias: bool = True,
    norm: int = 2, qkv_width: int | None = None, kv_heads: int | None = None, k_bias: bool = True, sharded: bool = True,
    quantized: bool = True, mlp_quantized: bool = True, attention_sharded: bool = True, mlp_sharded: bool = True,
) -> None:  # fmt: skip
    """One transformer block: two norms of ``norm`` x hidden, attention, MLP."""
    across = ledger.rank.encoder_tp if sharded else 1
    tp = across if attention_sharded else 1
    towers_quantized = quantized and ledger.scheme.towers
    inner = qkv_width or hidden
    ledger.split(heads, "number of vision attention heads", tp)
    q = ledger.split(inner, "vision attention width", tp)
    kv = q if kv_heads is None else ledger.split(inner // heads * kv_heads, "vision KV width", tp)
    ledger.linear(
        f"{prefix}.attn.qkv", hidden, [q, kv, kv], (q + 2 * kv if k_bias else q + kv) if bias else 0, quantized=towers_quantized
    )
    ledger.linear(f"{prefix}.attn.proj", q, [hidden], hidden if bias else 0, row_split=tp > 1, quantized=towers_quantized)
    tp = across if mlp_sharded else 1
    part_width = ledger.split(width, "vision MLP width", tp)
    ups = [part_width, part_width] if gated else [part_width]
    mlp_quantized = mlp_quantized and towers_quantized
    ledger.linear(f"{prefix}.mlp.fc1", hidden, ups, sum(ups) if mlp_bias else 0, quantized=mlp_quantized)
    ledger.linear(f"{prefix}.mlp.fc2", part_width, [hidden], hidden if mlp_bias else 0, row_split=tp > 1, quantized=mlp_quantized)
    ledger.vector(2 * norm * hidden)


def mlp(ledger: Ledger, name: str, inputs: int, width: int, outputs: int, bias: bool = True, split: bool = True) -> None:
    """A two-layer projector: column- and row-parallel, or whole."""
    part_width = ledger.split(width, f"{name} width", ledger.rank.encoder_tp if split else 1)
    ledger.linear(f"{name}.linear_1", inputs, [part_width], part_width if bias else 0, quantized=ledger.scheme.towers)
    ledger.linear(f"{name}.linear_2", part_width, [outputs], outputs if bias else 0, quantized=ledger.scheme.towers)


def text_hidden(model: Model) -> int:
    if model.hidden_size is None:
        raise NotModelled("hidden_size is not in the configuration")
    return model.hidden_size


# ---- common encoders ---------------------------------------------------------------------------------------------


def siglip(
    ledger: Ledger, config: Config, layers: int | None = None, prefix: str = "vision_tower.vision_model", any_width: bool = False
) -> int:
    hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")
    depth, patch, channels = (
        need(config, "num_hidden_layers"),
        need(config, "patch_size"),
        positive(config.get("num_channels")) or 3,
    )
    count = (need(config, "image_size") // patch) ** 2
    ledger.vector(channels * patch * patch * hidden + hidden, count * hidden)
    used = depth if layers is None else layers
    fits = any_width or (hidden % 64 == 0 and width % 64 == 0)  # models/siglip.py SiglipMLP
    for index in range(used):
        block(ledger, f"{prefix}.encoder.layers.{index}", hidden, width, heads, mlp_quantized=fits)
    if used == depth:
        ledger.vector(2 * hidden)
        if config.get("vision_use_head", True):
            ledger.vector(hidden, 4 * hidden * hidden + 4 * hidden, 2 * hidden, 2 * hidden * width + width + hidden)
    return hidden


def clip(ledger: Ledger, config: Config, layers: int | None = None, prefix: str = "vision_tower.vision_model") -> int:
    hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")
    depth, patch, channels = (
        need(config, "num_hidden_layers"),
        need(config, "patch_size"),
        positive(config.get("num_channels")) or 3,
    )
    count = (need(config, "image_size") // patch) ** 2 + 1
    ledger.vector(hidden, channels * patch * patch * hidden, count * hidden, 2 * hidden)
    used = depth if layers is None else layers
    for index in range(used):
        block(ledger, f"{prefix}.encoder.layers.{index}", hidden, width, heads)
    if used == depth:
        ledger.vector(2 * hidden)
    return hidden


def pixtral(ledger: Ledger, config: Config, prefix: str = "vision_tower") -> int:
    hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")
    patch, channels = need(config, "patch_size"), positive(config.get("num_channels")) or 3
    ledger.vector(channels * patch * patch * hidden, hidden)
    for index in range(need(config, "num_hidden_layers")):
        block(ledger, f"{prefix}.transformer.layers.{index}", hidden, width, heads, gated=True, bias=False, mlp_bias=False, norm=1)
    return hidden


def selected_layers(model: Model, config: Config) -> int | None:
    """How many encoder layers a ``vision_feature_layer`` needs; None for all."""
    usual = -1 if model.model_type == "llava_onevision" else -2
    layer = model.config.get("vision_feature_layer", usual if model.model_type.startswith(("llava", "vipllava")) else None)
    depth = need(config, "num_hidden_layers")
    if isinstance(layer, int):
        return depth + layer + 1 if layer < 0 else layer
    if isinstance(layer, (list, tuple)) and layer:
        return max(depth + int(x) + 1 if int(x) < 0 else int(x) for x in layer)
    return None


def encoder_of(model: Model, ledger: Ledger) -> int:
    """A LLaVA-like model's tower: CLIP, SigLIP or Pixtral by its configuration."""
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    kind = str(config.get("model_type"))
    if kind.startswith("siglip"):
        return siglip(ledger, config, selected_layers(model, config))
    if kind.startswith("clip"):
        return clip(ledger, config, selected_layers(model, config))
    if kind == "pixtral":
        return pixtral(ledger, config)
    raise NotModelled(f"vision tower {kind}")


# ---- models ------------------------------------------------------------------------------------------------------


def _llava(model: Model, ledger: Ledger) -> None:
    hidden, out = encoder_of(model, ledger), text_hidden(model)
    layer = model.config.get("vision_feature_layer")
    inputs = hidden * (len(layer) if isinstance(layer, (list, tuple)) else 1)
    bias, split = bool(model.config.get("multimodal_projector_bias", True)), model.model_type != "llava_onevision"
    mlp(ledger, "multi_modal_projector", inputs, out, out, bias, split)
    if model.model_type in ("llava_next", "llava_next_video", "llava_onevision"):
        ledger.vector(out)


def _mistral3(model: Model, ledger: Ledger) -> None:
    hidden, out = encoder_of(model, ledger), text_hidden(model)
    merge = positive(model.config.get("spatial_merge_size")) or 2
    ledger.vector(hidden)
    ledger.vector(hidden * merge * merge * hidden)
    mlp(ledger, "multi_modal_projector", hidden, out, out, bool(model.config.get("multimodal_projector_bias", False)))


def _gemma3(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden = siglip(ledger, {**config, "vision_use_head": False})
    ledger.vector(hidden * text_hidden(model), hidden)


def _paligemma(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden = siglip(ledger, {**config, "vision_use_head": False})
    out = positive(model.config.get("projection_dim")) or 2048
    ledger.vector(hidden * out + out)


def _gemma4(model: Model, ledger: Ledger) -> None:
    """Gemma 4: towers are transformers' own modules, whole on every rank."""
    config = part(model, "vision_config")
    out = text_hidden(model)
    if config is not None:
        hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")
        dim = positive(config.get("head_dim")) or hidden // heads
        kv = positive(config.get("num_key_value_heads")) or heads
        patch = need(config, "patch_size")
        fits = hidden % 64 == 0 and width % 64 == 0  # kernels of quantized towers want whole tiles
        ledger.vector(2 * (positive(config.get("position_embedding_size")) or 10240) * hidden, 3 * patch * patch * hidden)
        for index in range(need(config, "num_hidden_layers")):
            block(ledger, f"vision_tower.encoder.layers.{index}", hidden, width, heads, gated=True, bias=False, mlp_bias=False,
                  norm=2, qkv_width=heads * dim, kv_heads=kv, sharded=False, quantized=fits)  # fmt: skip
            ledger.vector(2 * dim)
        ledger.linear("embed_vision.embedding_projection", hidden, [out], quantized=fits and ledger.scheme.towers)
    audio = part(model, "audio_config") if isinstance(model.config.get("audio_config"), Mapping) else None
    if audio is not None:
        hidden, width = _conformer(ledger, audio), need(audio, "output_proj_dims")
        ledger.vector(hidden * width + width, width * out)


def _conformer(ledger: Ledger, config: Config) -> int:
    """The audio encoder of Gemma 3n and Gemma 4: transformers' or vLLM's own modules, whole on every rank; its width."""
    hidden, heads = need(config, "hidden_size"), need(config, "num_attention_heads", "conf_num_attention_heads")
    channels = config.get("subsampling_conv_channels") or config.get("sscp_conv_channel_size") or (128, 32)
    first, second = (int(c) for c in channels)
    kernel = need(config, "conv_kernel_size", "conf_conv_kernel_size")
    # 128 mel bins, halved twice by the subsampling convolutions
    ledger.vector(9 * first + first, 9 * first * second + second, 128 // 4 * second * hidden)
    feed_forward = 2 * 4 * hidden * hidden + 2 * hidden
    attention = 5 * hidden * hidden + hidden // heads
    convolution = 3 * hidden * hidden + kernel * hidden + 2 * hidden
    layers = need(config, "num_hidden_layers", "conf_num_hidden_layers")
    ledger.vector(layers * (2 * feed_forward + attention + convolution + 3 * hidden))
    return hidden


MOBILENET_V5 = 294_126_912
"""Parameters of ``mobilenetv5_300m_enc``, the fixed vision tower of Gemma 3n (built by timm)."""


def _gemma3n(model: Model, ledger: Ledger) -> None:
    """Gemma 3n: a MobileNet and a conformer, each with an embedder (models/gemma3n_mm.py)."""
    out = text_hidden(model)
    vision, audio = part(model, "vision_config"), part(model, "audio_config")
    if vision is not None:
        ledger.vector(MOBILENET_V5)
        _embedder(ledger, need(vision, "vocab_size"), need(vision, "hidden_size"), out)
    if audio is not None:
        _embedder(ledger, need(audio, "vocab_size"), _conformer(ledger, audio), out)


def _embedder(ledger: Ledger, vocab: int, hidden: int, out: int) -> None:
    ledger.embedding(vocab, hidden)
    ledger.vector(2 * hidden)
    ledger.row("embedding_projection", hidden, out, quantized=ledger.scheme.towers)


def _minicpmv(model: Model, ledger: Ledger) -> None:
    """MiniCPM-V 2.5 to 4.5: SigLIP without its head, and a resampler of one cross-attention (models/minicpmv.py)."""
    config, out = part(model, "vision_config"), text_hidden(model)
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    depth = need(config, "num_hidden_layers") - int(bool(model.config.get("drop_vision_last_layer")))
    hidden = siglip(ledger, {**config, "num_hidden_layers": depth, "vision_use_head": False}, any_width=True)
    ledger.vector(need(model.config, "query_num") * out, hidden * out, 4 * out * out + 4 * out, 6 * out, out * out)


def _minicpmv4_6(model: Model, ledger: Ledger) -> None:
    """MiniCPM-V 4.6 (models/minicpmv4_6.py): SigLIP, one attention block that merges patches, and an MLP into the language part."""
    config, out = part(model, "vision_config"), text_hidden(model)
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden = siglip(ledger, {**config, "vision_use_head": False}, any_width=True)
    wide = 4 * hidden
    q = ledger.split(hidden, "merger attention width", ledger.rank.encoder_tp)
    ledger.vector(3 * hidden * q + 3 * q, q * hidden + hidden, 2 * hidden)
    ledger.vector(2 * wide, 4 * wide * wide + 4 * wide, 4 * wide * hidden + hidden)
    ledger.vector(2 * wide, wide * wide + wide, wide * out + out)


def _muse_glimmer(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")
    patch, frames, merge = need(config, "patch_size"), need(config, "patch_temporal"), need(config, "merge_size")
    ledger.vector(need(config, "pos_emb_height") * need(config, "pos_emb_width") * hidden, 3 * patch * patch * frames * hidden)
    ledger.vector(4 * hidden)
    for index in range(need(config, "num_hidden_layers")):
        block(ledger, f"vision_encoder.transformer.{index}", hidden, width, heads, mlp_sharded=False)
    inner = positive(model.config.get("projector_hidden_size")) or 4096
    ledger.vector(hidden * merge * merge * inner, inner * inner, inner * text_hidden(model))


def _gemma4_unified(model: Model, ledger: Ledger) -> None:
    """Gemma 4 Unified: patches and sound frames are projected, without a tower (models/gemma4_unified.py)."""
    out = text_hidden(model)
    vision, audio = model.config.get("vision_config"), model.config.get("audio_config")
    if isinstance(vision, Mapping):
        patch = positive(vision.get("model_patch_size")) or (positive(vision.get("patch_size")) or 16) * (
            positive(vision.get("pooling_kernel_size")) or 3
        )
        inner, width = positive(vision.get("mm_embed_dim")) or 3840, positive(vision.get("output_proj_dims")) or 3840
        positions = positive(vision.get("mm_posemb_size")) or 1120
        ledger.vector(positions * 2 * inner, 2 * 3 * patch * patch, 4 * inner, width * out)
        local = ledger.split(inner, "patch projection", ledger.rank.tp)
        ledger.vector(3 * patch * patch * local + local)
    if isinstance(audio, Mapping):
        ledger.vector((positive(audio.get("output_proj_dims")) or positive(audio.get("audio_embed_dim")) or 640) * out)


def _qwen2_vl(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    dim, depth = need(config, "embed_dim"), need(config, "depth")
    patch, frames = need(config, "patch_size", "spatial_patch_size"), need(config, "temporal_patch_size")
    channels = positive(config.get("in_chans")) or positive(config.get("in_channels")) or 3
    merge = need(config, "spatial_merge_size")
    ledger.vector(channels * frames * patch * patch * dim)
    for index in range(depth):
        block(ledger, f"visual.blocks.{index}", dim, int(dim * float(config.get("mlp_ratio", 4))), need(config, "num_heads"))
    ledger.vector(2 * dim)
    mlp(ledger, "visual.merger", dim * merge * merge, dim * merge * merge, need(config, "hidden_size"))


def _qwen2_5_vl(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    dim, depth, merge = need(config, "hidden_size"), need(config, "depth"), need(config, "spatial_merge_size")
    patch, frames = need(config, "patch_size"), need(config, "temporal_patch_size")
    channels = positive(config.get("in_chans")) or positive(config.get("in_channels")) or 3
    ledger.vector(channels * frames * patch * patch * dim)
    for index in range(depth):
        block(
            ledger, f"visual.blocks.{index}", dim, need(config, "intermediate_size"), need(config, "num_heads"), gated=True, norm=1,
            kv_heads=positive(config.get("num_key_value_heads")),
        )  # fmt: skip
    ledger.vector(dim)
    mlp(ledger, "visual.merger", dim * merge * merge, dim * merge * merge, need(config, "out_hidden_size"))


def _qwen3_vl(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    dim, depth, merge = need(config, "hidden_size"), need(config, "depth"), need(config, "spatial_merge_size")
    patch, frames, channels = (
        need(config, "patch_size"),
        need(config, "temporal_patch_size"),
        need(config, "in_channels", "in_chans"),
    )
    out = need(config, "out_hidden_size")
    ledger.vector(channels * frames * patch * patch * dim + dim, need(config, "num_position_embeddings") * dim)
    for index in range(depth):
        block(ledger, f"visual.blocks.{index}", dim, need(config, "intermediate_size"), need(config, "num_heads"))
    wide = dim * merge * merge
    ledger.vector(2 * dim)
    mlp(ledger, "visual.merger", wide, wide, out)
    for index in range(len(config.get("deepstack_visual_indexes") or ())):
        ledger.vector(2 * wide)
        mlp(ledger, f"visual.deepstack_merger_list.{index}", wide, wide, out)


def _glm4v(model: Model, ledger: Ledger) -> None:
    """GLM-4V and GLM-OCR (models/glm4_1v.py, glm_ocr.py): the second norms queries and keys and has no position embedding."""
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    reader = model.model_type == "glm_ocr"
    dim, out, heads = need(config, "hidden_size"), need(config, "out_hidden_size"), need(config, "num_heads")
    patch, frames, merge = need(config, "patch_size"), need(config, "temporal_patch_size"), need(config, "spatial_merge_size")
    own = need(config, "intermediate_size")
    width, context = (own, need(model.text, "intermediate_size")) if reader else (out, own)
    bias = bool(config.get("attention_bias"))
    ledger.vector(3 * frames * patch * patch * dim + dim)
    for index in range(need(config, "depth")):
        block(ledger, f"visual.blocks.{index}", dim, width, heads, gated=True, bias=bias, mlp_bias=bias, norm=1)
        if reader:
            ledger.vector(2 * (dim // heads))
    if not reader:
        ledger.vector((need(config, "image_size") // patch) ** 2 * dim, dim)
    ledger.vector(out * dim * merge * merge + out, dim, 2 * out)
    tp, quantized = ledger.rank.encoder_tp, ledger.scheme.towers
    inner = ledger.split(context, "merger width", tp)
    ledger.linear("visual.merger.proj", out, [ledger.split(out, "merger width", tp)], quantized=quantized)
    ledger.linear("visual.merger.gate_up_proj", out, [inner, inner], quantized=quantized)
    ledger.linear("visual.merger.down_proj", inner, [out], row_split=tp > 1, quantized=quantized)


def _idefics3(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden = siglip(ledger, {**config, "vision_use_head": False}, prefix="vision_model", any_width=True)
    scale = positive(model.config.get("scale_factor")) or 2
    ledger.linear(
        "connector.modality_projection.proj", hidden * scale * scale, [text_hidden(model)], quantized=ledger.scheme.towers
    )


def _cohere2_vision(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden = siglip(ledger, {**config, "vision_use_head": False})
    wide = positive(model.config.get("alignment_intermediate_size")) or 36864
    factor = positive(model.config.get("downsample_factor")) or 2
    half, out = ledger.split(wide // 2, "projector width"), text_hidden(model)
    quantized = ledger.scheme.towers
    ledger.linear("multi_modal_projector.linear_1", hidden * factor * factor, [half, half], 2 * half, quantized=quantized)
    ledger.linear("multi_modal_projector.linear_2", half, [out], out, row_split=ledger.rank.tp > 1, quantized=quantized)


def _mllama(model: Model, ledger: Ledger) -> None:
    """Llama 3.2 Vision's tower (models/mllama.py, to 0.10.2): local and gated global layers, tables for the tilings of an image."""
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden, width, heads = (
        need(config, "hidden_size"),
        need(config, "intermediate_size"),
        need(config, "attention_heads", "num_attention_heads"),
    )
    patch, tiles, out = need(config, "patch_size"), need(config, "max_num_tiles"), text_hidden(model)
    count = (need(config, "image_size") // patch) ** 2 + 1
    ratios = config.get("supported_aspect_ratios")
    shapes = (len(ratios) if isinstance(ratios, list) and ratios else 8) + 1
    ledger.vector(3 * patch * patch * hidden, hidden, count * hidden, shapes * tiles * hidden * (count + 2), 3, 4 * hidden)
    depth = need(config, "num_hidden_layers") + need(config, "num_global_layers")
    for index in range(depth):
        block(ledger, f"vision_model.transformer.layers.{index}", hidden, width, heads, bias=False)
    ledger.linear("multi_modal_projector", need(config, "vision_output_dim"), [out], out, quantized=ledger.scheme.towers)


def _llama4(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")
    patch, channels = need(config, "patch_size"), positive(config.get("num_channels")) or 3
    count = (need(config, "image_size") // patch) ** 2 + 1
    tp = ledger.rank.encoder_tp
    ledger.linear(
        "vision_model.patch_embedding.linear",
        channels * patch * patch,
        [ledger.split(hidden, "vision width", tp)],
        quantized=ledger.scheme.towers,
    )
    ledger.vector(hidden, count * hidden, 4 * hidden)
    for index in range(need(config, "num_hidden_layers")):
        block(ledger, f"vision_model.model.layers.{index}", hidden, width, heads)
    inner, outer = need(config, "projector_input_dim"), need(config, "projector_output_dim")
    mlp(ledger, "vision_model.vision_adapter.mlp", width, inner, outer, bool(config.get("multi_modal_projector_bias")))
    out = text_hidden(model)
    ledger.linear(
        "multi_modal_projector.linear_1",
        need(config, "vision_output_dim"),
        [ledger.split(out, "projector width")],
        quantized=ledger.scheme.towers,
    )


def _kimi_k25(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden, width = need(config, "vt_hidden_size", "hidden_size"), need(config, "vt_intermediate_size", "intermediate_size")
    heads, depth = (
        need(config, "vt_num_attention_heads", "num_attention_heads"),
        need(config, "vt_num_hidden_layers", "num_hidden_layers"),
    )
    patch = need(config, "patch_size")
    merge = config.get("merge_kernel_size") or (2, 2)
    ledger.vector(
        3 * patch * patch * hidden + hidden, need(config, "init_pos_emb_height") * need(config, "init_pos_emb_width") * hidden
    )
    for index in range(depth):
        block(ledger, f"vision_tower.encoder.blocks.{index}", hidden, width, heads)
    ledger.vector(2 * hidden)
    wide = hidden * int(merge[0]) * int(merge[1])
    out = text_hidden(model)
    ledger.vector(2 * hidden, wide * wide + wide, wide * out + out)


def _lfm2_vl(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")
    patch, factor = need(config, "patch_size"), positive(model.config.get("downsample_factor")) or 2
    ledger.vector(3 * patch * patch * hidden + hidden, need(config, "num_patches") * hidden)
    depth = need(config, "num_hidden_layers")
    last = model.config.get("vision_feature_layer", -1)
    used = depth + last + 1 if isinstance(last, int) and last < 0 else depth
    for index in range(used):
        block(ledger, f"vision_tower.vision_model.encoder.layers.{index}", hidden, width, heads)
    if used == depth:
        ledger.vector(2 * hidden)
    wide, inner, out = hidden * factor * factor, positive(model.config.get("projector_hidden_size")) or 2560, text_hidden(model)
    bias = int(bool(model.config.get("projector_bias", True)))
    if model.config.get("projector_use_layernorm", True):
        ledger.vector(2 * wide)
    ledger.vector(wide * inner + bias * inner, inner * out + bias * out)


def _internvl(model: Model, ledger: Ledger) -> None:
    config = part(model, "vision_config")
    if config is None:
        raise NotModelled("vision_config is not in the configuration")
    hidden, width, heads = need(config, "hidden_size"), need(config, "intermediate_size"), need(config, "num_attention_heads")

    def pair(value: object) -> int:
        found = positive(value)
        if found is None:
            raise NotModelled("image size of the vision tower is not in the configuration")
        return found

    patch, size = pair(config.get("patch_size")), pair(config.get("image_size"))
    count = (size // patch) ** 2 + 1
    ledger.vector(hidden, 3 * patch * patch * hidden + hidden, count * hidden)
    bias = bool(config.get("qkv_bias", config.get("attention_bias", False)))
    whole = model.model_type == "internvl"  # transformers' layout: attention is not split, the MLP is
    tp = ledger.rank.encoder_tp if heads % ledger.rank.encoder_tp == 0 else 1
    for index in range(need(config, "num_hidden_layers")):
        block(
            ledger,
            f"vision_model.encoder.layers.{index}",
            hidden,
            width,
            heads,
            bias=bias,
            norm=1 if config.get("norm_type") == "rms_norm" else 2,
            sharded=tp > 1,
            attention_sharded=not whole,
        )
        if not bias:
            ledger.vector(hidden)
        ledger.vector(2 * hidden)
        if config.get("qk_normalization") or config.get("use_qk_norm"):
            ledger.vector(2 * hidden)
    stated = model.config.get("downsample_ratio")
    ratio = float(stated) if isinstance(stated, (int, float)) and stated else 0.5
    wide, out = int(hidden * (1 / ratio) ** 2), text_hidden(model)
    ledger.vector(2 * wide)
    ledger.vector(wide * out + out, out * out + out)


def _audio_encoder(ledger: Ledger, config: Config) -> int:
    """Whisper's encoder as other models carry it."""
    hidden, width = need(config, "d_model"), need(config, "encoder_ffn_dim")
    mels, positions = need(config, "num_mel_bins"), need(config, "max_source_positions")
    ledger.vector(mels * hidden * 3 + hidden, hidden * hidden * 3 + hidden, positions * hidden, 2 * hidden)
    for index in range(need(config, "encoder_layers")):
        block(ledger, f"audio_tower.layers.{index}", hidden, width, need(config, "encoder_attention_heads"), k_bias=False,
              sharded=False, quantized=False)  # fmt: skip
    return hidden


def _listener(ledger: Ledger, config: Config) -> None:
    """The audio encoder of Qwen3-Omni and Qwen3-ASR (models/qwen3_omni_moe_thinker.py): three convolutions, fused QKV."""
    hidden, width, narrow = (
        need(config, "d_model"),
        need(config, "encoder_ffn_dim"),
        positive(config.get("downsample_hidden_size")) or 480,
    )
    mels = positive(config.get("num_mel_bins")) or 128
    rows = ((mels + 1) // 2 + 1) // 2
    ledger.vector(9 * narrow + narrow, 2 * (9 * narrow * narrow + narrow), narrow * ((rows + 1) // 2) * hidden)
    for index in range(need(config, "encoder_layers")):
        block(ledger, f"audio_tower.layers.{index}", hidden, width, need(config, "encoder_attention_heads"))
    out = need(config, "output_dim")
    ledger.vector(2 * hidden, hidden * hidden + hidden, hidden * out + out)


def _qwen2_omni(model: Model, ledger: Ledger) -> None:
    """Qwen2.5-Omni's thinker: Qwen2-VL's tower and a Whisper encoder without learned positions, whole on every rank."""
    audio = part(model, "audio_config")
    if audio is not None:
        hidden, width, out = need(audio, "d_model"), need(audio, "encoder_ffn_dim"), need(audio, "output_dim")
        ledger.vector(need(audio, "num_mel_bins") * hidden * 3 + hidden, hidden * hidden * 3 + hidden, 2 * out)
        for index in range(need(audio, "encoder_layers")):
            block(ledger, f"audio_tower.layers.{index}", hidden, width, need(audio, "encoder_attention_heads"), k_bias=False,
                  sharded=False, quantized=False)  # fmt: skip
        ledger.vector(2 * hidden, hidden * out + out)
    if part(model, "vision_config") is not None:
        _qwen2_5_vl(model, ledger)


def _qwen3_omni(model: Model, ledger: Ledger) -> None:
    audio = part(model, "audio_config")
    if audio is not None:
        _listener(ledger, audio)
    if part(model, "vision_config") is not None:
        _qwen3_vl(model, ledger)


def _qwen2_audio(model: Model, ledger: Ledger) -> None:
    config = part(model, "audio_config")
    if config is None:
        raise NotModelled("audio_config is not in the configuration")
    hidden = _audio_encoder(ledger, config)
    ledger.vector(hidden * text_hidden(model) + text_hidden(model))


BUILT_WHOLE = frozenset({"gemma3n"})
"""Types whose towers are the same in every model."""

TOWERS: Mapping[str, Callable[[Model, Ledger], None]] = {
    "llava": _llava,
    "llava_next": _llava,
    "llava_onevision": _llava,
    "mistral3": _mistral3,
    "gemma3": _gemma3,
    "paligemma": _paligemma,
    "gemma4": _gemma4,
    "qwen2_vl": _qwen2_vl,
    "qwen2_5_vl": _qwen2_5_vl,
    "qwen3_vl": _qwen3_vl,
    "qwen3_vl_moe": _qwen3_vl,
    "qwen3_5": _qwen3_vl,
    "qwen3_5_moe": _qwen3_vl,
    "mllama": _mllama,
    "llama4": _llama4,
    "kimi_k25": _kimi_k25,
    "kimi_vl": _kimi_k25,
    "gemma4_unified": _gemma4_unified,
    "gemma3n": _gemma3n,
    "muse_glimmer": _muse_glimmer,
    "minicpmv": _minicpmv,
    "minicpmv4_6": _minicpmv4_6,
    "lfm2_vl": _lfm2_vl,
    "qwen2_5_omni_thinker": _qwen2_omni,
    "qwen3_omni_moe_thinker": _qwen3_omni,
    "qwen3_asr_thinker": _qwen3_omni,
    "internvl_chat": _internvl,
    "internvl": _internvl,
    "qwen2_audio": _qwen2_audio,
    "glm4v": _glm4v,
    "glm46v": _glm4v,
    "glm4v_moe": _glm4v,
    "glm_ocr": _glm4v,
    "idefics3": _idefics3,
    "smolvlm": _idefics3,
    "cohere2_vision": _cohere2_vision,
    "exaone4_5": _qwen2_5_vl,
}
