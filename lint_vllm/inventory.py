"""All launches of some files, or of one argument list, with what is known about them; nothing is judged here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lint_vllm.discovery import discover
from lint_vllm.extract import may_hold_launch
from lint_vllm.frozen import dataclass
from lint_vllm.request import Request
from lint_vllm.settings import Table

if TYPE_CHECKING:
    from lint_vllm.extract.context import Unreadable
    from lint_vllm.facts.resolve import Shared
    from lint_vllm.inspection import Case


@dataclass(frozen=True, slots=True)
class Inventory:
    """The launches of some files in order, and the places that could not be read."""

    cases: tuple[Case, ...]
    problems: tuple[Unreadable, ...] = ()


def inspect_paths(paths: Sequence[str], request: Request) -> Inventory:
    """The launches of files and folders. Raises ``PathError`` and ``SettingsError``."""
    found: list[tuple[str, Case]] = []
    problems: list[Unreadable] = []
    shared: dict[str | None, Shared] = {}
    for file in discover(paths, request.settings_in):
        if file.too_large:
            if file.named:
                reason = f"the file has {file.size:,} bytes and was not read"
                problems.append(_unread(file.path, reason))
            continue
        try:
            data = request.read(file.path)
        except OSError as error:
            problems.append(_unread(file.path, error.strerror or str(error)))
            continue
        if not may_hold_launch(data):
            continue
        from lint_vllm.inspection import inspect_file, shared_facts
        from lint_vllm.source import SourceFile
        from lint_vllm.time_limit import SECONDS_A_FILE, TOO_LONG, TooLong, time_limit

        whole = Path(file.path).absolute()
        table = request.settings_in(whole.parent).table_for(whole)
        if file.folder not in shared:
            shared[file.folder] = shared_facts(request, file.folder)
        try:
            with time_limit(SECONDS_A_FILE):
                inspection = inspect_file(SourceFile(file.path, data), request, table, shared[file.folder])
        except TooLong:
            problems.append(_unread(file.path, TOO_LONG, fault=True))
            continue
        found.extend((file.path, case) for case in inspection.cases)
        problems.extend(inspection.problems)
    return Inventory(tuple(_distinct(found)), tuple(problems))


def with_budgets(inventory: Inventory) -> Inventory:
    """The launches whose account could be made; a fault of the engine on one is a problem of that one."""
    from lint_vllm.extract.context import Unreadable

    cases: list[Case] = []
    faults: list[Unreadable] = []
    for case in inventory.cases:
        try:
            _ = case.facts.budget
        except Exception as error:
            faults.append(Unreadable(case.launch.command, f"{type(error).__name__}: {error}", fault=True))
        else:
            cases.append(case)
    return Inventory(tuple(cases), (*inventory.problems, *faults))


def _unread(path: str, reason: str, fault: bool = False) -> Unreadable:
    from lint_vllm.extract.context import Unreadable
    from lint_vllm.source import SourceFile

    return Unreadable(SourceFile(path, b"").span(0, 0), reason, fault)


def _distinct(found: Sequence[tuple[str, Case]]) -> Sequence[Case]:
    if not found:
        return ()
    from lint_vllm.inspection import without_repeats

    return without_repeats(found, lambda case: case.launch, lambda case: case.files)


def inspect_command(argv: Sequence[str], request: Request) -> Inventory:
    """The launch of ``[env] [K=V ...] vllm serve MODEL ...``. Raises ``NotALaunch`` and ``SettingsError``."""
    from lint_vllm.command_line import launch_from_command
    from lint_vllm.inspection import inspect_launches, shared_facts

    launch = launch_from_command(argv)
    folder = Path.cwd()
    table = Table() if request.isolated else request.settings_in(folder).top
    return Inventory(*inspect_launches((launch,), request, table, shared_facts(request)))
