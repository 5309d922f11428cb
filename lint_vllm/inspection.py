"""From one file to its launches with all that is known about them: extraction, arguments, facts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TypeVar

from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.discovery import MAX_BYTES
from lint_vllm.extract import extract
from lint_vllm.extract.context import Unreadable
from lint_vllm.facts import Facts, Sibling
from lint_vllm.facts.repository import Repository
from lint_vllm.facts.resolve import Shared, resolve
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Launch
from lint_vllm.request import Request
from lint_vllm.settings import SettingsError, Table
from lint_vllm.source import SourceFile, Span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Case:
    """One launch, read and looked up."""

    launch: Launch
    args: ArgumentSet
    facts: Facts

    @property
    def files(self) -> frozenset[str]:
        """The files in which the arguments and the environment are written."""
        spans = [span for a in self.args.arguments for span in (a.name_span, a.value_span) if span is not None]
        return frozenset(span.path for span in (*spans, *(variable.span for variable in self.launch.env.values())))


@dataclass(frozen=True, slots=True)
class Inspection:
    """The launches of one file in order, the places that could not be read, and the other files that were read for them."""

    source: SourceFile
    cases: tuple[Case, ...] = ()
    problems: tuple[Unreadable, ...] = ()
    read: frozenset[str] = frozenset()


@dataclass
class Follower:
    """Reads files that a linted file refers to, within its repository only, and remembers which."""

    path: str
    repository: Repository
    request: Request
    read_paths: set[str] = field(default_factory=set)

    def read(self, relative_path: str) -> SourceFile | None:
        place = self.repository.locate(relative_path)
        try:
            if place is None or not place.is_file() or place.stat().st_size > MAX_BYTES:
                return None
            data = self.request.read(str(place))
        except OSError:
            return None
        self.read_paths.add(str(place))
        return SourceFile(os.path.normpath(os.path.join(os.path.dirname(self.path), relative_path)), data)


def inspect_file(source: SourceFile, request: Request, table: Table, shared: Shared) -> Inspection:
    """Find and read the launches of a file. ``table`` is what settings say for its path.

    A fault of this program on one file or launch is a problem of that place; the rest goes on.
    """
    follower = Follower(source.path, shared.repository(source.path), request)
    try:
        extraction = extract(source, follower)
    except Exception as error:
        return Inspection(source, problems=(_fault(source.span(0, 0), error),))
    cases, faults = inspect_launches(extraction.launches, request, table, shared)
    return Inspection(source, cases, (*extraction.problems, *faults), frozenset(follower.read_paths))


def inspect_launches(
    launches: Sequence[Launch], request: Request, table: Table, shared: Shared
) -> tuple[tuple[Case, ...], tuple[Unreadable, ...]]:
    """Read arguments and resolve facts of launches that belong to one file; each knows the others as its siblings."""
    cases: list[Case] = []
    faults: list[Unreadable] = []

    def others(at: int) -> Callable[[], tuple[Sibling, ...]]:
        return lambda: tuple(Sibling(case.args, case.facts) for n, case in enumerate(cases) if n != at)

    profile = request.profile or "default"
    for launch in launches:
        find_siblings = others(len(cases))
        try:
            args, facts = resolve(launch, request.facts, table.facts, shared, profile=profile, find_siblings=find_siblings)
        except SettingsError:
            raise
        except Exception as error:
            faults.append(_fault(launch.command, error))
        else:
            cases.append(Case(launch, args, facts))
    return tuple(cases), tuple(faults)


def without_repeats(
    found: Iterable[tuple[str, T]], launch_of: Callable[[T], Launch], files_of: Callable[[T], Iterable[str]]
) -> list[T]:
    """The launches of a run, each once. A script that another file starts is read from there, with what that file gives it,
    and by itself: its own reading goes when the other knows as much. So does the launch that a file of variables or options
    would be by itself, when a launch elsewhere takes its arguments from there.

    ``found``: the path of the linted file, and what was found in it. ``files_of``: where the arguments of a launch are written.
    """
    entries = [(path, item, launch_of(item)) for path, item in found]
    started: dict[tuple[str, int, int], list[int]] = {}
    taken: set[str] = set()
    for path, item, launch in entries:
        taken.update(os.path.realpath(file) for file in files_of(item) if file != path)
        if not _same_file(path, launch.path):
            started.setdefault(_place_of(launch), []).append(_gaps(launch))
    kept: list[T] = []
    seen: set[object] = set()
    for path, item, launch in entries:
        if launch.form in ("env", "config") and taken and os.path.realpath(path) in taken:
            continue
        elsewhere = started.get(_place_of(launch)) if started else None
        if elsewhere is not None:
            if _same_file(path, launch.path) and min(elsewhere) <= _gaps(launch):
                continue
            words = tuple((word.value, word.unknown is None, word.conditional) for word in launch.words)
            settings = tuple((s.flag, s.value.value if s.value is not None else None) for s in launch.settings)
            key = (_place_of(launch), launch.form, words, settings)
            if key in seen:
                continue
            seen.add(key)
        kept.append(item)
    return kept


def _place_of(launch: Launch) -> tuple[str, int, int]:
    return os.path.realpath(launch.path), launch.command.start, launch.command.end


def _same_file(one: str, other: str) -> bool:
    return one == other or os.path.realpath(one) == os.path.realpath(other)


def _gaps(launch: Launch) -> int:
    """How much of a launch is not known."""
    values = [*launch.words, *(s.value for s in launch.settings if s.value is not None)]
    return sum(value.unknown is not None for value in values) + len(launch.unresolved)


def _fault(span: Span, error: Exception) -> Unreadable:
    if os.environ.get("LINT_VLLM_TRACEBACK"):
        raise error
    return Unreadable(span, f"{type(error).__name__}: {error}", fault=True)


def shared_facts(request: Request, boundary: str | None = None) -> Shared:
    """What the launches of a run share; ``boundary`` is the walked folder, which bounds look-ups outside a repository."""
    above = None if boundary is None else Path(boundary).absolute()
    return Shared(above, use_hub_cache=not request.isolated, overlay=request.overlay, hub=request.hub)
