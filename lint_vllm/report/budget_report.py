"""The budget of each launch: a ledger for people, and the stable JSON form."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from lint_vllm.budget.quantity import Quantity
from lint_vllm.budget.result import Budget
from lint_vllm.command_line import PATH
from lint_vllm.inspection import Case
from lint_vllm.known import Known
from lint_vllm.redaction import Redactor
from lint_vllm.report.frame import printable

VERSION = 1

VERDICTS = {
    "starts": "starts",
    "refused_kv": "will not start: one request of full length does not fit the KV pool",
    "refused_free_memory": "will not start: less memory is free than the share asks for",
    "oom_load": "will not start: the weights do not fit",
    "oom_profile": "will not start: nothing is left for the KV cache",
    "oom_runtime": "starts, and runs out of memory under load",
    "arg_error": "will not start: the arguments are refused",
    "unknown": "not judged",
}


def render(name: str, cases: Sequence[Case]) -> str:
    redactor = Redactor.of(cases)
    if name == "json":
        from lint_vllm.budget.report import budget_json

        rows = [{**_place(case), **budget_json(case.facts, case.facts.budget)} for case in cases]
        return json.dumps({"version": VERSION, "budgets": redactor.document(rows)}, indent=2, ensure_ascii=False) + "\n"
    if not cases:
        return "no launches\n"
    return redactor.text("\n".join("\n".join(_ledger(case)) + "\n" for case in cases))


def _place(case: Case) -> dict[str, object]:
    """Where the launch is written; nowhere for one that was given as an argument list."""
    if case.launch.path == PATH:
        return {"path": None, "line": None}
    return {"path": case.launch.path, "line": case.launch.command.line}


def _ledger(case: Case) -> Iterator[str]:
    facts, budget, launch = case.facts, case.facts.budget, case.launch
    where = "" if launch.path == PATH else f"{launch.path}:{launch.command.line}  "
    yield printable(f"{where}{_model(case)}")
    if isinstance(facts.gpu, Known):
        count = f"{facts.gpu_count.value} x " if isinstance(facts.gpu_count, Known) else ""
        yield f"  on {count}{printable(facts.gpu.value.name)} ({printable(facts.gpu.origin)})"
    yield f"  as vLLM {printable(facts.release.version)} ({printable(facts.release.origin)})"
    for line in budget.ledger():
        item, _, value = line.partition(": ")
        yield f"    {item:<48} {value:>22}"
    yield from (f"  {sentence}" for sentence in _holds(budget))
    yield f"  verdict: {_verdict(budget)}"
    yield from (f"  unknown: {printable(reason)}" for reason in budget.unknown)
    yield from (f"  note: {printable(detail)}" for detail in budget.details)


def _model(case: Case) -> str:
    model = case.facts.model
    if isinstance(model, Known):
        return f"{model.value.label}"
    return str(case.args.model) if isinstance(case.args.model, str) else model.reason


def _holds(budget: Budget) -> Iterator[str]:
    if budget.tokens is not None:
        yield f"pool holds {count(budget.tokens)} tokens"
    if budget.max_concurrency is not None and budget.max_model_len is not None:
        yield f"that is {count(budget.max_concurrency, 2)} requests of {budget.max_model_len:,} tokens"
    if budget.demand is not None:
        demand = budget.demand
        yield f"asked for: {demand.sequences} x {demand.context:,} tokens ({demand.origin}); holds {count(demand.fits, 1)} of these"


def _verdict(budget: Budget) -> str:
    sure = {"certain": "certain", "likely": "likely", "possible": "possible"}[budget.confidence]
    phase = f", in {budget.phase}" if budget.phase and budget.fails else ""
    return VERDICTS[budget.outcome] if budget.outcome == "unknown" else f"{VERDICTS[budget.outcome]} ({sure}{phase})"


def count(quantity: Quantity, digits: int = 0) -> str:
    """``about 28,064 (27,000 to 29,500)``; a single figure where the interval has no width."""
    shown = [f"{value:,.{digits}f}" for value in (quantity.low, quantity.likely, quantity.high)]
    return shown[1] if shown[0] == shown[2] else f"about {shown[1]} ({shown[0]} to {shown[2]})"
