"""Dated facts about vLLM releases that no flag table holds. Source: ``data/release_facts.json``."""

from __future__ import annotations

import functools
import json
from typing import Any

from lint_vllm.facts import version_key
from lint_vllm.packaged import data_text


@functools.lru_cache(maxsize=1)
def _facts() -> dict[str, Any]:
    text = data_text("release_facts.json")
    facts: dict[str, Any] = json.loads(text)
    return facts


def method_removed_in(method: str) -> str | None:
    """The release that dropped a quantization method (or load format) of this name; ``None`` for one that is there."""
    return next((row["removed_in"] for row in _facts()["methods_removed"] if row["method"] == method.lower()), None)


def allowed_lora_ranks(release: str) -> tuple[int, ...]:
    """The values that ``--max-lora-rank`` takes in a release."""
    allowed: list[int] = []
    for row in _facts()["lora_ranks"]:
        if version_key(release) >= version_key(row["since"]) or not allowed:
            allowed = row["allowed"]
    return tuple(allowed)
