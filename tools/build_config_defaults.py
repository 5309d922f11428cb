"""Write ``lint_vllm/data/config_defaults.json``: what a ``config.json`` may leave out, by ``model_type``.

Run in an environment that has the transformers release that a vLLM release pins (no torch is needed):

    python tools/build_config_defaults.py

vLLM reads a checkpoint through transformers' configuration classes, so a key that ``config.json`` does not hold takes the
class default (a Mistral without ``sliding_window`` slides over 4096 tokens). Only keys that memory can depend on are kept.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent.parent / "lint_vllm" / "data" / "config_defaults.json"

# What never decides bytes: generation, regularisation, tokens, printing.
IGNORED = re.compile(
    r"dropout|token_id|token_index|initializer|_token$|^_|output_(attentions|hidden_states|router|past)|return_|^id2label|^label2id|problem_type|use_cache|"
    r"transformers_version|architectures|^dtype$|chunk_size_feed|layer_norm_eps|rms_norm_eps|norm_eps|epsilon|"
    r"aux_loss|logits_scal|loss|_coef|multiplier|softcap|rope_theta|rotary|std$|std_|mean$|scale$|scaling_factor|"
    r"pretraining_tp|classifier|mask_|apply_spec|layerdrop|begin_suppress|suppress|special|prefix|jitter|use_mamba_kernels|"
    r"activation_function|hidden_act|torchscript|tf_legacy|cross_attention_hidden|query_pre_attn|norm_topk|topk_group|n_group$|"
    r"scoring|time_step|rescale|residual_in_fp32|summary_|reorder|scale_attn|beta|gamma$|fmt|attn_implementation"
)
KEPT_ANYWAY = {"rope_parameters", "rope_scaling", "mamba_ssm_cache_dtype", "mamba_ssm_dtype", "mamba_dt_rank", "model_type_text"}


def value(v: Any) -> Any:
    if isinstance(v, dict):
        return {k: value(x) for k, x in v.items() if not IGNORED.search(k)}
    return v


def useful(key: str, v: Any) -> bool:
    if key in KEPT_ANYWAY:
        return v is not None
    if key.endswith("_config") and isinstance(v, dict):
        return bool(v.get("model_type"))
    if isinstance(v, list) and (len(v) > 128 or any(isinstance(x, (dict, list)) for x in v)):
        return False
    return not IGNORED.search(key) and (v is None or isinstance(v, (int, float, bool, list)))


def derived(cls: Any, fields: dict[str, Any]) -> set[str]:
    """Keys that the class computes from other keys: they change when a key that they follow changes."""
    names = getattr(cls, "attribute_map", {})
    found: set[str] = set()
    for key, factor in (("num_attention_heads", 2), ("hidden_size", 2), ("num_hidden_layers", 2), ("intermediate_size", 2)):
        key = names.get(key, key)
        if not isinstance(fields.get(key), int):
            continue
        try:
            other = cls(**{key: fields[key] * factor}).to_dict()
        except Exception:  # a check of the class objects: nothing to learn
            continue
        found |= {k for k, v in other.items() if k != key and v != fields.get(k)}
    return found


def fields_of_depth(cls: Any) -> list[str] | None:
    """``layer_types`` that the class computes for 61 layers, where it does."""
    names = getattr(cls, "attribute_map", {})
    try:
        found = cls(**{names.get("num_hidden_layers", "num_hidden_layers"): 61}).to_dict().get("layer_types")
    except Exception:
        return None
    return found if isinstance(found, list) and len(found) == 61 and len(set(found)) > 1 else None


def repeating(kinds: list[str] | None) -> list[str] | None:
    """The shortest prefix whose repetition gives all but the last layer."""
    if kinds is None:
        return None
    for size in range(1, 31):
        if all(kinds[i] == kinds[i % size] for i in range(len(kinds) - 1)):
            return kinds[:size]
    return None


def describe(cls: Any) -> dict[str, Any]:
    config = cls()
    fields = config.to_dict()
    for key in derived(cls, fields):
        fields.pop(key, None)
    kept: dict[str, Any] = {}
    for key, v in fields.items():
        if not useful(key, v) or v is None:
            continue
        kept[key] = {"model_type": v["model_type"]} if key.endswith("_config") else value(v)
    names = {k: v for k, v in getattr(cls, "attribute_map", {}).items() if isinstance(v, str)}
    kept.pop("layer_types", None)
    period = repeating(fields_of_depth(cls))
    if period:
        kept["layer_pattern"] = period
    kept.pop("model_type", None)
    if names:
        kept["attribute_map"] = names
    return kept


def main() -> None:
    os.environ["TRANSFORMERS_VERBOSITY"] = "error"
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    types: dict[str, Any] = {}
    for name in sorted(CONFIG_MAPPING.keys()):
        try:
            entry = describe(CONFIG_MAPPING[name])
        except Exception as error:  # a class that cannot be built without arguments has no defaults
            print(f"{name}: {type(error).__name__}: {str(error)[:80]}", file=sys.stderr)
            continue
        known = entry.keys() | set(entry.get("attribute_map", {}))
        if known & {"hidden_size", "embed_dim", "d_model", "text_config", "num_hidden_layers"}:
            types[name] = entry
    DATA.write_text(
        f'{{"source": "transformers=={transformers.__version__} configuration classes",\n "types": {{\n'
        + ",\n".join(f"  {json.dumps(k)}: {json.dumps(v, sort_keys=True, separators=(',', ':'))}" for k, v in types.items())
        + "\n }}\n",
        encoding="utf-8",
    )
    print(f"{len(types)} types, {DATA.stat().st_size:,} bytes", file=sys.stderr)


if __name__ == "__main__":
    main()
