"""The Python interface: what the commands do, as functions that return objects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lint_vllm.linting import Choice, lint_paths
from lint_vllm.request import Request
from lint_vllm.settings import Stated

if TYPE_CHECKING:
    from lint_vllm.arguments.model import ArgumentSet
    from lint_vllm.budget.result import Budget
    from lint_vllm.inspection import Case
    from lint_vllm.launch import Launch
    from lint_vllm.result import Run

__all__ = ["budget", "find_launches", "lint", "parse_arguments"]


def lint(
    paths: Sequence[str | os.PathLike[str]],
    *,
    facts: Stated | None = None,
    isolated: bool = False,
    select: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    profile: str | None = None,
) -> Run:
    """Judge the launches in files and folders, as ``lint-vllm check`` does.

    Raises ``PathError`` for a missing path, ``SettingsError`` for settings or rule names that cannot be used and
    ``RegistryError`` for a broken installation.
    """
    choice = Choice(None if select is None else tuple(select), tuple(ignore))
    return lint_paths(_strings(paths), _request(facts, isolated, profile), choice)


def find_launches(
    paths: Sequence[str | os.PathLike[str]], *, facts: Stated | None = None, isolated: bool = False
) -> tuple[Case, ...]:
    """The launches in files and folders with their arguments and facts, in order. Raises as :func:`lint` does."""
    from lint_vllm.inventory import inspect_paths

    return inspect_paths(_strings(paths), _request(facts, isolated)).cases


def parse_arguments(argv: Sequence[str] | Launch, vllm_version: str, folder: str | os.PathLike[str] | None = None) -> ArgumentSet:
    """``["vllm", "serve", MODEL, ...]`` or ``["python", "-m", "vllm.entrypoints.openai.api_server", ...]`` as a release reads it.

    A :class:`Launch` found in a file is taken as well, and so are the words after ``vllm serve`` alone. ``folder`` is where
    ``--config`` files are looked for (default: the working folder). A release between two known ones is read as the older, a
    newer one as the newest known. Raises ``ValueError`` for something that is no release.
    """
    from lint_vllm.arguments.parse import read_in_folder
    from lint_vllm.command_line import NotALaunch, launch_from_arguments, launch_from_command
    from lint_vllm.launch import Launch

    if not vllm_version.lstrip("v")[:1].isdigit():
        raise ValueError(f"not a vLLM release: {vllm_version!r}")
    if isinstance(argv, Launch):
        launch = argv
    else:
        try:
            launch = launch_from_command(argv)
        except NotALaunch:
            launch = launch_from_arguments(argv)
    return read_in_folder(launch, vllm_version, os.getcwd() if folder is None else folder)


def budget(argv: Sequence[str], *, facts: Stated | None = None, isolated: bool = False) -> Budget:
    """The account of one GPU for ``[env] [K=V ...] vllm serve MODEL ...``. Raises ``NotALaunch`` for anything else."""
    from lint_vllm.inventory import inspect_command

    return inspect_command(argv, _request(facts, isolated)).cases[0].facts.budget


def _request(facts: Stated | None, isolated: bool, profile: str | None = None) -> Request:
    return Request(facts if facts is not None else Stated(), isolated, profile=profile)


def _strings(paths: Sequence[str | os.PathLike[str]]) -> list[str]:
    return [os.fspath(path) for path in paths]
