"""The shipped catalogue of models: one bisection in an index file, one line read, one configuration built.

``data/models.index`` is sorted by lower-case name; ``data/models.jsonl`` holds the facts (``tools/build_models.py``). Ids that
are not there are tried by their bare name, then without a quantization suffix: such a model is not ``exact`` and says whose
facts it has.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from lint_vllm.facts.model import Model, Quantization
from lint_vllm.facts.model_config import class_defaults, from_config
from lint_vllm.packaged import DATA

LETTERS: Mapping[str, str] = {
    "F": "full_attention",
    "S": "sliding_attention",
    "L": "linear_attention",
    "M": "mamba",
    "C": "conv",
    "X": "cross_attention",
    "-": "mlp",
    "E": "moe",
}
OWN_LETTERS: Mapping[str, Mapping[str, str]] = {
    "llama4": {"S": "chunked_attention"},
    "granitemoehybrid": {"F": "attention"},
    "jamba": {"F": "attention"},
    "bamba": {"F": "attention"},
}
HYBRID = frozenset({"granitemoehybrid", "jamba", "bamba", "qwen3_next", "lfm2", "lfm2_moe"})
"""Types whose class would lay out states; without a pattern the catalogue means attention in every layer."""

SUFFIXES: tuple[tuple[re.Pattern[str], object], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), config)
    for pattern, config in (
        (r"gptq[-_.]?(?:int)?8(?:bit)?|8bit[-_.]gptq|gptq[-_.]8bit(?:[-_.]\d+g)?", {"quant_method": "gptq", "bits": 8, "group_size": 128, "sym": True}),
        (r"gptq(?:[-_.]?(?:int)?4(?:bit)?)?(?:[-_.](?:g?128g?|4b|128g|marlin))*|4bit[-_.]gptq", {"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}),
        (r"awq(?:[-_.]?(?:int)?4(?:bit)?)?(?:[-_.](?:g?128g?|gemm|marlin))*|(?:int)?4(?:bit)?[-_.]awq", {"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}),
        (r"(?:quantized[-_.])?w8a8(?:[-_.](?:int8|dynamic\S*))?|int8(?:[-_.]w8a8)?", "int8"),
        (r"(?:quantized[-_.])?w4a16(?:[-_.](?:g128|ct))?|int4(?:[-_.](?:g128|w4a16|autoround))?|autoround", "int4"),
        (r"fp8(?:[-_.]?(?:dynamic|kv|static|e4m3|w8a8|block))*|dynamic[-_.]fp8", {"quant_method": "fp8", "activation_scheme": "dynamic", "modules_to_not_convert": ["lm_head"]}),
        (r"nvfp4|fp4", {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}),
        (r"(?:unsloth[-_.])?(?:bnb|bitsandbytes|nf4)(?:[-_.](?:4bit|nf4|4))*|(?:unsloth[-_.])?(?:bnb[-_.])?4bit", {"quant_method": "bitsandbytes", "load_in_4bit": True}),
        (r"(?:i1[-_.])?gguf", {"quant_method": "gguf"}),
        (r"hf|bf16|fp16|safetensors", None),
    )
)  # fmt: skip
"""Endings of names and the quantization that they say; None says nothing."""


def _bisect(name: bytes) -> tuple[int, int] | None:
    """Offset and length of a name's line, by bisecting the sorted index file."""
    with DATA.joinpath("models.index").open("rb") as index:
        low, high = 0, index.seek(0, 2)
        while low < high:
            middle = (low + high) // 2
            if middle > low:
                index.seek(middle - 1)
                index.readline()  # to the first line that starts at middle or later
            else:
                index.seek(low)
            start = index.tell()
            line = index.readline()
            if not line or start >= high:
                if middle == low:
                    return None
                high = middle
                continue
            key, offset, length = line.rstrip(b"\n").split(b"\t")
            if key == name:
                return int(offset), int(length)
            if key < name:
                low = index.tell()
            else:
                high = middle
        return None


@lru_cache(maxsize=256)
def record(name: str) -> Mapping[str, Any] | None:
    """The catalogue entry of an id, alias or bare name, in any case."""
    place = _bisect(name.strip().lower().encode())
    if place is None:
        return None
    with DATA.joinpath("models.jsonl").open("rb") as body:
        body.seek(place[0])
        found: Mapping[str, Any] = json.loads(body.read(place[1]))
    return found


def configuration(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The ``config.json`` that an entry stands for."""
    config: dict[str, Any] = dict(entry["config"])
    kind = str(config["model_type"])
    pattern = entry.get("layers")
    if isinstance(pattern, str):
        if kind == "nemotron_h":
            config["hybrid_override_pattern"] = pattern.replace("F", "*")
        else:
            own = OWN_LETTERS.get(kind, {})
            config["layer_types"] = [own.get(c) or LETTERS.get(c, "unknown") for c in pattern]
    elif kind in HYBRID and isinstance(config.get("num_hidden_layers"), int):
        config["layer_types"] = ["full_attention"] * config["num_hidden_layers"]
    if entry.get("text_type") or entry.get("vision"):
        # keys of a multimodal model stand in its language part
        inner = {k: v for k, v in config.items() if k not in ("architectures", "quantization_config", "torch_dtype")}
        outer_defaults = class_defaults().get(kind, {}).get("text_config")
        inner["model_type"] = entry.get("text_type") or (outer_defaults or {}).get("model_type") or kind
        outer = {
            k: v
            for k, v in config.items()
            if k in ("architectures", "model_type", "quantization_config", "torch_dtype", "tie_word_embeddings")
        }
        config = {**outer, "text_config": inner}
        if entry.get("vision"):
            config["vision_config"] = entry["vision"] if isinstance(entry["vision"], Mapping) else {}
    return config


def model_of(entry: Mapping[str, Any]) -> Model:
    """The model that an entry describes."""
    return _model(entry, str(entry["id"]), "catalogue", True)


KEPT_BY_HABIT = ("re:.*linear_attn.*", "mtp*")
"""What publishers of 4-bit checkpoints leave alone in models with linear attention: the ignore lists of nvidia's NVFP4 checkpoints
of Qwen3.5, LLM Compressor's example for Qwen3-Next, and the stored sizes of QuantTrio's AWQ ones."""


def habitual(model: Model) -> Model:
    """A quantized model of which only the method is known, with what its kind of publisher leaves 16-bit."""
    stated, method = model.config.get("quantization_config"), model.quantization
    if method is None or method.bits != 4 or not isinstance(stated, Mapping) or not model.text.get("linear_num_value_heads"):
        return model
    if model.record is not None and model.record.get("kept"):
        return model
    key = "modules_to_not_convert" if method.method in ("awq", "gptq") else "ignore"
    names = stated.get(key)
    kept = [*(names if isinstance(names, list) else ()), *KEPT_BY_HABIT]
    config = {**model.config, "quantization_config": {**stated, key: list(dict.fromkeys(kept))}}
    return from_config(config, model.id, model.origin, model.exact, model.record)


def _model(entry: Mapping[str, Any], name: str, origin: str, exact: bool) -> Model:
    built = _built(entry, name, origin, exact)
    return habitual(built) if entry.get("quantized_by_name") else built


def _built(entry: Mapping[str, Any], name: str, origin: str, exact: bool) -> Model:
    facts = {
        "license_gated": entry.get("gated"),
        "total_params": entry.get("total_params"),
        "vision_params": entry.get("vision_params"),
        **entry,
    }
    return from_config(configuration(entry), name, origin, exact, facts)


@lru_cache(maxsize=512)
def find(model_id: str) -> Model | None:
    """The model of an id; by its bare name or without its quantization suffix it is not ``exact``. None when unknown."""
    name = model_id.strip().rstrip("/")
    if not name:
        return None
    entry = record(name)
    if entry is not None:
        return _model(entry, name, "catalogue", "/" in name)
    bare = name.rsplit("/", 1)[-1]
    entry = record(bare)
    if entry is not None:
        return _model(entry, name, f"catalogue: {entry['id']}", False)
    for stem, stated in stripped(bare):
        entry = record(stem)
        if entry is None:
            continue
        model = _model(entry, name, f"catalogue: {entry['id']}", False)
        return _quantized(model, stated)
    return None


def stripped(bare: str) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Names without one or two quantization suffixes, and what these say."""
    seen: list[tuple[str, Mapping[str, Any] | None]] = [(bare, None)]
    for _ in range(2):
        fresh: list[tuple[str, Mapping[str, Any] | None]] = []
        for name, said in seen:
            for pattern, config in SUFFIXES:
                ending = re.search(rf"[-_.](?:{pattern.pattern})$", name, re.IGNORECASE)
                if ending and ending.start() > 0:
                    fresh.append((name[: ending.start()], said or _stated(config)))
        yield from fresh
        seen = fresh


def _stated(config: object) -> Mapping[str, Any] | None:
    if isinstance(config, str):
        bits = 8 if config == "int8" else 4
        weights = {
            "num_bits": bits,
            "type": "int",
            "symmetric": True,
            "strategy": "channel" if bits == 8 else "group",
            "group_size": None if bits == 8 else 128,
        }
        inputs = {"num_bits": 8, "dynamic": True} if bits == 8 else None
        groups = {"group_0": {"targets": ["Linear"], "weights": weights, "input_activations": inputs}}
        return {"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]}
    return config if isinstance(config, Mapping) else None


def _quantized(model: Model, stated: Mapping[str, Any] | None) -> Model:
    """The base model with the quantization that its name says; what the base already has is kept when it says nothing."""
    if stated is None:
        return model
    config = {**model.config, "quantization_config": stated}
    built = habitual(from_config(config, model.id, model.origin, False, model.record))
    return built if built.quantization is not None else replace(model, quantization=Quantization(str(stated["quant_method"])))


def siblings(model: Model) -> Iterator[Model]:
    """Quantized checkpoints of a 16-bit model that the catalogue has, lightest loss first: FP8, 8-bit, 4-bit."""
    if model.quantization is not None:
        return
    owner, _, bare = model.id.rpartition("/")
    seen: set[str] = set()
    for ending in ("-FP8", "-FP8-dynamic", "-GPTQ-Int8", "-quantized.w8a8", "-AWQ", "-GPTQ-Int4", "-quantized.w4a16", "-NVFP4"):
        for organisation in dict.fromkeys((owner, "RedHatAI", "nvidia", "neuralmagic", "unsloth")):
            if not organisation:
                continue
            entry = record(f"{organisation}/{bare}{ending}")
            if entry is not None and entry["id"] not in seen and entry["config"].get("quantization_config"):
                seen.add(entry["id"])
                yield _model(entry, str(entry["id"]), "catalogue", True)
