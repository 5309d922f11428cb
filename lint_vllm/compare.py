"""One table over models, weight widths and cards: what a server of a stated context and concurrency takes, and whether it fits.

A width of weights is a published checkpoint where the catalogue has one, else the base model's shape under the usual
quantization (FP8 for 8 bits, AWQ for 4); every row says which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lint_vllm.facts.catalogue import find, record, siblings, stripped
from lint_vllm.frozen import dataclass
from lint_vllm.inventory import inspect_command
from lint_vllm.known import Known
from lint_vllm.settings import SettingsError

if TYPE_CHECKING:
    from lint_vllm.budget.result import Budget
    from lint_vllm.facts import Facts
    from lint_vllm.facts.model import Model
    from lint_vllm.request import Request

USUAL = {8: "FP8-dynamic", 4: "AWQ"}
"""How a checkpoint of a width is usually named, which is how the catalogue knows its quantization."""
WIDTHS = (16, 8, 4)


@dataclass(frozen=True, slots=True)
class Variant:
    """A model at one width. ``name`` is what the engine looks up; ``how`` says whose figures they are."""

    model: str
    bits: int
    name: str | None
    how: str


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the comparison; ``facts`` and ``budget`` are ``None`` where there is no such variant."""

    variant: Variant
    gpu: str | None
    facts: Facts | None
    budget: Budget | None


def render(name: str, models: Sequence[str], widths: Sequence[str], context: int, concurrency: int, request: Request) -> str:
    """The comparison as text, json or markdown. Raises ``SettingsError`` for a width that is none, or no model."""
    from lint_vllm.report.compare_report import render as rendered

    return rendered(name, compare(models, widths_of(widths), context, concurrency, request), context, concurrency)


def widths_of(values: Sequence[str]) -> tuple[int, ...]:
    """``("16", "8", "4")`` as numbers, each once."""
    if wrong := [value for value in values if value not in {str(width) for width in WIDTHS}]:
        raise SettingsError(f"--quant: {wrong[0]} is not one of 16, 8, 4")
    return tuple(dict.fromkeys(int(value) for value in values))


def compare(models: Sequence[str], widths: Sequence[int], context: int, concurrency: int, request: Request) -> tuple[Row, ...]:
    """Every model at every width on every card (``request.facts.gpu`` may name several, with commas)."""
    if not models:
        raise SettingsError("--compare: name at least one model")
    cards: list[str | None] = [card.strip() for card in (request.facts.gpu or "").split(",") if card.strip()]
    return tuple(
        _row(variant, card, context, concurrency, request)
        for model in models
        for variant in variants(model, widths)
        for card in cards or [None]
    )


def variants(name: str, widths: Sequence[int]) -> Iterator[Variant]:
    """A model at each width, itself included where it has that width."""
    model = find(name)
    own = _bits(model) if model is not None else 16
    base = _base(name, model)
    for bits in widths:
        if bits == own:
            yield Variant(name, bits, name, _whose(model))
        elif bits == 16:
            plain = base is not None and base.quantization is None
            how = f"the base model {base.id}" if plain and base is not None else f"published with {own}-bit weights only"
            yield Variant(name, bits, base.id if plain and base is not None else None, how)
        else:
            yield _narrower(name, base, bits)


def _narrower(name: str, base: Model | None, bits: int) -> Variant:
    """A quantized sibling that the catalogue has, by the same publisher or another, else the base model's shape."""
    if base is None:
        return Variant(name, bits, None, "not in the catalogue, so its quantized shape is not known")
    published = next((s for s in siblings(base) if _bits(s) == bits), None)
    if published is not None:
        return Variant(name, bits, published.id, f"published: {published.id}")
    own, wanted = _bits(base), f"{base.id}-{USUAL[bits]}"
    entry = record(wanted) or record(wanted.rsplit("/", 1)[-1])
    if entry is not None:
        return Variant(name, bits, str(entry["id"]), f"published: {entry['id']}")
    if bits > own or find(wanted) is None:
        return Variant(name, bits, None, f"published with {own}-bit weights only")
    return Variant(name, bits, wanted, f"formula: {base.id} as {_usual(bits)}")


def _usual(bits: int) -> str:
    return {8: "FP8 with dynamic scales", 4: "AWQ, groups of 128"}[bits]


def _whose(model: Model | None) -> str:
    if model is None:
        return "as given"
    return "as published" if model.exact else model.origin


def _bits(model: Model) -> int:
    """16, 8 or 4: the nearest width of the weights that are quantized."""
    stated = model.quantization.bits if model.quantization is not None else None
    if model.quantization is None or stated is None:
        return 16
    return min(WIDTHS, key=lambda width: abs(width - stated))


def _base(name: str, model: Model | None) -> Model | None:
    """The 16-bit model behind a quantized one, by its name; the model itself where it is none or has no other name."""
    if model is None or model.quantization is None:
        return model
    owner, _, bare = name.rpartition("/")
    for stem, stated in stripped(bare):
        base = find(f"{owner}/{stem}" if owner else stem) if stated is not None else None
        if base is not None and base.quantization is None:
            return base
    return model


def _row(variant: Variant, card: str | None, context: int, concurrency: int, request: Request) -> Row:
    if variant.name is None:
        return Row(variant, card, None, None)
    facts = replace(request.facts, gpu=card, concurrency=concurrency, context_tokens=context)
    words = ["vllm", "serve", variant.name, "--max-model-len", str(context)]
    if facts.gpu_count is not None and facts.gpu_count > 1:
        words += ["--tensor-parallel-size", str(facts.gpu_count)]
    case = inspect_command(words, replace(request, facts=facts)).cases[0]
    shown = case.facts.gpu.value.name if isinstance(case.facts.gpu, Known) else card
    return Row(variant, shown, case.facts, case.facts.budget)
