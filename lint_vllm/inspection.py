"""From one file to its launches with all that is known about them: extraction, arguments, facts."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.discovery import MAX_BYTES, repository_root
from lint_vllm.extract.context import Unreadable
from lint_vllm.facts import Facts
from lint_vllm.launch import Launch
from lint_vllm.request import Request
from lint_vllm.settings import Table
from lint_vllm.source import SourceFile


@dataclass(frozen=True, slots=True)
class Case:
    """One launch, read and looked up."""

    launch: Launch
    args: ArgumentSet
    facts: Facts


@dataclass(frozen=True, slots=True)
class Inspection:
    """The launches of one file in order, the places that could not be read, and the other files that were read for them."""

    source: SourceFile
    cases: tuple[Case, ...] = ()
    problems: tuple[Unreadable, ...] = ()
    read: frozenset[str] = frozenset()


@dataclass
class Follower:
    """Reads files that a linted file refers to: within its repository (outside one, its folder) and nowhere else."""

    path: str
    request: Request
    root: Path | None = None
    read_paths: set[str] = field(default_factory=set)

    def read(self, relative_path: str) -> SourceFile | None:
        shown = os.path.normpath(os.path.join(os.path.dirname(self.path), relative_path))
        try:
            target = Path(shown).resolve()
            folder = Path(self.path).resolve().parent
            root = self.root or repository_root(folder) or folder
            self.root = root
            if not target.is_relative_to(root) or not target.is_file() or target.stat().st_size > MAX_BYTES:
                return None
            data = self.request.read(str(target))
        except (OSError, ValueError, RuntimeError):
            return None
        self.read_paths.add(str(target))
        return SourceFile(shown, data)


def inspect_file(source: SourceFile, request: Request, table: Table) -> Inspection:
    """Find and read the launches of a file. ``table`` is what settings say for its path."""
    from lint_vllm.extract import extract

    follower = Follower(source.path, request)
    extraction = extract(source, follower)
    cases = inspect_launches(extraction.launches, request, table, follower)
    return Inspection(source, cases, extraction.problems, frozenset(follower.read_paths))


def inspect_launches(launches: Iterable[Launch], request: Request, table: Table, follower: Follower) -> tuple[Case, ...]:
    """Read arguments and resolve facts of launches that belong to one file."""
    raise NotImplementedError
