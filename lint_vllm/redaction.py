"""Secrets are never printed: which names hold them, and how reports mask them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from lint_vllm.patterns import pattern

if TYPE_CHECKING:
    from lint_vllm.arguments.model import Argument
    from lint_vllm.inspection import Case
    from lint_vllm.launch import Launch, Word

MASK = "***"

_SECRET_NAME = pattern(
    r"(?:^|[-_.])(?:api[-_]?keys?|access[-_]?keys?|secret(?:[-_]key)?s?|passw(?:or)?d|credentials?|token|auth[-_]?key)$",
    re.IGNORECASE,
)
_COUNTED = pattern(r"(?:^|[-_.])(?:num|max|min|per|batched)[-_.]", re.IGNORECASE)
_NO_SECRET = pattern(r"(?:true|false|none|null|yes|no|\$.*|\{\{.*|\*+|)\Z", re.IGNORECASE | re.DOTALL)
_KNOWN_SHAPES = pattern(
    r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16}|nvapi-[\w-]{16,}|xox[abprs]-[\w-]{10,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)"
    r"|(?<=bearer )[\w.~+/=-]{6,}"
    r"|(?<=://)[^\s/@:\"'$]{0,100}:[^\s/@\"'$]+(?=@)",
    re.IGNORECASE,
)
"""Tokens of well-known services, and names with a password in URLs: secret wherever they stand."""
_QUOTE = r"(?:\\?[\"'])?"
_NAMES = rf"(?:api[-_]?keys?|access[-_]?key|secret(?:[-_]key)?|passw(?:or)?d|[-_]token|(?<=[\"'])token|auth[-_]?key){_QUOTE}"
_VALUE = rf"{_QUOTE}([^\s\"',}}\]\\]{{4,}})"
_ASSIGNED = pattern(rf"{_NAMES}\s*[:=]\s*{_VALUE}", re.IGNORECASE)
_IN_LINE = pattern(rf"{_NAMES}(?:\s*[:=]\s*|\s+){_VALUE}", re.IGNORECASE)
_SECRET_FLAGS = ("api-key", "hf-token", "ssl-keyfile-password")


def is_secret_name(name: str) -> bool:
    """Whether a flag, key or variable of this name holds a secret (``--api-key``, ``HF_TOKEN``), not a path or a count."""
    return _SECRET_NAME.search(name.lstrip("-")) is not None and _COUNTED.search(name) is None


def is_secret_value(value: str) -> bool:
    """Whether a value is the secret itself: no reference to a variable, no switch."""
    return _NO_SECRET.match(value.strip()) is None


def is_secret_flag(name: str) -> bool:
    """Whether a flag, written in full, cut short or with one letter wrong, takes a secret."""
    own = name.lstrip("-").replace("_", "-").lower()
    return is_secret_name(name) or any((len(own) > 4 and flag.startswith(own)) or _one_edit(own, flag) for flag in _SECRET_FLAGS)


def _one_edit(word: str, meant: str) -> bool:
    """Whether one letter more, less or another makes one word of the other."""
    if abs(len(word) - len(meant)) > 1:
        return False
    same = next((at for at, (a, b) in enumerate(zip(word, meant, strict=False)) if a != b), min(len(word), len(meant)))
    rest, rest_meant = word[same:], meant[same:]
    return rest[1:] == rest_meant[1:] or rest[1:] == rest_meant or rest == rest_meant[1:]


def masked(name: str, value: str) -> str:
    """A value as it may be shown beside its name."""
    return MASK if is_secret_flag(name) and is_secret_value(value) else value


@dataclass(slots=True)
class Redactor:
    """Masks the secrets of some launches, and what looks like one, in any text that is about to be shown."""

    values: set[str] = field(default_factory=set)
    _pattern: re.Pattern[str] | None = None

    @classmethod
    def of(cls, cases: Iterable[Case]) -> Redactor:
        """One that knows the secrets of some launches as they were read, ``--config`` files included."""
        redactor = cls()
        for case in cases:
            redactor.learn((case.launch,), secrets_in(case.args.arguments))
        return redactor

    def learn(self, launches: Iterable[Launch], values: Iterable[str] = ()) -> None:
        """Remember the secrets of launches, and further values that are secret."""
        for launch in launches:
            self.values.update(value for value in secrets_of(launch) if len(value) >= 3)
        self.values.update(value for value in values if len(value) >= 3)
        self._pattern = None

    def text(self, text: str) -> str:
        """A message with each secret replaced by ``***``."""
        text = self._sub(text, lambda found: MASK)
        return _ASSIGNED.sub(lambda match: _mask_group(match, MASK), text)

    def value(self, name: str, value: str) -> str:
        """A value as it may be shown beside its name."""
        hidden = masked(name, value)
        return hidden if hidden == MASK else self.text(value)

    def document(self, data: Any) -> Any:
        """Data of a JSON document with the secrets in its strings replaced."""
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, dict):
            return {key: self.document(value) for key, value in data.items()}
        return [self.document(value) for value in data] if isinstance(data, (list, tuple)) else data

    def line(self, line: str) -> str:
        """A line of source with each secret replaced by as many ``*``, so that columns stay."""
        line = self._sub(line, lambda found: "*" * len(found))
        return _IN_LINE.sub(_mask_group, line)

    def _sub(self, text: str, mask: Callable[[str], str]) -> str:
        if self._pattern is None and self.values:
            self._pattern = re.compile("|".join(_literally(v) for v in sorted(self.values, key=len, reverse=True)))
        if self._pattern is not None:
            text = self._pattern.sub(lambda match: mask(match.group()), text)
        return _KNOWN_SHAPES.sub(lambda match: mask(match.group()), text)


def _literally(value: str) -> str:
    """A pattern for a value; a short one counts as a word of its own only, not inside others."""
    return re.escape(value) if len(value) > 7 else rf"(?<![\w-]){re.escape(value)}(?![\w-])"


def _mask_group(match: re.Match[str], mask: str = "") -> str:
    """The match with its group masked: by ``mask``, else by as many ``*``."""
    value = match.group(1)
    if not is_secret_value(value):
        return match.group()
    start, end = match.start(1) - match.start(), match.end(1) - match.start()
    whole = match.group()
    return whole[:start] + (mask or "*" * (end - start)) + whole[end:]


def secrets_of(launch: Launch) -> Iterator[str]:
    """The values written in a launch's arguments and environment under names of secrets."""
    for name, word in _named_values(launch):
        if word is not None and word.unknown is None and is_secret_flag(name):
            yield from secret_parts(word.value)


def secrets_in(arguments: Iterable[Argument]) -> Iterator[str]:
    """The values of secret options, wherever they were written."""
    for argument in arguments:
        if argument.raw is not None and argument.known and is_secret_flag(argument.dest):
            yield from secret_parts(argument.raw)


def secret_parts(value: str) -> Iterator[str]:
    """The value of a secret option, and the items of it when it is a list."""
    if is_secret_value(value):
        yield value
        yield from (part for part in re.split(r"[\s,\"'\[\]]+", value) if len(part) > 3 and is_secret_value(part))


def _named_values(launch: Launch) -> Iterator[tuple[str, Word | None]]:
    for env in launch.env.values():
        yield env.name.value, env.value
    for setting in launch.settings:
        yield setting.flag, setting.value
    words = launch.words
    for at, word in enumerate(words):
        name, equals, _ = word.value.partition("=")
        if not name.startswith("-") or not is_secret_flag(name):
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
