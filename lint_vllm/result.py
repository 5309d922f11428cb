"""What a lint run found, as reports print it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from lint_vllm.frozen import dataclass
from lint_vllm.redaction import Redactor

if TYPE_CHECKING:
    from lint_vllm.diagnostic import Diagnostic, Severity
    from lint_vllm.launch import Launch


@dataclass(frozen=True, slots=True)
class JudgedLaunch:
    """A launch and what could be judged of it; ``unknown`` says why the rest could not."""

    launch: Launch
    arguments: bool
    memory: bool
    unknown: tuple[str, ...] = ()
    files: frozenset[str] = frozenset()
    """The files in which the arguments and the environment are written."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What is never shown, besides the secrets that the launch itself holds."""

    @property
    def paths(self) -> frozenset[str]:
        """The files in which parts of the launch are written."""
        launch = self.launch
        values = [setting.value for setting in launch.settings] + [env.value for env in launch.env.values()]
        words = (*launch.words, *(value for value in values if value is not None))
        spans = [word.content.span for word in words] + [word.defined for word in words if word.defined is not None]
        return frozenset({launch.path, *(span.path for span in spans)})


@dataclass(frozen=True, slots=True)
class FileResult:
    """The launches and diagnostics of one file, in order of position. ``refers_to``: other files that its launches read."""

    path: str
    launches: tuple[JudgedLaunch, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    refers_to: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Run:
    """A whole run. ``files`` counts the files read; ``fixed`` maps a path to the number of edits that were applied."""

    files: int
    launches: tuple[JudgedLaunch, ...]
    diagnostics: tuple[Diagnostic, ...]
    redactor: Redactor = field(default_factory=Redactor)
    fixed: Mapping[str, int] = field(default_factory=dict)

    @property
    def shown(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that nothing suppresses."""
        return tuple(d for d in self.diagnostics if d.suppressed is None)

    def count(self, severity: Severity) -> int:
        return sum(d.severity is severity for d in self.shown)

    @property
    def worst(self) -> Severity | None:
        return max((d.severity for d in self.shown), default=None)

    @property
    def judged_arguments(self) -> int:
        return sum(launch.arguments for launch in self.launches)

    @property
    def judged_memory(self) -> int:
        return sum(launch.memory for launch in self.launches)

    def reasons(self) -> Counter[str]:
        """Why launches were not judged for memory -> how many; the first reason of each counts."""
        return Counter(launch.unknown[0] for launch in self.launches if not launch.memory and launch.unknown)
