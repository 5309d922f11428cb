"""Architectures: which modules and caches vLLM's model classes build, by ``model_type`` and architecture name.

``build`` looks a model up in ``data/families.json`` (traits of a family: norms, biases, which mixer) and runs the builders of
``decoder``, ``encoders`` and ``towers``. A family that is not there raises ``NotModelled``: no guess.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, cast

from lint_vllm.budget.ledger import Ledger, NotModelled
from lint_vllm.facts.model import Model
from lint_vllm.packaged import data_text

__all__ = ["Family", "build", "families", "family_of"]

Family = Mapping[str, Any]


@cache
def families() -> Mapping[str, Any]:
    """The shipped table: ``families`` by model_type, ``architectures`` that override, ``towers``, ``unsupported``."""
    text = data_text("families.json")
    return cast("Mapping[str, Any]", json.loads(text))


@cache
def _resolved(name: str) -> Family | None:
    table: Mapping[str, Any] = families()["families"]
    entry = table.get(name)
    if entry is None:
        return None
    if isinstance(entry, str):
        return _resolved(entry)
    base = entry.get("like")
    if base is None:
        return cast("Family", entry)
    return {**(_resolved(base) or {}), **{k: v for k, v in entry.items() if k != "like"}}


def family_of(model: Model) -> Family | None:
    """The traits of a model's language part; architecture names win over ``model_type`` where a class is built otherwise."""
    for architecture in model.architectures:
        named = families()["architectures"].get(architecture)
        if named is not None:
            return _resolved(named)
    for kind in (str(model.text.get("model_type") or ""), model.model_type):
        found = _resolved(kind) if kind else None
        if found is not None:
            return found
    return None


def build(model: Model, ledger: Ledger) -> Ledger:
    """Write a model into a ledger. Raises ``NotModelled`` and ``Indivisible``."""
    from lint_vllm.budget.architectures import decoder, encoders, towers

    family = family_of(model)
    if family is None:
        kind = model.text.get("model_type") or model.model_type
        name = model.architectures[0] if model.architectures else kind
        raise NotModelled(f"architecture {name or 'not stated'}")
    mode = family.get("mode", "decoder")
    if mode == "unknown":
        raise NotModelled(str(family.get("reason") or f"architecture {model.model_type}"))
    if mode == "encoder":
        encoders.encoder(model, family, ledger)
    elif mode == "whisper":
        encoders.whisper(model, ledger)
    elif mode == "deepseek_v4":
        from lint_vllm.budget.architectures.deepseek_v4 import deepseek_v4

        deepseek_v4(model, ledger)
    else:
        if not ledger.rank.language_only:
            towers.towers(model, ledger)
        decoder.decoder(model, family, ledger)
    return ledger
