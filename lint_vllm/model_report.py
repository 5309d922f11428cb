"""What the rules about models and cards share: the facts they ask for, where they point, how sure they are."""

from __future__ import annotations

from collections.abc import Mapping

from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.budget.refusal import Refusal, RefusalKind
from lint_vllm.diagnostic import Severity
from lint_vllm.facts import Facts
from lint_vllm.facts.card import Card
from lint_vllm.facts.model import Model
from lint_vllm.judgement import softened
from lint_vllm.known import Known
from lint_vllm.source import Span


def model_of(facts: Facts) -> Model | None:
    """The model, where the launch names it: the release's default model, served when nothing is named, was not chosen.
    A lone file of variables counts as unknown too: what else the server is given stands elsewhere."""
    if facts.launch.form == "env" and facts.launch.image is None:
        return None
    if facts.args is not None and facts.args.model_span is None:
        return None
    return facts.model.value if isinstance(facts.model, Known) else None


def nvidia_card(facts: Facts) -> Card | None:
    """The card, where it is one of NVIDIA's with a known compute capability (of a family: the lowest)."""
    card = facts.gpu.value if isinstance(facts.gpu, Known) else None
    return card if card is not None and card.vendor == "nvidia" and card.capability is not None else None


def capability_of(facts: Facts) -> tuple[int, int] | None:
    """Compute capability of the one kind of card; ``None`` for a family whose members differ."""
    card = nvidia_card(facts)
    return None if card is None or card.members else card.capability


def shown(capability: tuple[int, int]) -> str:
    return f"{capability[0]}.{capability[1]}"


def model_place(args: ArgumentSet) -> Span:
    """Where the model is named; the command where nothing names it."""
    return args.model_span or args.launch.command


def value_place(args: ArgumentSet, dest: str) -> Span:
    """Where the value of an argument stands; the model where the argument is not given."""
    argument = args.get(dest)
    if argument is None:
        return model_place(args)
    return argument.value_span or argument.name_span


def environment(facts: Facts) -> Mapping[str, str]:
    """Variables of the launch with a known value."""
    return {e.name.value: e.value.value for e in facts.launch.env.values() if e.value is not None and e.value.unknown is None}


def refusal(facts: Facts, *kinds: RefusalKind) -> Refusal | None:
    """What the engine says that vLLM refuses, where it is of these kinds."""
    found = facts.budget.refusal
    return found if found is not None and found.kind in kinds else None


def sure(facts: Facts, model: Model | None, severity: Severity = Severity.ERROR, *, dated: bool = True) -> Severity:
    """The severity of a finding about a model: lower where its facts are those of a base model, or where the release matters
    and is not stated."""
    if model is not None and not model.exact:
        severity = Severity(max(0, severity - 1))
    return softened(facts, severity) if dated else severity


def plain_number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
