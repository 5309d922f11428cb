"""What is known about a launch: release, card, model, workload. Each fact says where it came from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from lint_vllm.frozen import dataclass
from lint_vllm.known import Fact, Known, Unknown

if TYPE_CHECKING:
    from lint_vllm.arguments.model import ArgumentSet
    from lint_vllm.budget.result import Budget
    from lint_vllm.calibration import Calibration
    from lint_vllm.facts.card import Card
    from lint_vllm.facts.model import Model
    from lint_vllm.facts.repository import Repository
    from lint_vllm.launch import Launch
    from lint_vllm.source import Span

__all__ = ["Fact", "Facts", "Known", "Release", "Sibling", "Unknown", "Workload"]


@dataclass(frozen=True, slots=True)
class Release:
    """The vLLM release a launch is read as.

    ``table`` is the release whose flag table is used (the newest known one that is not newer). ``certainty``:
    ``stated`` (option, comment, tag, pin, settings), ``floating`` (a moving tag such as ``latest``), ``assumed`` (nothing
    said: newest known), ``newer`` (a stated release newer than the tables), ``vendor`` (concluded from a vendor image).
    Version-dependent findings are errors only where it is ``stated`` or ``vendor``.
    """

    version: str
    table: str
    origin: str
    certainty: str
    span: Span | None = None

    @property
    def sure(self) -> bool:
        return self.certainty in ("stated", "vendor")

    def at_least(self, version: str) -> bool:
        return version_key(self.version) >= version_key(version)


def version_key(version: str) -> tuple[int, ...]:
    """``0.10.1.1`` -> (0, 10, 1, 1); suffixes such as ``rc1`` and ``.post1`` are cut off."""
    parts: list[int] = []
    for part in version.lstrip("v").split("."):
        digits = ""
        for c in part:
            if not c.isdigit():
                break
            digits += c
        if not digits:
            break
        parts.append(int(digits))
        if len(digits) != len(part):
            break
    return tuple(parts)


@dataclass(frozen=True, slots=True)
class Workload:
    """What somebody said the server must carry; ``None`` where nobody did."""

    concurrency: Known[int] | None = None
    context_tokens: Known[int] | None = None
    """p99 of prompt plus output of one request, tokens."""
    context_tokens_p50: Known[int] | None = None
    output_tokens: Known[int] | None = None
    task: Known[str] | None = None
    """``chat``, ``code``, ``maths``, ``rag`` ..."""


@dataclass(frozen=True, slots=True)
class Sibling:
    """Another launch of the same file (or folder, for Kubernetes objects that belong together)."""

    args: ArgumentSet
    facts: Facts


@dataclass(frozen=True)
class Facts:
    """Everything rules may know. ``budget`` is computed on first use; ``rebudget`` asks the engine "what if"."""

    release: Release
    gpu: Fact[Card]
    gpu_count: Fact[int]
    model: Fact[Model]
    workload: Workload
    launch: Launch
    repository: Repository
    judge: Callable[[Facts, Mapping[str, object]], Budget] = field(repr=False)
    """The engine: ``judge(facts, changes)``, changes being dest -> value over the arguments."""
    find_siblings: Callable[[], tuple[Sibling, ...]] = field(default=lambda: (), repr=False)
    find_model: Callable[[str], Fact[Model]] = field(default=lambda name: Unknown(f"model {name} is not looked up"), repr=False)
    """Looks up another model by id or path: a draft model, a sibling that a fix proposes."""
    profile: str = "default"
    calibrations: tuple[Calibration, ...] = ()
    """What the user's own start-up logs measured (``lint_vllm.calibration``)."""
    args: ArgumentSet | None = None
    """The arguments as the release reads them."""

    @cached_property
    def budget(self) -> Budget:
        return self.judge(self, {})

    @cached_property
    def siblings(self) -> tuple[Sibling, ...]:
        return self.find_siblings()

    @property
    def siblings_in_scope(self) -> tuple[Sibling, ...]:
        """Launches that start beside this one: on the same machine, in the same compose file, pod or job."""
        deployment = self.launch.deployment
        if deployment is None:
            return ()
        return tuple(
            s
            for s in self.siblings
            if s.facts.launch.deployment is not None and s.facts.launch.deployment.scope == deployment.scope
        )

    def rebudget(self, changes: Mapping[str, object]) -> Budget:
        """The budget with some arguments changed (dest -> typed value; ``None`` = flag left out).

        Two names are no vLLM arguments: ``model`` (another model id) and ``gpu_count``.
        """
        return self.judge(self, changes)
