"""Values that say where they came from, and values that are not known and say why.

``Unknown`` is a value, never ``None`` and never a guess: whoever meets one passes it on or stays silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from lint_vllm.frozen import dataclass

if TYPE_CHECKING:
    from lint_vllm.source import Span

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """A value and its origin in plain words (``image tag``, ``--gpu``, ``catalogue``, ``default of vLLM 0.33.0``)."""

    value: T
    origin: str
    span: Span | None = None

    def __bool__(self) -> bool:
        return True


@dataclass(frozen=True, slots=True)
class Unknown:
    """Nothing is known, and why (``GPU unknown``, ``shell variable MODEL has no value in this file``)."""

    reason: str

    def __bool__(self) -> bool:
        return False


Fact: TypeAlias = "Known[T] | Unknown"
