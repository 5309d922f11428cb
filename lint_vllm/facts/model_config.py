"""A model as its ``config.json`` describes it, read as vLLM reads it: class defaults, aliases and derived keys filled in.

vLLM sees a checkpoint through transformers' configuration classes (vllm==0.33.0 transformers_utils/config.py,
model_arch_config_convertor.py), so what the file leaves out takes the class default of its ``model_type``
(``data/config_defaults.json``), and ``layer_types`` and the like are computed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, cast

from lint_vllm.facts.model import Model, Quantization
from lint_vllm.packaged import data_text

TEXT_KEYS = ("text_config", "llm_config", "language_config", "language_model_config", "thinker_config", "model_config")
"""Where a multimodal configuration keeps its language part, first match wins."""

ALIASES: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("n_embd", "d_model", "n_embed", "model_dim", "dim"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "num_transformer_layers", "decoder_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "decoder_attention_heads"),
    "num_key_value_heads": (
        "n_head_kv",
        "num_kv_heads",
        "multi_query_group_num",
        "num_attention_groups",
        "n_kv_heads",
        "num_query_groups",
    ),
    "head_dim": ("kv_channels", "attention_head_dim", "hidden_size_per_head"),
    "intermediate_size": ("ffn_hidden_size", "n_inner", "ffn_dim", "d_ff", "decoder_ffn_dim", "hidden_dim"),
    "num_experts": ("n_routed_experts", "num_local_experts", "moe_num_experts"),
    "num_experts_per_tok": ("num_experts_per_token", "top_k_experts", "moe_topk", "moe_top_k", "moe_k", "experts_per_token"),
}
LENGTH_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "seq_length",
    "model_max_length",
    "max_target_positions",
    "max_sequence_length",
    "max_seq_length",
    "seq_len",
)
"""Keys that bound the length; vLLM takes the smallest (vllm==0.33.0 derive_max_model_len_and_key)."""

TEXT_TYPES: Mapping[str, str] = {
    # model_type of a flat multimodal configuration -> model_type whose class defaults its language part has
    "qwen2_vl": "qwen2_vl_text",
    "qwen2_5_vl": "qwen2_5_vl_text",
    "kimi_k2": "deepseek_v3",
    "deepseek_v32": "deepseek_v3",
    "RefinedWeb": "falcon",
    "RefinedWebModel": "falcon",
}


@cache
def class_defaults() -> Mapping[str, Mapping[str, Any]]:
    """Class defaults by ``model_type``."""
    text = data_text("config_defaults.json")
    return cast("Mapping[str, Mapping[str, Any]]", json.loads(text)["types"])


def filled(config: Mapping[str, Any], fallback_type: str = "") -> dict[str, Any]:
    """A configuration over its class defaults, with common names beside a family's own names."""
    model_type = str(config.get("model_type") or fallback_type)
    defaults = class_defaults().get(TEXT_TYPES.get(model_type, model_type), {})
    merged: dict[str, Any] = {k: v for k, v in defaults.items() if k != "attribute_map"}
    given = dict(config)
    for common, own in defaults.get("attribute_map", {}).items():
        if common in given and own not in given:
            given[own] = given[common]
    for key, item in given.items():
        if item is not None or key not in merged or key in ("sliding_window", "q_lora_rank", "rope_scaling"):
            merged[key] = item
    for common, own in defaults.get("attribute_map", {}).items():
        if merged.get(own) is not None:
            merged[common] = merged[own]
    for common, names in ALIASES.items():
        if merged.get(common) is None:
            found = next((merged[n] for n in names if merged.get(n) is not None), None)
            if found is not None:
                merged[common] = found
    if model_type and not merged.get("model_type"):
        merged["model_type"] = model_type
    return merged


def text_part(config: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """The language part of a configuration and the type whose defaults it has."""
    parent = str(config.get("model_type") or "")
    for key in TEXT_KEYS:
        part = config.get(key)
        if isinstance(part, Mapping):
            if key == "thinker_config":
                return text_part({"model_type": parent, **part})
            fallback = class_defaults().get(parent, {}).get(key)
            kind = str(fallback.get("model_type", "")) if isinstance(fallback, Mapping) else ""
            return part, kind or parent
    return config, parent


def positive(value: object) -> int | None:
    """A size as a whole number; lists count as their first entry; None where there is none."""
    if isinstance(value, (list, tuple)):
        return positive(value[0]) if value else None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return int(value) if value > 0 else None


# ---- keys that the classes compute -------------------------------------------------------------------------------


def _every(n: int, text: Mapping[str, Any], key: str, default: int, offset: int = 1) -> list[str]:
    """Sliding layers with a full one every so many."""
    step = positive(text.get(key)) or default
    return ["full_attention" if (i + offset) % step == 0 else "sliding_attention" for i in range(n)]


def _alternating(n: int, text: Mapping[str, Any]) -> list[str]:
    return ["sliding_attention" if (i + 1) % 2 else "full_attention" for i in range(n)]


def _gemma4(n: int, text: Mapping[str, Any]) -> list[str]:
    types = _every(n, text, "sliding_window_pattern", 6)
    if types:
        types[-1] = "full_attention"
    return types


def _exaone4(n: int, text: Mapping[str, Any]) -> list[str] | None:
    if text.get("sliding_window") is None:
        return ["full_attention"] * n
    pattern = text.get("sliding_window_pattern", 4)
    if isinstance(pattern, str):
        types = ["sliding_attention" if pattern[i % len(pattern)] == "L" else "full_attention" for i in range(n)]
        if types:
            types[-1] = "full_attention"
        return types
    step = positive(pattern) or 4
    return ["sliding_attention" if (i + 1) % step and i < n else "full_attention" for i in range(n)]


def _qwen(n: int, text: Mapping[str, Any]) -> list[str]:
    first = int(text.get("max_window_layers") or 0)
    return ["sliding_attention" if text.get("sliding_window") is not None and i >= first else "full_attention" for i in range(n)]


def _linear(n: int, text: Mapping[str, Any]) -> list[str]:
    step = positive(text.get("full_attention_interval")) or 4
    return ["full_attention" if (i + 1) % step == 0 else "linear_attention" for i in range(n)]


def _llama4(n: int, text: Mapping[str, Any]) -> list[str]:
    rope = text.get("no_rope_layers") or [int((i + 1) % (positive(text.get("no_rope_layer_interval")) or 4) != 0) for i in range(n)]
    return ["chunked_attention" if i < len(rope) and rope[i] else "full_attention" for i in range(n)]


def _lfm2(n: int, text: Mapping[str, Any]) -> list[str]:
    full = text.get("full_attn_idxs")
    return ["full_attention" if full is None or i in full else "conv" for i in range(n)]


def _jamba(n: int, text: Mapping[str, Any]) -> list[str]:
    period, offset = positive(text.get("attn_layer_period")) or 8, int(text.get("attn_layer_offset", 4))
    return ["attention" if i % period == offset else "mamba" for i in range(n)]


def _bamba(n: int, text: Mapping[str, Any]) -> list[str]:
    full = text.get("attn_layer_indices") or ()
    return ["attention" if i in full else "mamba" for i in range(n)]


def _smollm3(n: int, text: Mapping[str, Any]) -> list[str] | None:
    if not text.get("use_sliding_window") or text.get("sliding_window") is None:
        return ["full_attention"] * n
    rope = text.get("no_rope_layers") or [int((i + 1) % (positive(text.get("no_rope_layer_interval")) or 4) != 0) for i in range(n)]
    return ["sliding_attention" if i < len(rope) and rope[i] else "full_attention" for i in range(n)]


def _mimo(n: int, text: Mapping[str, Any]) -> list[str] | None:
    pattern = text.get("hybrid_layer_pattern")
    if not isinstance(pattern, list) or len(pattern) < n:
        return None
    return ["sliding_attention" if kind else "full_attention" for kind in pattern[:n]]


def _kimi_linear(n: int, text: Mapping[str, Any]) -> list[str] | None:
    stated = text.get("linear_attn_config")
    if not isinstance(stated, Mapping):
        return None
    full = set(stated.get("full_attn_layers") or ())  # counted from one
    return ["full_attention" if i + 1 in full else "linear_attention" for i in range(n)]


LAYER_TYPES: Mapping[str, Callable[[int, Mapping[str, Any]], list[str] | None]] = {
    "gemma2": _alternating,
    "gpt_oss": _alternating,
    "vaultgemma": _alternating,
    "gemma3_text": lambda n, t: _every(n, t, "sliding_window_pattern", 6),
    "gemma3n_text": lambda n, t: _every(n, t, "sliding_window_pattern", 5),
    "gemma4_text": _gemma4,
    "cohere2": lambda n, t: _every(n, t, "sliding_window_pattern", 4),
    "olmo3": lambda n, t: _every(n, t, "sliding_window_pattern", 4),
    "exaone4": _exaone4,
    "exaone_moe": _exaone4,
    "qwen2": _qwen,
    "qwen2_moe": _qwen,
    "qwen2_vl": _qwen,
    "qwen2_5_vl": _qwen,
    "qwen2_vl_text": _qwen,
    "qwen2_5_vl_text": _qwen,
    "qwen3": _qwen,
    "qwen3_next": _linear,
    "qwen3_5": _linear,
    "qwen3_5_text": _linear,
    "qwen3_5_moe": _linear,
    "qwen3_5_moe_text": _linear,
    "llama4_text": _llama4,
    "lfm2": _lfm2,
    "lfm2_moe": _lfm2,
    "jamba": _jamba,
    "bamba": _bamba,
    "smollm3": _smollm3,
    "mimo_v2_flash": _mimo,
    "mimo_v2": _mimo,
    "kimi_linear": _kimi_linear,
}
"""How a class lays out its layers when ``config.json`` does not say (transformers==5.24.0 configuration classes)."""

WINDOW_SWITCHES = (
    "qwen2",
    "qwen2_moe",
    "qwen2_vl",
    "qwen2_5_vl",
    "qwen2_vl_text",
    "qwen2_5_vl_text",
    "qwen3",
    "qwen3_moe",
    "qwen3_vl_text",
)
"""Classes whose window counts only with ``use_sliding_window``."""


TIED_BY_CLASS = "tied_by_class"
"""Set in a language part that is tied by its outer class's default alone: a checkpoint with an ``lm_head`` unties it."""


def effective_text(config: Mapping[str, Any], bare: bool = False) -> dict[str, Any]:
    """The language part as vLLM sees it. ``bare``: ``config`` is a whole ``config.json``, so what it leaves out is a default."""
    part, kind = text_part(config)
    text = filled(part, kind)
    if part is not config:
        # what the outer configuration states for the whole model; its tying wins over the part's (vllm==0.33.0 config/vllm.py)
        tied = config.get("tie_word_embeddings")
        if tied is None and bare and _multimodal(config) and "thinker_config" not in config:
            tied = class_defaults().get(str(config.get("model_type") or ""), {}).get("tie_word_embeddings")
            text[TIED_BY_CLASS] = tied is True
        if tied is not None:
            text["tie_word_embeddings"] = tied
        if config.get("quantization_config") is not None and part.get("quantization_config") is None:
            text["quantization_config"] = config["quantization_config"]
    kind = str(text.get("model_type") or kind)
    if kind in WINDOW_SWITCHES and not text.get("use_sliding_window"):
        text["sliding_window"] = None
    layers = positive(text.get("num_hidden_layers"))
    pattern = text.pop("layer_pattern", None)
    if layers and not text.get("layer_types"):
        if kind in LAYER_TYPES:
            text["layer_types"] = LAYER_TYPES[kind](layers, text)
        elif isinstance(pattern, list) and pattern:
            text["layer_types"] = [pattern[i % len(pattern)] for i in range(layers)]
    if kind == "phi3" and text.get("original_max_position_embeddings") is None:
        text["original_max_position_embeddings"] = text.get("max_position_embeddings")
    return text


# ---- quantization ------------------------------------------------------------------------------------------------

MODELOPT = {"FP8": "modelopt", "FP8_PER_CHANNEL_PER_TOKEN": "modelopt", "FP8_PB_WO": "modelopt", "NVFP4": "modelopt_fp4",
            "MIXED_PRECISION": "modelopt_mixed", "MXFP8": "modelopt_mxfp8"}  # fmt: skip


def quantization_of(config: Mapping[str, Any], text: Mapping[str, Any]) -> Quantization | None:
    """The checkpoint's quantization, its method named as the file names it (ModelOpt's split by algorithm)."""
    raw = config.get("quantization_config") or config.get("compression_config") or text.get("quantization_config")
    if not isinstance(raw, Mapping) or not raw:
        return None
    method = str(raw.get("quant_method") or "").lower().replace("compressed_tensors", "compressed-tensors")
    inner = raw.get("quantization")
    algorithm = raw.get("quant_algo") or (inner.get("quant_algo") if isinstance(inner, Mapping) else None)
    producer = raw.get("producer")
    if method == "modelopt" or (isinstance(producer, Mapping) and producer.get("name") == "modelopt") or (not method and algorithm):
        method = MODELOPT.get(str(algorithm or "FP8").upper(), "modelopt")
    if not method:
        return None
    block = raw.get("weight_block_size")
    bits = raw.get("bits") or raw.get("w_bit")
    if bits is None and method == "bitsandbytes":
        bits = 8 if raw.get("load_in_8bit") and not raw.get("load_in_4bit") else 4
    if bits is None:
        bits = {"fp8": 8, "modelopt": 8, "modelopt_fp4": 4, "mxfp4": 4, "fbgemm_fp8": 8}.get(method)
    if bits is None and isinstance(raw.get("config_groups"), Mapping):
        weights = next((g.get("weights") for g in raw["config_groups"].values() if isinstance(g, Mapping)), None)
        bits = weights.get("num_bits") if isinstance(weights, Mapping) else None
    return Quantization(
        method,
        float(bits) if isinstance(bits, (int, float)) else None,
        positive(raw.get("group_size")) or positive(raw.get("q_group_size")),
        (int(block[0]), int(block[1])) if isinstance(block, (list, tuple)) and len(block) == 2 else None,
        raw,
    )


DTYPES = {"bfloat16": "bfloat16", "bf16": "bfloat16", "float16": "float16", "half": "float16", "fp16": "float16", "float32": "float32",
          "float": "float32", "fp32": "float32"}  # fmt: skip


def dtype_of(config: Mapping[str, Any], text: Mapping[str, Any]) -> str | None:
    """What the checkpoint states as its dtype, outer configuration first."""
    for holder in (config, text, config.get("vision_config"), config.get("encoder_config")):
        if isinstance(holder, Mapping):
            for key in ("dtype", "torch_dtype"):
                stated = holder.get(key)
                if isinstance(stated, str):
                    return DTYPES.get(stated.removeprefix("torch.").lower())
    return None


HYBRID_KINDS = frozenset({"mamba", "linear_attention", "conv", "recurrent", "M", "mamba2", "hybrid"})


def _multimodal(config: Mapping[str, Any]) -> bool:
    """Whether the model has a tower: its configuration holds one, or its class does."""
    defaults = class_defaults().get(str(config.get("model_type") or ""), {})
    thinker = config.get("thinker_config")
    if isinstance(thinker, Mapping):
        return _multimodal(thinker)
    return any(isinstance(config.get(k), Mapping) or (k not in config and k in defaults) for k in MULTIMODAL_KEYS)


MULTIMODAL_KEYS = ("vision_config", "audio_config", "visual", "vision_cfg", "mm_vision_tower", "speech_config", "img_processor")
MLA_TYPES = frozenset(
    [
        "axk1",
        "deepseek_v2",
        "deepseek_v3",
        "deepseek_v32",
        "deepseek_v4",
        "deepseek_v41",
        "dots3_note",
        "glm5_next",
        "glm5_next_text",
        "glm_moe_dsa",
        "glm4_moe_lite",
        "kimi_k2",
        "kimi_linear",
        "longcat_flash",
        "pangu_ultra_moe",
        "bailing_hybrid",
        "hy_v4",
        "minicpm3",
        "deepseek_vl_v2",
        "mistral4",
    ]
)


def kv_heads_of(text: Mapping[str, Any], heads: int | None) -> int | None:
    """KV heads of the whole model (``get_total_num_kv_heads``); Falcon's old kind has one."""
    if text.get("model_type") in ("falcon", "RefinedWeb", "RefinedWebModel") and not text.get("new_decoder_architecture"):
        return 1 if text.get("multi_query", True) else heads
    if isinstance(text.get("attn_config"), Mapping):
        inner = text["attn_config"]
        return positive(inner.get("kv_n_heads")) or heads
    if text.get("model_type") == "gpt_bigcode":
        return 1 if text.get("multi_query", True) else heads
    if text.get("model_type") == "chatglm" and not text.get("multi_query_attention", True):
        return heads
    return positive(text.get("num_key_value_heads")) or heads


LAYERS_AT_MOST = 4096
"""No model has more; a larger count is a damaged file, and would only cost time."""

COUNTS = ("layers", "layer", "depth", "blocks")


def bounded(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The configuration without layer counts that no model has."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        if isinstance(value, Mapping):
            inner = bounded(value)
            if inner is not value:
                found[key] = inner
        elif isinstance(value, (int, float)) and value > LAYERS_AT_MOST and key.endswith(COUNTS):
            found[key] = None
    return {**config, **found} if found else config


def words(value: object) -> tuple[str, ...]:
    """The items of a list as text; nothing for what is no list."""
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else ()


def from_config(
    config: Mapping[str, Any], id: str, origin: str, exact: bool = True, record: Mapping[str, Any] | None = None
) -> Model:
    """A model from the content of its ``config.json``. Missing facts stay ``None``; nothing is guessed from the name."""
    config = bounded(config)
    text = effective_text(config, record is None)
    heads = positive(text.get("num_attention_heads"))
    hidden = positive(text.get("hidden_size"))
    head_dim = positive(text.get("head_dim"))
    if head_dim is None and heads and hidden:
        head_dim = hidden // heads
    architectures = words(config.get("architectures")) or words(text.get("architectures"))
    kinds = set(words(text.get("layer_types")) or words(text.get("layers_block_type")))
    pattern = text.get("hybrid_override_pattern")
    window = positive(text.get("sliding_window"))
    record = record or {}
    return Model(
        id=id,
        origin=origin,
        exact=exact,
        config=config,
        text=text,
        architectures=architectures,
        model_type=str(config.get("model_type") or text.get("model_type") or ""),
        num_layers=positive(text.get("num_hidden_layers")),
        hidden_size=hidden,
        attention_heads=heads,
        kv_heads=kv_heads_of(text, heads),
        head_dim=head_dim,
        intermediate_size=positive(text.get("intermediate_size")),
        vocab_size=positive(text.get("vocab_size")) or positive(text.get("padded_vocab_size")),
        max_position_embeddings=positive(text.get("max_position_embeddings")),
        dtype=dtype_of(config, text),
        quantization=quantization_of(config, text),
        mla=str(text.get("model_type")) in MLA_TYPES and positive(text.get("kv_lora_rank")) is not None,
        experts=positive(text.get("num_experts")),
        experts_per_token=positive(text.get("num_experts_per_tok")),
        hybrid_state=bool(kinds & HYBRID_KINDS)
        or (isinstance(pattern, str) and "M" in pattern)
        or bool(text.get("linear_attn_config")),
        multimodal=_multimodal(config),
        sliding_window=window,
        gated=cast("bool | None", record.get("license_gated")),
        total_params=positive(record.get("total_params")),
        record=record or None,
    )
