"""lint-vllm reads vLLM launch files before start-up. The public API is loaded on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lint_vllm.api import budget, find_launches, lint, parse_arguments

__all__ = ["budget", "find_launches", "lint", "parse_arguments"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from lint_vllm import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
