"""Runs the examples of rules: for tests of this package and of rule packages, and for the generated reference."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lint_vllm.fixer import fix_paths
from lint_vllm.frozen import dataclass
from lint_vllm.linting import Choice, lint_paths
from lint_vllm.request import Request
from lint_vllm.result import Run
from lint_vllm.rule import Example, Rule
from lint_vllm.settings import Settings, Stated, Table


@dataclass(frozen=True, slots=True)
class FixedExample:
    """``text``: the linted file after ``--fix``; ``run``: what is found then."""

    text: str
    run: Run


def lint_example(rule: Rule, example: Example, folder: Path) -> Run:
    """Write an example into an empty folder and lint it as a user would, without settings."""
    write(example, folder)
    with working_in(folder):
        return lint_paths([example.name], request(rule, example, folder), Choice())


def fix_example(rule: Rule, example: Example, folder: Path) -> FixedExample:
    """Write an example into an empty folder and apply safe fixes of this rule alone."""
    write(example, folder)
    with working_in(folder):
        asked = request(rule, example, folder)
        own = Choice() if rule.family == "SRC" else Choice(select=(rule.code,))  # the engine's own need the others to run
        fix_paths([example.name], asked, own, unsafe=False, write=True)
        text = (folder / example.name).read_bytes().decode("utf-8")
        return FixedExample(text, lint_paths([example.name], asked, Choice()))


def request(rule: Rule, example: Example, folder: Path) -> Request:
    stated: dict[str, Any] = dict(example.facts)
    for name, convert in (("gpu_count", int), ("gpu_memory_gib", float)):
        if name in stated:
            stated[name] = convert(stated[name])
    settings = Settings(folder, top=Table(options={rule.code: example.options} if example.options else {}))
    profile = "strict" if rule.strict else example.profile
    return Request(Stated(**stated), settings=settings, profile=profile)


def write(example: Example, folder: Path) -> None:
    for name, text in {**example.files, example.name: example.source}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
