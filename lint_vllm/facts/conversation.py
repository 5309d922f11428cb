"""How a family of models is talked to: which parsers read its answers, and which checkpoints have no chat template.

Source: ``data/parser_families.json``, ``data/chat_templates.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, cast

from lint_vllm.frozen import dataclass
from lint_vllm.packaged import data_text
from lint_vllm.patterns import pattern

_QUANTIZED = pattern(r"[-_.](?:fp8|awq|gptq|int[48]|w\d+a\d+|nvfp4|bnb|4bit|8bit|quantized|dynamic)\b.*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Family:
    """A family and the parsers that read it, best first; empty where nobody says."""

    name: str
    parsers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Untemplated:
    """A checkpoint without a chat template: what to use in its place, and the tokenizer mode that replaces it, if there is one."""

    instead: str
    mode: str | None = None
    tools_only: bool = False
    """Only requests with tools lack a template: the processor holds one, which vLLM does not use for them."""


def bare_name(model: str) -> str:
    """The last part of an id or path, lower case."""
    return model.rstrip("/").rsplit("/", 1)[-1].lower()


def family_of(model: str, kind: Literal["tool", "reasoning"]) -> Family | None:
    """The family of a model's name; ``None`` for a name that belongs to none, or whose parsers are not known."""
    name = bare_name(model)
    for row in _rows("parser_families"):
        if _compiled(row["match"]).search(name):
            return Family(row["name"], tuple(row[kind])) if row.get(kind) else None
    return None


def untemplated(model: str) -> Untemplated | None:
    """Whether a checkpoint is known to have no chat template."""
    name = _QUANTIZED.sub("", bare_name(model))
    for row in _rows("chat_templates"):
        if _compiled(row["match"]).search(name) and not _compiled(row["unless"]).search(name):
            return Untemplated(row["instead"], row.get("mode"), row.get("for") == "tools")
    return None


def _rows(name: str) -> list[Mapping[str, Any]]:
    return cast("list[Mapping[str, Any]]", _data(name)["families"])


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _data(name: str) -> Mapping[str, Any]:
    text = data_text(f"{name}.json")
    return cast("Mapping[str, Any]", json.loads(text))
