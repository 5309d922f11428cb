"""Conditions between arguments, as dated facts of ``data/flags/checks.json``.

A check is ``when`` (conditions that make it apply) and ``then`` (what must hold). Those of the stage ``parser`` are raised by
``validate_parsed_serve_args`` or inside a configuration class while the parser runs; those of ``config`` when vLLM builds its
configuration afterwards. A check that touches a value that is not known says nothing.
"""

from __future__ import annotations

import functools
import json
import operator
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lint_vllm.arguments.tables import data_text, release_key
from lint_vllm.frozen import dataclass
from lint_vllm.known import Unknown

Lookup = Callable[[str], object]
_MISSING = object()


@dataclass(frozen=True, slots=True)
class Check:
    """``on``: ``serve`` for the arguments, else the configuration class whose keys are meant."""

    on: str
    stage: str
    kind: str
    at: str
    when: Mapping[str, Any]
    then: Mapping[str, Any]
    message: str
    since: tuple[int, ...]
    until: tuple[int, ...] | None
    source: str

    def applies_to(self, release: str) -> bool:
        key = release_key(release)
        return self.since <= key and (self.until is None or key < self.until)


@functools.lru_cache(maxsize=1)
def _checks() -> tuple[Check, ...]:
    return tuple(
        Check(
            row["on"],
            row.get("stage", "parser"),
            row.get("kind", "conflict"),
            row["at"],
            row.get("when", {}),
            row["then"],
            row["message"],
            release_key(row["since"]),
            release_key(row["until"]) if "until" in row else None,
            row["source"],
        )
        for row in json.loads(data_text("checks.json"))
    )


@functools.lru_cache(maxsize=256)
def checks_of(on: str, stage: str, release: str) -> tuple[Check, ...]:
    return tuple(check for check in _checks() if check.on == on and check.stage == stage and check.applies_to(release))


def broken(on: str, stage: str, release: str, lookup: Lookup) -> Iterator[Check]:
    """The checks that certainly do not hold. ``lookup`` gives a value by name, ``Unknown`` where it is not known."""
    for check in checks_of(on, stage, release):
        if all(_holds(name, test, lookup) is True for name, test in check.when.items()):
            verdicts = [_holds(name, test, lookup) for name, test in check.then.items()]
            if False in verdicts:
                yield check


def message_of(check: Check, lookup: Lookup) -> str:
    """The message with the values it names."""
    return re.sub(r"\{(\w+)\}", lambda match: str(lookup(match[1])), check.message)


def _holds(name: str, test: Any, lookup: Lookup) -> bool | None:
    """``None``: not known."""
    value = lookup(name)
    if isinstance(value, Unknown):
        return None
    if test == "set":
        return bool(value)
    if test == "unset":
        return not value
    if test == "given":
        return value is not None
    if test == "absent":
        return value is None
    word, *rest = test
    if word == "any":
        verdicts = [_holds(name, part, lookup) for part in rest]
        return True if True in verdicts else None if None in verdicts else False
    if word == "all":
        verdicts = [_holds(name, part, lookup) for part in rest]
        return False if False in verdicts else None if None in verdicts else True
    if word == "each":
        return isinstance(value, list) and all(isinstance(item, str) and re.fullmatch(rest[0], item) for item in value)
    if word == "map":
        keys = set(rest[0])
        return isinstance(value, dict) and all(isinstance(v, str) for v in value.values()) and set(value) <= keys
    limit = _limit(rest[0], lookup)
    if limit is _MISSING:
        return None
    return _compare(word, value, limit)


def _limit(limit: object, lookup: Lookup) -> object:
    if isinstance(limit, str) and limit.startswith("@"):
        other = lookup(limit[1:])
        return _MISSING if other is None or isinstance(other, Unknown) else other
    return limit


def _compare(word: str, value: object, limit: Any) -> bool | None:
    if word in ("in", "not in"):
        return (value in limit) is (word == "in")
    if word in ("is", "is not"):
        return bool(value == limit) is (word == "is")
    if not isinstance(value, int | float) or isinstance(value, bool) or not isinstance(limit, int | float):
        return None
    return _NUMBERS[word](value, limit)


_NUMBERS: Mapping[str, Callable[[float, float], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "divides": lambda value, limit: value != 0 and limit % value == 0,
}
