"""The quick decorator makes what the standard one makes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from lint_vllm import frozen


def make(decorator: Callable[..., Any]) -> Any:
    @decorator(frozen=True, slots=True)
    class Point:
        x: int
        y: list[int] = dataclasses.field(default_factory=list, compare=False)
        hidden: str = dataclasses.field(default="h", repr=False)

    return Point


@pytest.mark.parametrize("slots", [False, True])
def test_it_behaves_like_the_standard_decorator(slots: bool) -> None:
    quick, standard = make(frozen.dataclass), make(dataclasses.dataclass)
    for cls in (quick, standard):
        point = cls(1, [2])
        assert repr(point).endswith("Point(x=1, y=[2])")
        assert point == cls(1, [3])
        assert point != cls(2, [2])
        assert hash(point) == hash(cls(1, [3]))
        assert dataclasses.replace(point, x=5).x == 5
        assert [field.name for field in dataclasses.fields(point)] == ["x", "y", "hidden"]
        assert cls(1) != (1, [], "h")
        assert cls.__slots__ == ("x", "y", "hidden")


def test_own_methods_stay() -> None:
    @frozen.dataclass(frozen=True, slots=True)
    class Own:
        x: int

        def __repr__(self) -> str:
            return "own"

        def __bool__(self) -> bool:
            return False

    assert repr(Own(1)) == "own"
    assert not Own(1)
    assert Own(1) == Own(1)


def test_subclasses() -> None:
    base = make(frozen.dataclass)

    @frozen.dataclass(frozen=True, slots=True)
    class Child(base):  # type: ignore[misc]
        z: int = 0

    assert Child(1, [], "h", 3) != base(1)
    assert Child(1, z=3) == Child(1, z=3)
