"""placeholder"""

from __future__ import annotations
from lint_vllm.facts.model import Model


def find(model_id: str) -> Model | None:
    return None
