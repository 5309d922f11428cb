"""Interval arithmetic for memory items: what is certain at best, likely, and possible at worst."""

from __future__ import annotations

from collections.abc import Iterable

from lint_vllm.frozen import dataclass

GIB = 2**30
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Quantity:
    """Bytes, tokens or sequences: ``low <= likely <= high``. Addition goes item by item (bounds add up)."""

    low: float
    likely: float
    high: float

    @classmethod
    def exact(cls, value: float) -> Quantity:
        return cls(value, value, value)

    @classmethod
    def total(cls, items: Iterable[Quantity]) -> Quantity:
        low = likely = high = 0.0
        for item in items:
            low, likely, high = low + item.low, likely + item.likely, high + item.high
        return cls(low, likely, high)

    def __add__(self, other: Quantity) -> Quantity:
        return Quantity(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def __sub__(self, other: Quantity) -> Quantity:
        """The difference of two independent quantities: the low end takes the other's high."""
        return Quantity(self.low - other.high, self.likely - other.likely, self.high - other.low)

    def scaled(self, factor: float) -> Quantity:
        return Quantity(self.low * factor, self.likely * factor, self.high * factor)

    def at_least(self, floor: float) -> Quantity:
        return Quantity(max(self.low, floor), max(self.likely, floor), max(self.high, floor))

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    def gib(self) -> str:
        """``14.2 GiB`` or ``1.1 to 2.4 GiB`` for people."""
        low, high = f"{self.low / GIB:.1f}", f"{self.high / GIB:.1f}"
        return f"{self.likely / GIB:.1f} GiB" if low == high else f"{low} to {high} GiB"
