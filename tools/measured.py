"""The measured start-ups (``tools/data/measured.jsonl``) and what the engine says of each."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "rules")]

from lint_vllm.budget.engine_config import EngineConfig  # noqa: E402
from lint_vllm.budget.quantity import GIB  # noqa: E402
from lint_vllm.budget.result import Budget  # noqa: E402

FAILING = {"refused_kv", "refused_free_memory", "oom_load", "oom_profile"}


@dataclass(frozen=True)
class Start:
    """One published launch. Sizes in GiB a GPU, as vLLM printed them."""

    id: str
    source: str
    model: str
    argv: list[str]
    outcome: str
    measured: dict[str, float]
    release: str | None = None
    build: str | None = None
    catalogued: bool = False
    gpu: str | None = None
    total_gib: float | None = None
    gpu_count: int | None = None
    usage: str = "server"
    env: dict[str, str] = field(default_factory=dict)
    complete: bool = True
    pool_from_tokens_gib: float | None = None
    note: str = ""

    @property
    def pool_gib(self) -> float | None:
        """Printed, or tokens times bytes a token where the layout is plain."""
        return self.measured.get("kv_available_gib", self.pool_from_tokens_gib)


def load() -> list[Start]:
    lines = (HERE / "data" / "measured.jsonl").read_text("utf-8").splitlines()
    return [Start(**json.loads(line)) for line in lines]


@dataclass(frozen=True)
class Judged:
    """A start with the resolved configuration and the account, where the engine can give them."""

    start: Start
    config: EngineConfig | None
    budget: Budget | None
    why: str = ""

    @property
    def runtime_gib(self) -> float | None:
        """Measured: share less weights less pool. Weights from the record where none were printed and the record is sure."""
        pool, budget = self.start.pool_gib, self.budget
        if pool is None or budget is None or budget.requested is None or self.config is None:
            return None
        share = self.start.measured.get("requested_gib")
        if share is None:
            if not budget.requested.is_exact and budget.requested.high - budget.requested.low > 0.5 * GIB:
                return None
            share = budget.requested.likely / GIB
        weights = self.start.measured.get("weights_gib")
        if weights is None:
            if budget.weights is None or self.config.quantization not in (None, "fp8"):
                return None
            weights = budget.weights.likely / GIB
        return share - weights - pool


def judge(start: Start) -> Judged:
    """What the engine says, given what a caller would give: model, card, count, release, arguments."""
    from lint_vllm.budget.judge import configure
    from lint_vllm.inventory import inspect_command
    from lint_vllm.request import Request
    from lint_vllm.settings import Stated

    if start.gpu is None and start.total_gib is None:
        return Judged(start, None, None, "card not stated")
    argv = list(start.argv)
    at = argv.index("--model")
    model = argv[at + 1]
    del argv[at : at + 2]
    words = [*(["env", *(f"{k}={v}" for k, v in start.env.items())] if start.env else []), "vllm", "serve", model, *argv]
    stated = Stated(gpu=start.gpu, gpu_count=start.gpu_count or 1, gpu_memory_gib=start.total_gib, vllm_version=start.release)
    inventory = inspect_command(words, Request(stated, isolated=True))
    if not inventory.cases:
        return Judged(start, None, None, inventory.problems[0].reason if inventory.problems else "not read")
    case = inventory.cases[0]
    config = configure(case.facts, {})
    budget = case.facts.budget
    return Judged(start, config if isinstance(config, EngineConfig) else None, budget, "; ".join(budget.unknown))
