"""From facts to a budget: arguments as given (or changed), model, card, demand."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lint_vllm.budget import runtime
from lint_vllm.budget.account import GPU_UNKNOWN, Asked, account
from lint_vllm.budget.engine_config import EngineConfig, Refusal, Usage, resolve
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.releases import newest_running
from lint_vllm.budget.result import Budget
from lint_vllm.facts import Facts
from lint_vllm.facts.gpu import NOTHING_SAID
from lint_vllm.facts.model import Model
from lint_vllm.known import Known, Unknown

NOT_ARGUMENTS = ("model", "gpu_count")
SMALL, LARGE = 4, 32
"""An explicit ``--max-num-seqs`` up to SMALL is a demand, up to LARGE a limit that may be one; above, a scheduler setting."""


def judge(facts: Facts, changes: Mapping[str, object]) -> Budget:
    """The budget of a launch with some arguments changed (dest -> value; ``None`` = left out)."""
    config = configure(facts, changes)
    if isinstance(config, Unknown):
        return Budget("unknown", "certain", (config.reason,))
    if isinstance(config, Refusal):
        return Budget(
            "arg_error", _sure(facts), phase=config.phase, refusal=config, details=(config.message,), **_ledgerless(facts)
        )
    budget = _accounted(facts, config, asked_for(facts, config, changes))
    if isinstance(facts.gpu, Unknown) and facts.gpu.reason != NOTHING_SAID:
        reasons = [f"{GPU_UNKNOWN}: {facts.gpu.reason}" if reason == GPU_UNKNOWN else reason for reason in budget.unknown]
        return replace(budget, unknown=tuple(reasons))
    return budget


def _accounted(facts: Facts, config: EngineConfig, asked: Asked | None) -> Budget:
    """The account; by the user's own measurements where they fit the launch."""
    known = None
    if facts.calibrations:
        from lint_vllm import calibration

        known = calibration.match(config, facts.calibrations)
    if known is None:
        return account(config, runtime.estimate, asked)
    total = Quantity.exact(known.total_gib * GIB)
    card = config.card if config.card is None else replace(config.card, total=total)

    launch = replace(config, card=card)

    def measured(config: EngineConfig, weights: Quantity | None = None) -> runtime.RuntimeEstimate:
        return calibration.apply(config, runtime.estimate(config, weights), known, weights).runtime

    budget = account(launch, measured, asked)
    return replace(budget, details=(f"runtime figures: {known.origin}", *budget.details))


def _ledgerless(facts: Facts) -> dict[str, Any]:
    total = facts.gpu.value.total if isinstance(facts.gpu, Known) else None
    return {"total": total}


def _sure(facts: Facts) -> Any:
    return "certain" if isinstance(facts.model, Known) and facts.model.value.exact else "likely"


def values_of(facts: Facts, changes: Mapping[str, object]) -> Mapping[str, object] | Unknown:
    """dest -> value in effect, changes applied."""
    args = facts.args
    values: dict[str, object] = dict(args.values) if args is not None else {}
    for dest, value in changes.items():
        if dest in NOT_ARGUMENTS:
            continue
        if value is None:
            values.pop(dest, None)
        else:
            values[dest] = value
    return values


def environment(facts: Facts) -> dict[str, str]:
    """Variables of the launch with a known value."""
    return {e.name.value: e.value.value for e in facts.launch.env.values() if e.value is not None and e.value.unknown is None}


def configure(facts: Facts, changes: Mapping[str, object]) -> EngineConfig | Refusal | Unknown:
    """The resolved arguments of a launch."""
    model = _model(facts, changes)
    if isinstance(model, Unknown):
        return model
    card = facts.gpu
    if isinstance(card, Known) and not card.value.modelled:
        return Unknown(f"memory of {card.value.name} is not modelled")
    values = values_of(facts, changes)
    if isinstance(values, Unknown):
        return values
    endless = next((dest for dest, value in values.items() if isinstance(value, float) and not math.isfinite(value)), None)
    if endless is not None:
        return Unknown(f"{endless} is {values[endless]}, which is no amount")
    count: int | None = facts.gpu_count.value if isinstance(facts.gpu_count, Known) else None
    wanted = changes.get("gpu_count")
    if isinstance(wanted, int):
        count = wanted
    usage: Usage = "LLM" if facts.launch.form == "python" and not _serves(facts) else "server"
    release = facts.release.version
    if facts.release.certainty == "assumed":
        asked = values.get("quantization") or (model.quantization.method if model.quantization is not None else None)
        capability = card.value.capability if isinstance(card, Known) else None
        release = newest_running(release, asked if isinstance(asked, str) else None, capability, model.architectures)
    config = resolve(
        values,
        model,
        card.value if isinstance(card, Known) else None,
        count,
        release,
        environment(facts),
        usage,
        _drafts(facts, values),
    )
    if isinstance(config, EngineConfig):
        if release != facts.release.version:
            note = f"judged as vLLM {release}, the newest release that runs this: none is stated"
            config = replace(config, notes=(*config.notes, note))
        return replace(config, release_sure=facts.release.sure, vendor_build=facts.release.certainty == "vendor")
    return config


def _serves(facts: Facts) -> bool:
    """Asynchronous engines are served; ``LLM(...)`` runs offline."""
    site = facts.launch.site or ""
    return "Async" in site or "serve" in site


def _model(facts: Facts, changes: Mapping[str, object]) -> Model | Unknown:
    other = changes.get("model")
    found = facts.find_model(str(other)) if other is not None else facts.model
    return found.value if isinstance(found, Known) else found


def _drafts(facts: Facts, values: Mapping[str, object]) -> dict[str, Model]:
    """The models that a speculative configuration names."""
    config = values.get("speculative_config")
    names = [config.get("model")] if isinstance(config, Mapping) else []
    names += [values.get("spec_model"), values.get("speculative_model")]
    found: dict[str, Model] = {}
    for name in names:
        if isinstance(name, str) and name not in ("ngram", "[ngram]"):
            model = facts.find_model(name)
            if isinstance(model, Known):
                found[name] = model.value
    return found


def asked_for(facts: Facts, config: EngineConfig, changes: Mapping[str, object]) -> Asked | None:
    """Demand: a stated workload, or a small explicit ``--max-num-seqs``."""
    workload = facts.workload
    if workload.concurrency is not None:
        context = workload.context_tokens.value if workload.context_tokens is not None else None
        return Asked(workload.concurrency.value, context, workload.concurrency.origin, True)
    if config.max_num_seqs_given and config.max_num_seqs <= LARGE:
        context = workload.context_tokens.value if workload.context_tokens is not None else None
        return Asked(config.max_num_seqs, context, "--max-num-seqs", config.max_num_seqs <= SMALL)
    if workload.context_tokens is not None:
        return Asked(1, workload.context_tokens.value, workload.context_tokens.origin, True)
    return None
