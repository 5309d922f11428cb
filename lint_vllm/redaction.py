"""Secrets are never printed: which names hold them, and how reports mask them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lint_vllm.launch import Launch, Word

MASK = "***"

_SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:api[-_]?keys?|access[-_]?keys?|secret(?:[-_]key)?s?|passw(?:or)?d|credentials?|token|auth[-_]?key)$",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"(?:^|[-_.])(?:num|max|min|per|batched)[-_.]", re.IGNORECASE)
_NO_SECRET = re.compile(r"(?:true|false|none|null|yes|no|\$.*|\{\{.*|\*+|)\Z", re.IGNORECASE | re.DOTALL)
_KNOWN_SHAPES = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16})")
_IN_LINE = re.compile(
    r"(?i)(?:api[-_]?keys?|access[-_]?key|secret(?:[-_]key)?|passw(?:or)?d|[-_]token)[\"']?\s*(?:[:=]|\s)\s*[\"']?([^\s\"',}\]]{4,})"
)


def is_secret_name(name: str) -> bool:
    """Whether a flag, key or variable of this name holds a secret (``--api-key``, ``HF_TOKEN``), not a path or a count."""
    return _SECRET_NAME.search(name.lstrip("-")) is not None and _COUNTED.search(name) is None


def is_secret_value(value: str) -> bool:
    """Whether a value is the secret itself: no reference to a variable, no switch."""
    return _NO_SECRET.match(value.strip()) is None


def masked(name: str, value: str) -> str:
    """A value as it may be shown beside its name."""
    return MASK if is_secret_name(name) and is_secret_value(value) else value


@dataclass(slots=True)
class Redactor:
    """Masks the secrets of some launches, and what looks like one, in any text that is about to be shown."""

    values: set[str] = field(default_factory=set)
    _pattern: re.Pattern[str] | None = None

    def learn(self, launches: Iterable[Launch]) -> None:
        for launch in launches:
            self.values.update(value for value in secrets_of(launch) if len(value) >= 3)
        self._pattern = None

    def text(self, text: str) -> str:
        """A message with each secret replaced by ``***``."""
        return self._sub(text, lambda found: MASK)

    def line(self, line: str) -> str:
        """A line of source with each secret replaced by as many ``*``, so that columns stay."""
        line = self._sub(line, lambda found: "*" * len(found))
        return _IN_LINE.sub(_mask_group, line)

    def _sub(self, text: str, mask: Callable[[str], str]) -> str:
        if self._pattern is None and self.values:
            self._pattern = re.compile("|".join(re.escape(v) for v in sorted(self.values, key=len, reverse=True)))
        if self._pattern is not None:
            text = self._pattern.sub(lambda match: mask(match.group()), text)
        return _KNOWN_SHAPES.sub(lambda match: mask(match.group()), text)


def _mask_group(match: re.Match[str]) -> str:
    value = match.group(1)
    if not is_secret_value(value):
        return match.group()
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    whole = match.group()
    return whole[:start] + "*" * (end - start) + whole[end:]


def secrets_of(launch: Launch) -> Iterator[str]:
    """The values written in a launch's arguments and environment under names of secrets."""
    for name, word in _named_values(launch):
        if word is not None and word.unknown is None and is_secret_name(name) and is_secret_value(word.value):
            yield word.value
            yield from (part for part in word.value.split(",") if is_secret_value(part))


def _named_values(launch: Launch) -> Iterator[tuple[str, Word | None]]:
    for env in launch.env.values():
        yield env.name.value, env.value
    for setting in launch.settings:
        yield setting.flag, setting.value
    words = launch.words
    for at, word in enumerate(words):
        name, equals, _ = word.value.partition("=")
        if not name.startswith("-") or not is_secret_name(name):
            continue
        if equals:
            yield name, _after(word, len(name) + 1)
        else:
            for value in words[at + 1 :]:
                if value.value.startswith("-"):
                    break
                yield name, value


def _after(word: Word, at: int) -> Word:
    return replace(word, content=word.content[at:])
