"""The longest request: derived from the configuration, asked for, or fitted (vllm==0.33.0 ``_get_and_verify_max_len``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lint_vllm.budget.refusal import Refusal
from lint_vllm.budget.releases import since
from lint_vllm.facts.model import Model
from lint_vllm.facts.model_config import LENGTH_KEYS, positive
from lint_vllm.frozen import dataclass

SCALED = frozenset({"su", "longrope", "llama3"})
"""Rope kinds whose ``max_position_embeddings`` is already scaled, in every release."""
YARN = frozenset({"yarn", "deepseek_yarn", "deepseek_llama_scaling"})
LAYER_KEYS = frozenset({"full_attention", "sliding_attention", "chunked_attention", "linear_attention", "main", "compress"})


@dataclass(frozen=True, slots=True)
class Length:
    max_model_len: int
    derived: int
    automatic: bool
    key: str


def rope_parameters(text: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The rope dictionaries of a configuration, one for each kind of layer when they are nested."""
    for key in ("rope_parameters", "rope_scaling"):
        entry = text.get(key)
        if isinstance(entry, Mapping) and entry:
            if set(entry) <= LAYER_KEYS:
                yield from (v for v in entry.values() if isinstance(v, Mapping) and v)
            else:
                yield entry
            if entry.get("rope_type") != "default":
                return


def derived_length(model: Model, release: str, window_off: bool = False) -> tuple[int | None, str]:
    """The limit that the configuration states, and the key; None when it states none."""
    text = model.text
    best: float | None = None
    key = ""
    for name in LENGTH_KEYS:
        value = text.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0 and (best is None or value < best):
            best, key = value, name
    override = positive(text.get("model_max_length"))
    if override:
        best, key = override, "model_max_length"
    window = positive(text.get("sliding_window"))
    if window_off and window is not None and best is not None and window < best:
        best, key = window, "sliding_window"
    if best is None:
        return None, ""
    kind = str(text.get("model_type") or "")
    if "gemma3" not in kind:
        factor = 1.0
        for rope in rope_parameters(text):
            rope_type = str(rope.get("rope_type") or rope.get("type") or "default")
            if rope_type in SCALED:
                continue
            if rope_type in YARN:
                if not since("yarn_multiplies_length", release):
                    continue
                original = rope.get("original_max_position_embeddings")
                if isinstance(original, (int, float)) and rope_type == "yarn":
                    best = original
            value = rope.get("factor")
            if isinstance(value, (int, float)) and value > 0 and rope_type not in ("default", "mrope"):
                factor = float(value)
        best *= factor
    return int(best), key


def derive(model: Model, given: Mapping[str, Any], release: str, env: Mapping[str, str]) -> Length | Refusal:
    """The length in effect. A longer one than derived is refused unless the environment allows it."""
    asked = given.get("max_model_len")
    automatic = asked in (-1, "auto")
    found, key = derived_length(model, release, bool(given.get("disable_sliding_window")))
    if found is None:
        limit = int(asked) if isinstance(asked, int) and asked > 0 else 2048
        return Length(limit, limit, automatic, "default")
    if asked is None or automatic:
        limit = found
        if any((r.get("rope_type") or r.get("type")) == "longrope" for r in rope_parameters(model.text)):
            limit = positive(model.text.get("original_max_position_embeddings")) or found
        return Length(limit, limit, automatic, key)
    if not isinstance(asked, (int, float)):
        return Refusal("max_model_len", f"--max-model-len {asked!r} is no length", dests=("max_model_len",))
    wanted = int(asked)
    if wanted < 1:
        return Refusal("max_model_len", f"--max-model-len {wanted} is not positive", dests=("max_model_len",))
    if wanted > found:
        other = positive(model.text.get("model_max_length"))
        allowed = env.get("VLLM_ALLOW_LONG_MAX_MODEL_LEN", "").lower() in ("1", "true")
        if not allowed and (other is None or wanted > other):
            return Refusal(
                "max_model_len",
                f"--max-model-len {wanted:,} is longer than the {found:,} tokens that {model.id} states ({key})",
                dests=("max_model_len",),
            )
    return Length(wanted, found, False, key)
