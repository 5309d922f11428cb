"""Facts that a comment in the linted file states: ``# lint-vllm: gpu=RTX4090 gpu-count=2 vllm=0.9.1 context=32768``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from lint_vllm.frozen import dataclass
from lint_vllm.known import Known
from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile
from lint_vllm.suppress import Directive, StatedFact, directives

KEYS: Mapping[str, str] = {
    "gpu": "gpu",
    "gpu-count": "gpu-count",
    "gpus": "gpu-count",
    "gpu-memory-gib": "gpu-memory-gib",
    "vllm": "vllm-version",
    "vllm-version": "vllm-version",
    "concurrency": "concurrency",
    "context": "context-tokens",
    "context-tokens": "context-tokens",
    "context-p50": "context-tokens-p50",
    "context-tokens-p50": "context-tokens-p50",
    "output": "output-tokens",
    "output-tokens": "output-tokens",
    "task": "task",
}
"""Spelling in a comment -> the settings key it stands for."""


@dataclass(frozen=True, slots=True)
class CommentFacts:
    """What the comments around one launch state: settings key -> value as written, with its place."""

    stated: Mapping[str, Known[str]] = field(default_factory=dict)

    def get(self, key: str) -> Known[str] | None:
        return self.stated.get(key)

    def integer(self, key: str) -> Known[int] | None:
        """A whole number; ``32k`` is 32000 and ``32K`` 32768, as vLLM reads lengths. ``None`` when it is not one."""
        fact = self.stated.get(key)
        number = None if fact is None else as_integer(fact.value)
        return None if fact is None or number is None else Known(number, fact.origin, fact.span)

    def number(self, key: str) -> Known[float] | None:
        fact = self.stated.get(key)
        if fact is None:
            return None
        try:
            return Known(float(fact.value), fact.origin, fact.span)
        except ValueError:
            return None


def as_integer(text: str) -> int | None:
    """``4096``, ``32k`` (thousands), ``32K`` (1024), ``1_000``."""
    digits = text.strip().replace("_", "")
    scale = {"k": 1000, "K": 1024, "m": 10**6, "M": 2**20}.get(digits[-1:], 1)
    if scale != 1:
        digits = digits[:-1]
    if not digits.isascii() or not digits.isdigit() or len(digits) > 15:
        return None
    return int(digits) * scale


def comment_facts(launch: Launch) -> CommentFacts:
    """The facts that hold for a launch.

    A comment holds for everything in the block it is indented with. Of several, the one inside the launch's own block
    wins, then the nearest above, then one further down in an enclosing block.
    """
    return facts_for(launch, directives(launch.source))


def facts_for(launch: Launch, found: tuple[Directive, ...]) -> CommentFacts:
    ranked = [(rank, d) for d in found if d.facts and (rank := _rank(launch, d)) is not None]
    stated: dict[str, Known[str]] = {}
    for _, directive in sorted(ranked, key=lambda pair: pair[0]):
        for fact in directive.facts:
            key = KEYS.get(fact.key)
            if key is not None and key not in stated:
                stated[key] = Known(fact.value, "comment in the file", fact.span)
    return CommentFacts(stated)


def unknown_keys(found: tuple[Directive, ...]) -> tuple[StatedFact, ...]:
    """Facts with a key that means nothing, for a finding that says so."""
    return tuple(fact for directive in found for fact in directive.facts if fact.key not in KEYS)


def _rank(launch: Launch, directive: Directive) -> tuple[int, int] | None:
    at, block, command = directive.span.start, launch.block, launch.command
    inside = block.start <= at < block.end or directive.line == command.line
    deployment = launch.deployment
    if inside:
        return (0, abs(at - command.start))
    if deployment is not None and deployment.span.source is launch.source and deployment.span.start <= at < deployment.span.end:
        return (1, abs(at - command.start))
    if directive.head:
        return (3, -at)
    if at < command.start:
        return (2, command.start - at) if _same_block(launch.source, directive.line, command.line, directive.indent) else None
    outer = directive.indent < _indent(launch.source, command.line)
    if outer and _same_block(launch.source, command.line, directive.line, directive.indent):
        return (4, at - command.start)
    return None


def _same_block(source: SourceFile, first: int, last: int, indent: int) -> bool:
    """Whether no line between two lines leaves the block that is indented by ``indent``, nor starts another document."""
    for number in range(first + 1, last + 1):
        text = source.line_text(number)
        if text.startswith("---"):
            return False
        if text.strip() and _indent(source, number) < indent:
            return False
    return True


def _indent(source: SourceFile, line: int) -> int:
    text = source.line_text(line)
    return len(text) - len(text.lstrip(" \t"))
