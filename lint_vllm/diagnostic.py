"""What rules yield and what the engine makes of it."""

from __future__ import annotations

import enum

from lint_vllm.frozen import dataclass
from lint_vllm.source import Span


class Severity(enum.IntEnum):
    INFO = 0
    WARNING = 1
    ERROR = 2

    @property
    def label(self) -> str:
        return self.name.lower()


class Applicability(enum.Enum):
    SAFE = "safe"
    """Same behaviour as meant, and the edited file lints clean of the finding; ``--fix`` applies it."""
    UNSAFE = "unsafe"
    """Changes behaviour in a way somebody must want; ``--fix --unsafe-fixes`` applies it."""
    DISPLAY = "display"
    """Advice only: there is no text edit, or its place is not exact."""


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters of ``span`` by ``text``; an empty span inserts."""

    span: Span
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A way out. ``title`` is an instruction; ``cost`` says what it gives up, in a few words.

    ``verified``: the same engine judged the changed launch and found the problem gone.
    """

    title: str
    edits: tuple[Edit, ...] = ()
    applicability: Applicability = Applicability.UNSAFE
    cost: str = ""
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A second place that matters for a finding."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a rule yields. ``severity`` overrides the rule's own (a softened finding); notes are lines below the frame."""

    span: Span
    message: str
    fixes: tuple[Fix, ...] = ()
    related: tuple[Label, ...] = ()
    notes: tuple[str, ...] = ()
    severity: Severity | None = None


@dataclass(frozen=True, slots=True)
class Suppression:
    by: str
    """``comment``, ``baseline``, ``settings``."""
    reason: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding with the identity of its rule, as reports print it."""

    code: str
    name: str
    severity: Severity
    finding: Finding
    url: str
    suppressed: Suppression | None = None

    @property
    def path(self) -> str:
        return self.finding.span.path

    @property
    def span(self) -> Span:
        return self.finding.span

    @property
    def message(self) -> str:
        return self.finding.message

    @property
    def fixes(self) -> tuple[Fix, ...]:
        return self.finding.fixes
