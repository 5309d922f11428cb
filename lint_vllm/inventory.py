"""All launches of some files, or of one argument list, with what is known about them; nothing is judged here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lint_vllm.discovery import discover
from lint_vllm.extract import may_hold_launch
from lint_vllm.request import Request
from lint_vllm.settings import Table

if TYPE_CHECKING:
    from lint_vllm.inspection import Case


def inspect_paths(paths: Sequence[str], request: Request) -> tuple[Case, ...]:
    """The launches of files and folders, in order. Raises ``PathError`` and ``SettingsError``."""
    cases: list[Case] = []
    for found in discover(paths, request.settings_in):
        if found.too_large:
            continue
        try:
            data = request.read(found.path)
        except OSError:
            continue
        if not may_hold_launch(data):
            continue
        from lint_vllm.inspection import inspect_file
        from lint_vllm.source import SourceFile

        whole = Path(found.path).absolute()
        table = request.settings_in(whole.parent).table_for(whole)
        cases.extend(inspect_file(SourceFile(found.path, data), request, table).cases)
    return tuple(cases)


def inspect_command(argv: Sequence[str], request: Request) -> Case:
    """The launch of ``[env] [K=V ...] vllm serve MODEL ...``. Raises ``NotALaunch`` and ``SettingsError``."""
    from lint_vllm.command_line import launch_from_command
    from lint_vllm.inspection import Follower, inspect_launches

    launch = launch_from_command(argv)
    folder = Path.cwd()
    table = Table() if request.isolated else request.settings_in(folder).top
    follower = Follower(str(folder / launch.path), request)
    return inspect_launches((launch,), request, table, follower)[0]
