"""What the engine decides by itself, by release (``data/engine.json``)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, cast

from lint_vllm.facts import version_key
from lint_vllm.facts.served import served_span
from lint_vllm.packaged import data_text


@cache
def engine_data() -> Mapping[str, Any]:
    """The shipped table of engine decisions."""
    text = data_text("engine.json")
    return cast("Mapping[str, Any]", json.loads(text))


@cache
def dated(name: str, release: str) -> Any:
    """The value of a decision in a release: the newest entry that is not newer than it."""
    history = engine_data()["dated"][name]
    wanted = version_key(release)
    value = history[0][1]
    for since, entry in history:
        if version_key(since) <= wanted:
            value = entry
    return value


def since(name: str, release: str) -> bool:
    """Whether a release has a behaviour of the table."""
    return bool(dated(name, release))


def newest_running(release: str, method: str | None, capability: tuple[int, int] | None, architectures: Sequence[str] = ()) -> str:
    """For a release that nobody stated: the newest one, not newer than it, that has the method and the architecture and supports
    the card."""
    limits = [engine_data()["quantization_until"].get(method)] if method is not None else []
    if capability is not None:
        floors = engine_data()["capability_floor"]
        limits += [since for since, floor in floors if list(capability) < floor and since != "0"]
    spans = [served_span(name) for name in architectures]
    if spans and all(span is not None and span.until is not None for span in spans):
        limits += [max((str(span.until) for span in spans if span is not None), key=version_key)]
    bound = min((version_key(limit) for limit in limits if limit is not None), default=None)
    if bound is None or version_key(release) < bound:
        return release
    from lint_vllm.arguments.tables import known_releases

    return max((known for known in known_releases() if version_key(known) < bound), key=version_key, default=release)
