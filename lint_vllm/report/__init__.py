"""One function a format: a run in, the whole report as text out. Secrets are masked here and nowhere later."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from lint_vllm.result import Run

FORMATS = ("text", "concise", "json", "github", "sarif", "gitlab", "junit")


def render(name: str, run: Run, *, color: bool = False) -> str:
    """A report in one of ``FORMATS``; only ``text`` and ``concise`` know colour."""
    module = importlib.import_module(f"lint_vllm.report.{name}_report")
    function = cast("Callable[[Run, bool], str]", module.render)
    return function(run, color)
