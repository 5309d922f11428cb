"""Write the model catalogue: ``lint_vllm/data/models.jsonl`` and its index ``lint_vllm/data/models.index``.

    python tools/build_models.py RECORDS.jsonl

``RECORDS.jsonl`` holds one record a model: dimensions, experts, states, quantization, parameters, sources. Each becomes a line
with a ``config`` (the part of a ``config.json`` that memory depends on, layer kinds as one letter each) and a few facts.
The index is sorted by name, one ``name TAB offset TAB length`` a line, so that a look-up bisects the file and reads one line.
Names are lower case: full ids, their aliases, and bare names (of the most downloaded model that has it).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
DATA = ROOT / "lint_vllm" / "data"
SAME = (
    "num_hidden_layers", "hidden_size", "num_attention_heads", "num_key_value_heads", "head_dim", "intermediate_size", "vocab_size",
    "tie_word_embeddings", "max_position_embeddings", "rope_scaling", "num_experts", "moe_intermediate_size", "shared_expert_intermediate_size",
    "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "index_n_heads", "index_head_dim", "index_topk",
    "torch_dtype", "attention_bias", "mlp_bias", "num_kv_shared_layers", "attention_k_eq_v", "moe_latent_size", "type_vocab_size",
    "encoder_layers", "encoder_ffn_dim", "num_mel_bins", "max_source_positions",
)  # fmt: skip
RENAMED = {"experts_per_token": "num_experts_per_tok", "first_k_dense": "first_k_dense_replace", "conv_kernel": "conv_L_cache",
           "embed_dim": "word_embed_proj_dim", "cohere_qk_norm": "use_qk_norm", "dense_intermediate_size": "intermediate_size_mlp"}  # fmt: skip
WIDTH_IS_PLAIN = {"mixtral", "gpt_oss", "granitemoe", "granitemoehybrid", "phimoe", "minimax_m2", "jamba", "dbrx", "llama4"}
"""Types whose experts' width is ``intermediate_size``."""
LINEAR = {"num_key_heads": "linear_num_key_heads", "num_value_heads": "linear_num_value_heads", "key_head_dim": "linear_key_head_dim",
          "value_head_dim": "linear_value_head_dim", "conv_kernel": "linear_conv_kernel_dim"}  # fmt: skip
MAMBA = {"num_heads": "mamba_n_heads", "head_dim": "mamba_d_head", "n_groups": "mamba_n_groups", "state_size": "mamba_d_state",
         "conv_kernel": "mamba_d_conv", "expand": "mamba_expand", "dt_rank": "mamba_dt_rank", "gated_norm": "mamba_rms_norm"}  # fmt: skip
METHODS: Mapping[str, Mapping[str, Any]] = {
    "awq": {"quant_method": "awq", "zero_point": True},
    "gptq": {"quant_method": "gptq", "sym": True, "desc_act": False},
    "fp8": {"quant_method": "fp8", "activation_scheme": "dynamic"},
    "FP8": {"quant_method": "fp8", "activation_scheme": "dynamic"},
    "fbgemm_fp8": {"quant_method": "fbgemm_fp8"},
    "mxfp4": {"quant_method": "mxfp4"},
    "bitsandbytes": {"quant_method": "bitsandbytes", "load_in_4bit": True},
    "modelopt or compressed-tensors nvfp4": {"quant_method": "modelopt", "quant_algo": "NVFP4"},
    "modelopt": {"quant_method": "modelopt"},
}
MIXERS = ["re:.*self_attn.*", "re:.*linear_attn.*", "re:.*mixer.*"]
NOT_EXPERTS = ["re:^(?!.*experts).*$", "re:.*shared_expert.*"]
MIXES: Mapping[str, list[str]] = {
    "nothing": [],
    "linear attention": ["re:.*linear_attn.*", "mtp*"],
    "mixers": [*MIXERS, "mtp*"],
    "all but routed experts": [*NOT_EXPERTS, "mtp*"],
}
"""What a checkpoint may leave 16-bit, least first."""


def weights_group(
    bits: int, kind: str, size: int | None, inputs: Mapping[str, Any] | None = None, strategy: str | None = None
) -> dict[str, Any]:
    weights = {
        "num_bits": bits,
        "type": kind,
        "symmetric": True,
        "strategy": strategy or ("group" if size else "channel"),
        "group_size": size,
    }
    return {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": dict(inputs) if inputs else None}}


def quantization(q: Mapping[str, Any]) -> dict[str, Any] | None:
    """A ``quantization_config`` of the usual kind; None when the method is not known."""
    method, bits, size = q["method"], q.get("bits"), q.get("group_size")
    kept = {"mixers": MIXERS, "all but routed experts": NOT_EXPERTS, "all but mlp": MIXERS}.get(str(q.get("kept_16bit")), [])
    # a class such as ``layers.N.*`` says that some layers stay 16-bit, not which
    named = [c.replace(".N", ".*") for c in q.get("ignored_classes") or () if not c.endswith((".layers.N*", ".layers.N.*"))]
    skipped = sorted({*kept, *named, "lm_head"})
    if str(method).startswith("compressed-tensors"):
        if "int8" in method or (bits == 8 and not size):
            groups = weights_group(8, "int" if "int8" in method else "float", None, {"num_bits": 8, "dynamic": True})
        elif bits == 8:
            groups = weights_group(8, "float", None, {"num_bits": 8, "dynamic": True}, "block")
        else:
            groups = weights_group(int(bits or 4), "int", int(size or 128))
        return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": skipped}
    base = METHODS.get(str(method))
    if base is None:
        return None
    out: dict[str, Any] = dict(base)
    if method == "modelopt":
        algorithm = q.get("algo") or ("NVFP4" if bits == 4 else "FP8" if bits == 8 else None)
        if algorithm is None:
            return None
        out["quant_algo"] = algorithm
    if q.get("kv_cache_quant_algo"):
        out["kv_cache_quant_algo"] = q["kv_cache_quant_algo"]
    if isinstance(size, list):
        out["weight_block_size"] = size
    elif size and out["quant_method"] in ("awq", "gptq"):
        out["group_size"] = size
    if out["quant_method"] in ("awq", "gptq"):
        out["bits"] = bits
    if q.get("activation_scheme"):
        out["activation_scheme"] = q["activation_scheme"]
    out["ignore" if out["quant_method"] == "modelopt" else "modules_to_not_convert"] = skipped
    return out


def blocks(entries: list[Mapping[str, Any]], heads: int) -> list[dict[str, Any]]:
    """``block_configs`` of a pruned model."""
    found = []
    for entry in entries:
        attention: dict[str, Any] = {"no_op": True}
        if entry.get("kv"):
            attention = {"n_heads_in_group": heads // int(entry["kv"])}
        elif entry.get("attn_linear"):
            attention = {"replace_with_linear": True}
        feed: dict[str, Any] = {"no_op": True}
        if entry.get("ffn"):
            feed = {"intermediate_size": entry["ffn"]}
        elif entry.get("ffn_linear"):
            feed = {"replace_with_linear": True}
        found.append({"attention": attention, "ffn": feed})
    return found


def config_of(r: Mapping[str, Any]) -> dict[str, Any]:
    """The part of ``config.json`` that memory depends on."""
    kind = r["model_type"]
    config: dict[str, Any] = {"model_type": kind}
    if r.get("architectures"):
        config["architectures"] = r["architectures"]
    config |= {k: r[k] for k in SAME if r.get(k) is not None}
    config |= {new: r[old] for old, new in RENAMED.items() if r.get(old) is not None}
    config["sliding_window"] = r.get("sliding_window")
    if kind == "llama4" or (r.get("param_family") or "").startswith("llama4"):
        config["attention_chunk_size"] = config.pop("sliding_window")
    for table, entry in ((LINEAR, r.get("linear_attention")), (MAMBA, r.get("mamba"))):
        config |= {new: entry[old] for old, new in table.items() if entry and entry.get(old) is not None}
    mamba = r.get("mamba") or {}
    if mamba.get("num_heads") and mamba.get("head_dim"):
        config["mamba_d_ssm"] = mamba["num_heads"] * mamba["head_dim"]
    if kind in WIDTH_IS_PLAIN and r.get("moe_intermediate_size"):
        config["intermediate_size"] = r["moe_intermediate_size"]
    if kind == "granitemoehybrid" and r.get("shared_expert_intermediate_size"):
        config["shared_intermediate_size"] = config.pop("shared_expert_intermediate_size")
    if kind == "granitemoehybrid" and not r.get("num_experts"):
        config["num_experts"] = 0
    if r.get("full_heads"):
        config["global_head_dim"] = r["full_heads"].get("head_dim")
        config["num_global_key_value_heads"] = r["full_heads"].get("kv")
    if r.get("moe_layer_step") and kind == "jamba":
        config["expert_layer_period"], config["expert_layer_offset"] = r["moe_layer_step"], r.get("moe_layer_offset") or 0
    elif r.get("moe_layer_step") and kind == "llama4":
        config["interleave_moe_layer_step"] = r["moe_layer_step"]
    elif r.get("moe_layer_step"):
        config["moe_layer_freq"] = r["moe_layer_step"]
    if r.get("indexer_layers") is not None:
        config["indexer_types"] = ["full" if i in r["indexer_layers"] else "shared" for i in range(r["num_hidden_layers"])]
    if r.get("block_configs"):
        config["block_configs"] = blocks(r["block_configs"], r["num_attention_heads"])
    if r.get("mtp_layers"):
        config["num_nextn_predict_layers"] = r["mtp_layers"]
    if kind == "whisper":
        config |= {"d_model": r["hidden_size"], "decoder_layers": r["num_hidden_layers"], "decoder_attention_heads": r["num_attention_heads"],
                   "encoder_attention_heads": r["num_attention_heads"], "decoder_ffn_dim": r["intermediate_size"],
                   "max_target_positions": r["max_position_embeddings"]}  # fmt: skip
        config.pop("max_position_embeddings", None)
    if kind == "falcon":
        kv = r.get("num_key_value_heads") or 1
        config |= {"multi_query": kv == 1, "new_decoder_architecture": 1 < kv < r["num_attention_heads"],
                   "num_ln_in_parallel_attn": 2 if r["hidden_size"] >= 8192 else 1}  # fmt: skip
        config["num_kv_heads"] = kv
    if kind == "qwen":
        config["intermediate_size"] = 2 * r["intermediate_size"]  # the record holds the width of one half
    if kind in ("lfm2", "lfm2_moe", "lfm2_vl"):
        config["block_auto_adjust_ff_dim"] = False  # the record holds the width after rounding
    if kind == "gemma4":
        config["hidden_size_per_layer_input"] = 0 if r.get("complete") and r["hidden_size"] > 2560 else 256
    if r.get("quantization_config"):
        stated = quantization(r["quantization_config"])
        if stated is not None:
            config["quantization_config"] = stated
    return config


def vision_config(r: Mapping[str, Any]) -> dict[str, Any] | None:
    """The tower's dimensions under the names of its class, where the record states them; the class fills in the rest."""
    v = r.get("vision")
    if not v or not v.get("hidden_size"):
        return None
    kind = r["model_type"]
    deep = {"layers": "num_hidden_layers", "hidden_size": "hidden_size", "heads": "num_attention_heads"}
    if kind in ("qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe"):
        deep = {"layers": "depth", "hidden_size": "hidden_size", "heads": "num_heads", "spatial_merge_size": "spatial_merge_size"}
    elif kind == "qwen2_vl":
        deep = {"layers": "depth", "heads": "num_heads", "spatial_merge_size": "spatial_merge_size"}
    out = {new: v[old] for old, new in deep.items() if v.get(old)}
    out |= {k: v[k] for k in ("intermediate_size", "patch_size", "image_size") if v.get(k)}
    if kind.startswith("qwen"):
        out["out_hidden_size" if kind != "qwen2_vl" else "hidden_size"] = r["hidden_size"]
    return out


def entry_of(r: Mapping[str, Any]) -> dict[str, Any]:
    """One line of the catalogue."""
    facts = {
        "id": r["id"],
        "config": config_of(r),
        "layers": r.get("layer_pattern"),
        "text_type": r.get("param_family"),
        "gated": r.get("license_gated"),
        "license": r.get("license"),
        "total_params": r.get("total_params"),
        "vision": vision_config(r) or (True if r.get("vision_params") or r.get("vision") else None),
        "vision_params": r.get("vision_params"),
        "quantized_by_name": (r.get("quantization_config") or {}).get("basis") == "name only" or None,
        "unknown_quantization": (r.get("quantization_config") or {}).get("method") == "unknown" or None,
        "incomplete": None if r.get("complete") else (r.get("missing") or True),
        "verified": r.get("verified"),
        "source": (r.get("source") or [])[:3],
    }
    return {k: v for k, v in facts.items() if v is not None}


def unexplained(entry: Mapping[str, Any], published: int) -> float | None:
    """How far the engine's parameters of an unquantized model are from the published count, where it is more than 3 %."""
    from lint_vllm.budget.architectures import build
    from lint_vllm.budget.ledger import Indivisible, Ledger, NotModelled, Rank
    from lint_vllm.budget.quantization import UNQUANTIZED
    from lint_vllm.facts.catalogue import model_of

    try:
        built = build(model_of(entry), Ledger(Rank(), UNQUANTIZED))
    except (NotModelled, Indivisible):
        return None
    ratio = built.bytes / 2 / published
    return round(ratio, 3) if abs(ratio - 1) > 0.03 else None


def mix_of(entry: Mapping[str, Any], stored: int, mtp: int) -> tuple[str, list[str]] | None:
    """Which mix gives the stored size of a checkpoint that is known by its name only; None where none does within 2 %.

    ``mtp``: parameters of its multi-token-prediction blocks, which are stored and, where a mix leaves them alone, 16-bit.
    """
    from lint_vllm.budget.architectures import build
    from lint_vllm.budget.ledger import Indivisible, Ledger, NotModelled, Rank
    from lint_vllm.budget.quantization import scheme_of
    from lint_vllm.facts.catalogue import model_of

    off: list[tuple[float, str, list[str]]] = []
    for mix, skipped in MIXES.items():
        stated = dict(entry["config"]["quantization_config"])
        key = "modules_to_not_convert" if stated["quant_method"] in ("awq", "gptq") else "ignore"
        stated[key] = sorted({*stated.get(key, ()), *skipped})
        model = model_of({**entry, "kept": mix, "config": {**entry["config"], "quantization_config": stated}})
        try:
            built = build(model, Ledger(Rank(capability=(9, 0)), scheme_of(model.quantization, (9, 0))))
        except (NotModelled, Indivisible):
            return None
        size = built.bytes + mtp * (2 if "mtp*" in skipped else 1)
        off.append((abs(size / stored - 1), mix, stated[key]))
    least = min(off, key=lambda one: one[0])
    return (least[1], least[2]) if least[0] < 0.02 else None


def names(records: list[Mapping[str, Any]]) -> Iterator[tuple[str, int]]:
    """Names and the record they mean; the first (most downloaded) record wins a name."""
    taken: set[str] = set()

    def new(name: str) -> bool:
        if name in taken:
            return False
        taken.add(name)
        return True

    for number, r in enumerate(records):
        if new(r["id"].lower()):
            yield r["id"].lower(), number
    for number, r in enumerate(records):
        for alias in r.get("aliases") or ():
            if new(alias.lower()):
                yield alias.lower(), number
    for number, r in enumerate(records):
        for full in (r["id"], *(r.get("aliases") or ())):
            bare = full.rsplit("/", 1)[-1].lower()
            if new(bare):
                yield bare, number


def main(path: str) -> None:
    records = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line.strip()]
    body = bytearray()
    places: list[tuple[int, int]] = []
    for record in records:
        entry = entry_of(record)
        if record.get("total_params") and not record.get("no_lm_head") and "quantization_config" not in entry["config"]:
            ratio = unexplained(entry, record["total_params"])
            if ratio is not None:
                entry["unexplained"] = ratio
        stored = record.get("safetensors_bytes") or int((record.get("repository_gib_stated") or 0) * 2**30)
        if stored and entry.get("quantized_by_name") and not record["quantization_config"].get("kept_16bit"):
            mix = mix_of(entry, stored, record.get("mtp_params") or 0) if "quantization_config" in entry["config"] else None
            if mix is not None:
                entry["kept"] = mix[0]
                key = "modules_to_not_convert" if "modules_to_not_convert" in entry["config"]["quantization_config"] else "ignore"
                entry["config"]["quantization_config"][key] = mix[1]
        elif record.get("quantization_config", None) and record["quantization_config"].get("kept_16bit"):
            entry["kept"] = record["quantization_config"]["kept_16bit"]
        line = json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
        places.append((len(body), len(line)))
        body += line
    (DATA / "models.jsonl").write_bytes(body)
    rows = sorted(f"{name}\t{places[n][0]}\t{places[n][1]}\n".encode() for name, n in names(records))
    (DATA / "models.index").write_bytes(b"".join(rows))
    print(f"{len(records)} models, {len(rows)} names, {len(body):,} bytes", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
