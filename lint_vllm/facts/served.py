"""What a vLLM release serves: architectures, model types, parser names, quantization methods and their floors.

Source: ``data/model_support.json``, ``data/parsers.json``, ``data/quantization_floors.json`` (``tools/build_model_support.py``),
``data/custom_code.json``.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Literal, cast

from lint_vllm.facts import version_key
from lint_vllm.facts.model import Model
from lint_vllm.frozen import dataclass
from lint_vllm.packaged import data_text

__all__ = [
    "Floor",
    "Span",
    "architecture_of",
    "brings_code",
    "floor",
    "knows_type",
    "parser_span",
    "served_span",
    "takes_media",
    "transformers_of",
    "type_since",
]


@dataclass(frozen=True, slots=True)
class Span:
    """The releases that have something: from ``since``, up to but without ``until`` (``None``: the newest known has it)."""

    since: str
    until: str | None

    def holds(self, release: str) -> bool:
        at = version_key(release)
        begun = self.oldest or version_key(self.since) <= at
        return begun and (self.until is None or at < version_key(self.until))

    @property
    def oldest(self) -> bool:
        """Whether ``since`` is the first release that was read: it may have been there before."""
        return bool(self.since == next(iter(_data("model_support")["releases"])))


@dataclass(frozen=True, slots=True)
class Floor:
    """What a quantization method needs in a release. ``dtypes`` are activation dtypes; ``None`` where it depends on more."""

    capability: tuple[int, int] | None
    dtypes: tuple[str, ...] | None


def served_span(architecture: str) -> Span | None:
    """The releases whose registry has an architecture; ``None`` for one that none of them has."""
    return _span(_data("model_support")["architectures"].get(architecture))


def takes_media(architecture: str) -> bool:
    """Whether an architecture takes images, audio or video."""
    return architecture in _data("model_support")["multimodal"]


def parser_span(kind: Literal["tool", "reasoning"], name: str) -> Span | None:
    """The releases that know a parser; ``None`` for a name that none of them has."""
    return _span(_data("parsers")[kind].get(name))


def architecture_of(model: Model) -> str | None:
    """The class that a checkpoint names, or the one that models of its type have."""
    if model.architectures:
        return model.architectures[0]
    found = _data("model_support")["architecture_of"].get(model.model_type)
    return None if found is None else str(found)


def transformers_of(release: str) -> str | None:
    """The newest transformers that was there when a release was built and that it admits."""
    return _requirement(release, 1)


def newest_transformers_of(release: str) -> str | None:
    """The newest transformers that a release admits, whenever it came out."""
    return _requirement(release, 2)


def _requirement(release: str, column: int) -> str | None:
    found = None
    for known, row in _data("model_support")["releases"].items():
        if version_key(known) <= version_key(release):
            found = row[column]
    return found


def knows_type(model_type: str, release: str, upgraded: bool = False) -> bool | None:
    """Whether a release can read the configuration of a model type without code of the repository; ``None`` where not known.

    ``upgraded``: with the newest transformers that it admits, not the one of its time.
    """
    own = _span(_data("model_support")["own_types"].get(model_type))
    if own is not None and own.holds(release):
        return True
    newest = newest_transformers_of(release) if upgraded else transformers_of(release)
    if newest is None:
        return None
    since = _data("model_support")["types"].get(model_type)
    return since is not None and version_key(since) <= version_key(newest)


def type_since(model_type: str) -> str | None:
    """The first transformers release that knows a model type; ``None`` for one that no release knows."""
    found = _data("model_support")["types"].get(model_type)
    return None if found is None else str(found)


def brings_code(model: Model) -> Literal["config", "tokenizer"] | None:
    """Which code the repository of a model ships that nobody else has: its configuration class, or its tokenizer as well."""
    types = {model.model_type, str(model.text.get("model_type") or "")}
    table = _data("custom_code")
    if types & set(table["tokenizers"]):
        return "tokenizer"
    return "config" if architecture_of(model) in table["architectures"] else None


def floor(method: str, release: str) -> Floor | None:
    """What a method needs in a release; ``None`` for one that the release does not have."""
    found: Floor | None = None
    for since, *entry in _data("quantization_floors")["methods"].get(method, ()):
        if version_key(since) > version_key(release):
            break
        if not entry:
            found = None
        else:
            least, dtypes = entry
            found = Floor(None if least is None else divmod(least, 10), None if dtypes is None else tuple(dtypes))
    return found


def _span(entry: list[str] | None) -> Span | None:
    return None if entry is None else Span(entry[0], entry[1] if len(entry) > 1 else None)


@cache
def _data(name: str) -> Mapping[str, Any]:
    text = data_text(f"{name}.json")
    return cast("Mapping[str, Any]", json.loads(text))
