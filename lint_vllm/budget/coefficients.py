"""The fitted coefficients of the runtime term (``data/runtime.json``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.facts import version_key
from lint_vllm.packaged import data_text


@cache
def coefficients() -> Mapping[str, Any]:
    """The whole table, as fitted."""
    text = data_text("runtime.json")
    return cast("Mapping[str, Any]", json.loads(text))


def spread(section: str, name: str) -> Quantity:
    """One coefficient as (low, likely, high)."""
    return triple(coefficients()[section][name])


def triple(values: Sequence[float]) -> Quantity:
    low, likely, high = values
    return Quantity(low, likely, high)


def gib(section: str, name: str) -> Quantity:
    """One coefficient that is stored in GiB, in bytes."""
    return spread(section, name).scaled(GIB)


def newest(history: Sequence[tuple[str, Any]], release: str) -> Any:
    """The entry of a dated list [first release, value] that holds for a release."""
    value = history[0][1]
    for since, entry in history:
        if version_key(since) <= version_key(release):
            value = entry
    return value


def widest(parts: Sequence[Quantity], likely: float) -> Quantity:
    """Everything between the lowest and the highest of several, with the likely value of one."""
    return Quantity(min(p.low for p in parts), likely, max(p.high for p in parts))


def largest(parts: Sequence[Quantity]) -> Quantity:
    """The peak of things that happen one after another: end by end the largest."""
    return Quantity(max(p.low for p in parts), max(p.likely for p in parts), max(p.high for p in parts))


def times(factor: Quantity, amount: float) -> Quantity:
    return Quantity(factor.low * amount, factor.likely * amount, factor.high * amount)
