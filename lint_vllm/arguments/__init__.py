"""Argument lists, read as each vLLM release reads them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lint_vllm.arguments.parse import read_launch

__all__ = ["read_launch"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from lint_vllm.arguments import parse

        return getattr(parse, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
