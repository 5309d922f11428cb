"""How memory findings talk: the ledger, what fills the card, the verified ways out as edits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.budget.advice import Way, ways_out
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.result import Budget
from lint_vllm.diagnostic import Applicability, Edit, Fix, Severity
from lint_vllm.edits import add_flag, replace_value
from lint_vllm.facts import Facts
from lint_vllm.facts.model import Model
from lint_vllm.judgement import chosen_elsewhere
from lint_vllm.known import Known
from lint_vllm.source import Span

MOST_FIXES = 7
_LONG_CONTEXT = 32768


def severity_of(budget: Budget, facts: Facts) -> Severity | None:
    """Certain failures are errors, likely ones warnings (notes where an unknown release decides, since overheads differ between
    releases); what fails only at the pessimistic end is not reported."""
    if budget.confidence == "certain":
        return Severity.ERROR
    if budget.confidence != "likely":
        return None
    return Severity.INFO if not facts.release.sure and chosen_elsewhere(facts) else Severity.WARNING


def place_of(args: ArgumentSet, *dests: str) -> Span:
    """The value of the first of these arguments that is written, else the command."""
    for dest in dests:
        argument = args.get(dest)
        if argument is not None and argument.value_span is not None:
            return argument.value_span
    return args.launch.command


def model_place(args: ArgumentSet) -> Span:
    return args.model_span or args.launch.command


def ledger_notes(facts: Facts, budget: Budget) -> tuple[str, ...]:
    """The account, item by item, and where its facts come from."""
    notes = ["; ".join(budget.ledger())]
    model, card = facts.model, facts.gpu
    origins = []
    if isinstance(card, Known):
        origins.append(f"{card.value.name} ({card.origin})")
    if isinstance(model, Known):
        origins.append(f"{model.value.label} ({model.origin})")
    origins.append(f"vLLM {facts.release.version} ({facts.release.origin})")
    notes.append("facts: " + ", ".join(origins))
    return tuple(notes)


def cache_note(facts: Facts, budget: Budget) -> str | None:
    """What makes the cache of a sequence as large as it is, for models that keep K and V per head."""
    if not isinstance(facts.model, Known) or budget.bytes_per_sequence is None or not budget.max_model_len:
        return None
    model: Model = facts.model.value
    per_token = budget.bytes_per_sequence / budget.max_model_len / 1024
    if model.mla or model.hybrid_state or model.kv_heads is None or model.num_layers is None:
        return f"one token takes {per_token:.0f} KiB of cache on each GPU"
    return f"{model.kv_heads} KV heads in {model.num_layers} layers: one token takes {per_token:.0f} KiB of cache on each GPU"


def holds_note(budget: Budget) -> str | None:
    """The answer the other way round: what the pool does hold."""
    if (
        budget.holds_length is None
        or budget.max_concurrency is None
        or budget.max_model_len is None
        or budget.holds_length.likely < 1
    ):
        return None
    longest = f"the pool holds one request of about {int(budget.holds_length.likely):,} tokens"
    if budget.max_concurrency.likely >= 1:
        return f"{longest}, or {budget.max_concurrency.likely:.1f} of {budget.max_model_len:,}"
    return longest


def all_notes(facts: Facts, budget: Budget) -> tuple[str, ...]:
    return tuple(n for n in (holds_note(budget), cache_note(facts, budget), *ledger_notes(facts, budget)) if n)


def fixes(args: ArgumentSet, facts: Facts, budget: Budget, only: Iterable[str] | None = None) -> tuple[Fix, ...]:
    """The verified ways out as fixes, cheapest first; ``only`` keeps those that change one of these arguments."""
    wanted = None if only is None else frozenset(only)
    found: list[Fix] = []
    kinds: dict[str, int] = {}
    for way in ways_out(facts, budget):
        kind = next(iter(way.changes))
        if (wanted is not None and kind not in wanted) or kinds.get(kind, 0) >= (2 if kind == "model" else 1):
            continue
        kinds[kind] = kinds.get(kind, 0) + 1
        found.append(as_fix(args, facts, way))
    return tuple(found[:MOST_FIXES])


def as_fix(args: ArgumentSet, facts: Facts, way: Way) -> Fix:
    edits = edits_for(args, way.changes)
    return Fix(
        way.title[:1].lower() + way.title[1:],
        edits=edits,
        applicability=Applicability.UNSAFE if edits else Applicability.DISPLAY,
        cost=_cost(facts, way),
        verified=True,
    )


def _cost(facts: Facts, way: Way) -> str:
    """The cost, with what the stated task makes of it."""
    task = facts.workload.task.value.lower() if facts.workload.task is not None else ""
    if "model" in way.changes and task in ("code", "coding", "math", "maths") and "4-bit" in way.cost:
        return f"{way.cost}; 4-bit weights hurt {task} more than chat, prefer 8-bit"
    if "kv_cache_dtype" in way.changes and way.budget.max_model_len is not None and way.budget.max_model_len >= _LONG_CONTEXT:
        return f"{way.cost}, most at long contexts"
    return way.cost


def edits_for(args: ArgumentSet, changes: Mapping[str, object]) -> tuple[Edit, ...]:
    """The changes as edits of the file; none when one of them has no exact place."""
    edits: list[Edit] = []
    for dest, value in changes.items():
        if dest == "gpu_count":
            return ()
        text = f"{value:g}" if isinstance(value, float) else str(value)
        if dest == "model":
            edit = _model_edit(args, text)
        else:
            argument = args.get(dest)
            edit = replace_value(argument, text) if argument is not None else add_flag(args, "--" + dest.replace("_", "-"), text)
        if not edit:
            return ()
        edits.extend(edit)
    return tuple(edits)


def _model_edit(args: ArgumentSet, model: str) -> tuple[Edit, ...]:
    span = args.model_span
    if span is None or span.text != args.model:
        return ()
    return (Edit(span, model),)


def gib(value: float) -> str:
    return f"{value / GIB:.1f} GiB"


def range_of(item: Quantity) -> str:
    """``2.5 to 4.0`` of sequences, one figure where the ends agree."""
    low, high = f"{item.low:.1f}", f"{item.high:.1f}"
    return low if low == high else f"{low} to {high}"
