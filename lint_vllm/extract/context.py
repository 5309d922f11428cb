"""What carriers hand down (the surroundings of a command) and what they hand back (launches and unreadable places)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Protocol

from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, EnvVar, Hint, Image, Launch, Word
from lint_vllm.source import SourceFile, Span

MAX_DEPTH = 8
"""Levels of nesting (script in YAML, ``bash -c`` in a script, file that names a file ...) that are followed."""


class Follower(Protocol):
    """Reads other files of the same repository, as text; nothing outside it is ever read."""

    def read(self, relative_path: str) -> SourceFile | None:
        """The file at a path relative to the linted file's folder; ``None`` when absent, outside or not readable."""
        ...


@dataclass(frozen=True)
class Context:
    """What an enclosing carrier knows when it hands a script or an argument list down.

    ``env`` is the environment of the process (a shell may expand it), ``variables`` are values that only expand
    (shell variables, template values). Everything found below inherits image, deployment, hints and passage.
    """

    source: SourceFile
    site: str = ""
    env: Mapping[str, EnvVar] = field(default_factory=lambda: MappingProxyType({}))
    variables: Mapping[str, Word] = field(default_factory=lambda: MappingProxyType({}))
    image: Image | None = None
    deployment: Deployment | None = None
    hints: tuple[Hint, ...] = ()
    passage: str = "code"
    block: Span | None = None
    """The enclosing block (``command: |`` key to its end); ``None``: the command's own extent."""
    follow: Follower | None = None
    depth: int = 0

    def deeper(self, **changes: object) -> Context:
        """The same surroundings one level further in; callers stop at ``MAX_DEPTH``."""
        return replace(self, depth=self.depth + 1, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A part of a file that could not be read, and why; ``span`` is the place where reading stopped."""

    span: Span
    reason: str
    fault: bool = False
    """Whether it is this program that failed, not the file."""

    @property
    def sentence(self) -> str:
        return f"lint-vllm failed here, please report it: {self.reason}" if self.fault else f"cannot read this part: {self.reason}"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The launches of one file in the order of the text, and the places that could not be read."""

    launches: tuple[Launch, ...] = ()
    problems: tuple[Unreadable, ...] = ()

    def __add__(self, other: Extraction) -> Extraction:
        return Extraction(self.launches + other.launches, self.problems + other.problems)
