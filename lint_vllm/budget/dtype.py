"""Which dtype a launch runs in (vllm==0.33.0 config/model.py ``_resolve_auto_dtype``, ``_check_valid_dtype``)."""

from __future__ import annotations

from lint_vllm.budget.refusal import Refusal
from lint_vllm.budget.releases import engine_data
from lint_vllm.facts.card import Card
from lint_vllm.facts.model import Model

NAMES = {"half": "float16", "float": "float32", "float16": "float16", "bfloat16": "bfloat16", "float32": "float32"}


def supported(card: Card | None) -> tuple[str, ...]:
    """Dtypes of a card, preferred first; an unknown card counts as a recent one."""
    if card is None or card.capability is None or card.capability >= (8, 0):
        return ("bfloat16", "float16", "float32")
    return ("float16", "float32")


def resolve(requested: str, model: Model, card: Card | None, pooling: bool) -> tuple[str, str | None] | Refusal:
    """The dtype, and a sentence where it differs from the checkpoint's."""
    no_half = (model.model_type or str(model.text.get("model_type"))) in engine_data()["no_float16"]
    stated = model.dtype or "float32"
    allowed = tuple(d for d in supported(card) if not (no_half and d == "float16"))
    if requested != "auto":
        dtype = NAMES.get(requested.lower(), requested.lower())
        if dtype not in NAMES.values():
            return Refusal("dtype", f"{requested!r} is no dtype", dests=("dtype",))
        if dtype == "float16" and no_half:
            return Refusal(
                "dtype",
                f"{model.model_type} models do not run in float16 (numerical instability): use bfloat16 or float32",
                dests=("dtype",),
            )
        if dtype == "bfloat16" and card is not None and card.capability is not None and card.capability < (8, 0):
            version = f"{card.capability[0]}.{card.capability[1]}"
            return Refusal(
                "dtype",
                f"bfloat16 needs compute capability 8.0; {card.name} has {version}: use float16",
                "weight loading",
                ("dtype",),
            )
        return dtype, None
    preferred = "float16" if pooling and "float16" in allowed else allowed[0]
    wanted = preferred if stated == "float32" else stated
    if wanted in allowed:
        return wanted, None
    name = card.name if card is not None else "this card"
    return preferred, f"{name} does not run {stated}: vLLM uses {preferred}"
