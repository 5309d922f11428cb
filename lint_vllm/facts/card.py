"""Accelerators: memory as CUDA or HIP reports it, compute capability, what the card can run."""

from __future__ import annotations

from lint_vllm.budget.quantity import Quantity
from lint_vllm.frozen import dataclass


@dataclass(frozen=True, slots=True)
class Card:
    """One kind of accelerator, or a family of them: then figures are intervals over the members.

    ``total`` is bytes as CUDA reports them on Linux (never the marketing size). ``capability`` is (major, minor); for a
    family the lowest of its members, ``None`` for other vendors and where unknown. ``ceiling`` is the largest utilization
    that the start-up check can pass on an otherwise idle card, as an interval; ``None`` where nobody measured it.
    Source: data/gpus.jsonl.
    """

    name: str
    vendor: str
    total: Quantity
    capability: tuple[int, int] | None
    arch: str = ""
    unified_memory: bool = False
    mig: bool = False
    ceiling: Quantity | None = None
    marketing_gb: float | None = None
    supports: tuple[tuple[str, object], ...] = ()
    members: tuple[str, ...] = ()

    @property
    def modelled(self) -> bool:
        """Whether the engine models the device: NVIDIA and AMD GPUs."""
        return self.vendor in ("nvidia", "amd")
