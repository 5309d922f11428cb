"""The whole contract with a rule.

A rule is a pure generator: arguments, facts and options in, findings out. It never reads files, prints or edits. One
module holds one rule; its docstring (first line, ``Why:``, ``Instead:``, ``Wrong when:``) is its documentation, and its
examples are its tests.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from typing import Any, TypeAlias, TypeVar

from lint_vllm.arguments.model import Argument, ArgumentSet, Problem
from lint_vllm.budget.result import Budget
from lint_vllm.diagnostic import Applicability, Edit, Finding, Fix, Label, Severity
from lint_vllm.facts import Facts
from lint_vllm.frozen import dataclass
from lint_vllm.known import Known, Unknown
from lint_vllm.source import Span

__all__ = [
    "Applicability",
    "Argument",
    "ArgumentSet",
    "Bad",
    "Budget",
    "Edit",
    "Facts",
    "Finding",
    "Fix",
    "Good",
    "Known",
    "Label",
    "Options",
    "Problem",
    "Rule",
    "Severity",
    "Span",
    "Unknown",
    "rule",
]


class Options:
    """Options of a rule: a plain annotated class whose attributes are defaults. Settings may override them."""


@dataclass(frozen=True, slots=True)
class Example:
    """A file that is linted: by default a shell script named ``run.sh``.

    ``mark`` is the exact text that the finding underlines (``None``: only the finding's presence is checked). ``files``
    are further files of the folder, name -> text. ``facts`` are command-line facts: ``gpu``, ``gpu_count``,
    ``gpu_memory_gib``, ``vllm_version``.
    """

    source: str
    name: str = "run.sh"
    mark: str | None = None
    fixed: str | None = None
    facts: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    profile: str = "default"


class Bad(Example):
    """An example that the rule must find exactly once; ``fixed`` is the file after the safe fix."""

    __slots__ = ()


class Good(Example):
    """An example on which the rule must stay silent."""

    __slots__ = ()


Check: TypeAlias = "Callable[[ArgumentSet, Facts, Any], Iterator[Finding]]"
C = TypeVar("C", bound="Check")


@dataclass(frozen=True, slots=True)
class Rule:
    code: str
    name: str
    severity: Severity
    since: str
    check: Check
    options: type[Options]
    bad: tuple[Bad, ...]
    good: tuple[Good, ...]
    strict: bool
    """Only run in the ``strict`` profile (or when selected by code)."""
    sources: tuple[str, ...]
    """``owner/repo#n`` threads, ``vllm==0.33.0 file function``, or names of data sets."""
    docs: bool
    """Also judge launches in documentation fences (the ARG family)."""
    module: str

    @property
    def family(self) -> str:
        return self.code.rstrip("0123456789")

    @property
    def doc(self) -> str:
        return sys.modules[self.module].__doc__ or ""

    @property
    def summary(self) -> str:
        return self.doc.strip().splitlines()[0].rstrip(".")

    @property
    def fixable(self) -> bool:
        return any(example.fixed is not None for example in self.bad)

    @property
    def url(self) -> str:
        return f"https://lint-vllm.readthedocs.io/rules/#{self.code.lower()}"


def rule(
    *,
    code: str,
    name: str,
    severity: Severity,
    since: str,
    bad: tuple[Bad, ...],
    good: tuple[Good, ...],
    options: type[Options] = Options,
    strict: bool = False,
    sources: tuple[str, ...] = (),
    docs: bool = False,
) -> Callable[[C], C]:
    """Declare the decorated generator as the rule of its module; the registry finds it by ``__rule__``."""

    def declare(check: C) -> C:
        declared = Rule(code, name, severity, since, check, options, bad, good, strict, sources, docs, check.__module__)
        check.__rule__ = declared  # type: ignore[attr-defined]
        return check

    return declare
