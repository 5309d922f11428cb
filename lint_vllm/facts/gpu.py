"""Which GPU a launch runs on, and how many of them its process can use.

Precedence: ``--gpu``; comment in the file; what the file says (labels, instance types, typed requests), nearest to the
launch first; settings; a GPU that a prose comment of the file names without doubt. Hints that contradict each other give
no card.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, cached_property, lru_cache

from lint_vllm.budget.quantity import MIB, Quantity
from lint_vllm.facts.card import Card
from lint_vllm.facts.comments import CommentFacts
from lint_vllm.facts.hints import Reading, find, hints_in_text, read
from lint_vllm.facts.images import image_facts
from lint_vllm.known import Fact, Known, Unknown
from lint_vllm.launch import GpuRequest, Hint, Launch
from lint_vllm.patterns import pattern
from lint_vllm.settings import Stated
from lint_vllm.source import SourceFile, Span

NOTHING_SAID = "GPU unknown; set `gpu`"
LOCAL = "local"
"""``--gpu local``: the cards of the machine that lint-vllm runs on, as its own nvidia-smi lists them."""
NO_COUNT = "GPU count unknown; set `gpu-count`"

_PROSE = pattern(
    r"(?<![\w./:-])(?:(?P<count>\d{1,2})[ \t]?[x×][ \t]?)?"
    r"(?P<name>(?:NVIDIA|Nvidia|AMD|Tesla|GeForce)?[ -]?(?:GeForce |Tesla |Instinct )?"
    r"(?:(?:A100|H100|H200|H20|B200|B300|GB200|GB300|GH200|L40S|L40|L20|L4|A10G|A10|A16|A30|A40|T4|V100|GB10)"
    r"(?:[ -]?(?:SXM\d?|PCIe|NVL))?"
    r"|RTX[ -]?(?:PRO )?A?\d{4}(?:[ -]?(?:Ti|SUPER|Ada|D)\b)*|MI2[15]0X?|MI3\d\dX|DGX Spark)"
    r"(?:[ -]?\(?\d{2,3}[ ]?Gi?B\)?)?)(?![\w./-])"
)
# A comment counts when it names the machine and says nothing else: besides the card, only such words stand in it.
_PLAIN_WORDS = frozenset(
    re.findall(
        r"\w+",
        "a above amd an and are below box card cards config configuration configured deployment deploys dual each eight for four "
        "gb gib gpu gpus hardware host image in instance is it launch launched machine memory node nvidia of on one optimised "
        "optimizations optimized our per run running runs serve served server serves service serving set settings setup single "
        "sized target targets the this tuned two using values vllm vram we with x",
    )
)
_COMMENT_MARK = pattern(r"(?:^[ \t]*(?:#+|//)|[ \t](?:#|//)(?=[ \t]))[ \t]*(?P<words>[^\r\n]*)", re.MULTILINE)


def resolve_gpu(launch: Launch, options: Stated, comments: CommentFacts, settings: Stated) -> tuple[Fact[Card], Fact[int]]:
    """The card and the number of cards that the launch's process can use (per machine, for launches over several)."""
    levels = _Evidence(launch)
    card = _card(launch, options, comments, settings, levels)
    count = _count(launch, options, comments, settings, levels)
    if isinstance(count, Unknown) and isinstance(card, Known) and (spoken := _prose(launch)) is not None and spoken[1] is not None:
        count = Known(spoken[1], "comment in the file", spoken[2])
    return card, count


# -- card --------------------------------------------------------------------------------------------------------------


def _card(launch: Launch, options: Stated, comments: CommentFacts, settings: Stated, levels: _Evidence) -> Fact[Card]:
    memory: Known[float] | None = None
    if options.gpu_memory_gib is not None:
        memory = Known(options.gpu_memory_gib, "--gpu-memory-gib")
    else:
        memory = comments.number("gpu-memory-gib")
        if memory is None and settings.gpu_memory_gib is not None:
            memory = Known(settings.gpu_memory_gib, "settings")
    found = _named_card(launch, options, comments, settings, levels)
    if memory is None or memory.value <= 0:
        return found
    from lint_vllm.facts.cards import with_memory

    if isinstance(found, Known):
        return Known(with_memory(found.value, memory.value), f"{found.origin}, memory from {memory.origin}", found.span)
    return Known(with_memory(None, memory.value), memory.origin, memory.span)


def _named_card(launch: Launch, options: Stated, comments: CommentFacts, settings: Stated, levels: _Evidence) -> Fact[Card]:
    if options.gpu == LOCAL:
        local = _local()
        return local if isinstance(local, Unknown) else Known(local[0], "nvidia-smi of this machine")
    if options.gpu:
        return _by_name(options.gpu, "--gpu")
    stated = comments.get("gpu")
    if stated is not None:
        return _by_name(stated.value, stated.origin, stated.span)
    image = image_facts(launch.image)
    if image is not None and image.device in _OTHER_DEVICES:
        return Unknown(f"the image runs on {_OTHER_DEVICES[image.device]}, whose memory is not modelled")
    doubt: Unknown | None = None
    for readings in levels:
        found = _combined(readings)
        if isinstance(found, Known):
            return found
        if found is not None:
            doubt = found
            break
    if settings.gpu and (doubt is None or "not modelled" not in doubt.reason):
        return _by_name(settings.gpu, "settings")
    if doubt is not None:
        return doubt
    spoken = _prose(launch)
    if spoken is not None:
        return Known(spoken[0], "comment in the file", spoken[2])
    return Unknown(NOTHING_SAID)


_OTHER_DEVICES = {
    "cpu": "the CPU",
    "xpu": "Intel GPUs",
    "tpu": "Google TPUs",
    "hpu": "Intel Gaudi",
    "neuron": "AWS Neuron",
    "ascend": "Huawei Ascend",
    "spyre": "IBM Spyre",
}


def _by_name(name: str, origin: str, span: Span | None = None) -> Fact[Card]:
    card = find(name)
    if card is None:
        return Unknown(f"GPU {name!r} ({origin}) is not in the table of cards")
    if not card.modelled:
        return Unknown(f"{card.name} ({origin}) is not modelled")
    return Known(card, origin, span)


@cache
def _local() -> tuple[Card, int] | Unknown:
    from lint_vllm.facts.cards import local_card

    return local_card()


def _combined(readings: Iterable[Reading]) -> Fact[Card] | None:
    """The card that all readings of one level agree on; ``None`` when they name none."""
    said = list(readings)
    named = [r for r in said if r.cards]
    devices = [r for r in said if r.device is not None]
    if devices and not named:
        return Unknown(f"{devices[0].origin} asks for {devices[0].device}, which is not modelled")
    if devices:
        return Unknown(f"the file asks for {named[0].cards[0].name} and for {devices[0].device}; set `gpu`")
    profile = next((r for r in said if r.profile is not None), None)
    found = _agreed(named, said) if named else None
    if profile is not None and profile.profile is not None:
        return _slice(profile, profile.profile, found)
    if found is None:
        vendor = next((r for r in said if r.vendor == "amd"), None)
        return Unknown(f"{vendor.says} asks for an AMD GPU without saying which; set `gpu`") if vendor is not None else None
    if isinstance(found, Known) and not found.value.modelled:
        return Unknown(f"{found.value.name} ({found.origin}) is not modelled")
    limit = next((r for r in said if r.limit_mib), None)
    if isinstance(found, Known) and limit is not None and limit.limit_mib is not None:
        card = replace(found.value, total=Quantity.exact(limit.limit_mib * MIB))
        return Known(card, f"{found.origin}, memory limited by nvidia.com/gpumem", found.span)
    return found


def _agreed(named: Sequence[Reading], said: Sequence[Reading]) -> Fact[Card]:
    memory = next((r.memory_mib for r in said if r.memory_mib), None)
    choices = [[c for c in r.cards if memory is None or _about(c, memory)] or list(r.cards) for r in named]
    common = set.intersection(*({name for card in cards for name in _members(card)} for cards in choices))
    if not common:
        names = sorted({card.name for cards in choices for card in cards})
        return Unknown(f"the file names several GPUs ({', '.join(names[:4])}); set `gpu`")
    agreed = [
        (tuple(card for card in cards if set(_members(card)) & common), reading)
        for reading, cards in zip(named, choices, strict=True)
    ]
    cards, reading = min(agreed, key=lambda pair: len({name for card in pair[0] for name in _members(card)}))
    choice = len(set(cards)) > 1
    return Known(_any_of(cards), f"any of {reading.says}" if choice else reading.origin, reading.hint.span)


def _any_of(cards: Sequence[Card]) -> Card:
    """One card for several that a scheduler may pick from: memory is the interval over them, the smallest one is likely."""
    smallest = min(cards, key=lambda card: card.total.likely)
    if len(set(cards)) == 1:
        return smallest
    names = list(dict.fromkeys(card.name for card in sorted(cards, key=lambda card: card.total.likely)))
    capabilities = [card.capability for card in cards if card.capability is not None]
    return replace(
        smallest,
        name=" or ".join(names) if len(names) < 4 else f"{names[0]} to {names[-1]} ({len(names)} choices)",
        total=Quantity(min(c.total.low for c in cards), smallest.total.likely, max(c.total.high for c in cards)),
        capability=min(capabilities) if len(capabilities) == len(cards) else None,
        ceiling=None,
        marketing_gb=None,
        supports=tuple(item for item in smallest.supports if all(item in card.supports for card in cards)),
        members=tuple(dict.fromkeys(name for card in cards for name in _members(card))),
    )


def _members(card: Card) -> tuple[str, ...]:
    return card.members or (card.name,)


def _about(card: Card, mib: float) -> bool:
    """Whether a card has about this much memory as nvidia-smi or a provider counts it (CUDA shows up to 12 % less)."""
    return card.total.low <= mib * MIB * 1.02 and card.total.high >= mib * MIB * 0.86


def _slice(reading: Reading, profile: str, parent: Fact[Card] | None) -> Fact[Card]:
    name = f"{parent.value.name} MIG {profile}" if isinstance(parent, Known) else profile
    card = find(name) or find(profile)
    if card is None:
        return Unknown(f"MIG slice {profile} of a card that is not known")
    return Known(card, reading.origin, reading.hint.span)


# -- count -------------------------------------------------------------------------------------------------------------


def _count(launch: Launch, options: Stated, comments: CommentFacts, settings: Stated, levels: _Evidence) -> Fact[int]:
    if options.gpu_count is not None:
        return Known(options.gpu_count, "--gpu-count")
    if options.gpu == LOCAL and not isinstance(local := _local(), Unknown):
        return Known(local[1], "nvidia-smi of this machine")
    stated = comments.integer("gpu-count")
    if stated is not None:
        return stated
    requested = [
        Known(count, _RESOURCES.get(request.resource, request.resource), request.value_span)
        for request in _joined(launch.deployment.gpus if launch.deployment is not None else ())
        if request.resource not in _SEVERAL_RANKS
        and (count := request.count if request.count is not None else (len(request.device_ids) or None)) is not None
    ]
    visible = _visible(launch)
    if visible is not None:
        requested.append(visible)
    if requested:
        return min(requested, key=lambda fact: fact.value)
    for readings in levels:
        given = {r.count: r for r in readings if r.count is not None}
        if len(given) == 1:
            reading = next(iter(given.values()))
            return Known(reading.count or 0, reading.origin, reading.hint.span)
        node = {r.node_count: r for r in readings if r.node_count is not None and _modelled(r)}
        if len(node) == 1:
            reading = next(iter(node.values()))
            return Known(reading.node_count or 0, f"all GPUs of {reading.origin}", reading.hint.span)
        if given or node:
            break
    if settings.gpu_count is not None:
        return Known(settings.gpu_count, "settings")
    return Unknown(NO_COUNT)


def _joined(requests: Iterable[GpuRequest]) -> Iterator[GpuRequest]:
    """The requests, devices that are given one by one (``--device nvidia.com/gpu=0``) as one."""
    single: dict[str, GpuRequest] = {}
    for request in requests:
        known = single.get(request.resource)
        if request.resource not in _ONE_BY_ONE:
            yield request
        elif known is None:
            single[request.resource] = request
        else:
            ids = tuple(dict.fromkeys((*known.device_ids, *request.device_ids)))
            every = known.count is None or request.count is None
            single[request.resource] = replace(known, device_ids=() if every else ids, count=None if every else len(ids))
    yield from single.values()


_ONE_BY_ONE = ("--device", "AddDevice")
_SEVERAL_RANKS = ("aws.amazon.com/neuron", "aws.amazon.com/neurondevice", "huawei.com/Ascend910")
"""Devices of which one may run several ranks (two cores or dies in one): their count says nothing about ranks."""


def _modelled(reading: Reading) -> bool:
    """Whether a machine's devices are cards that run one rank each."""
    return reading.device is None and (not reading.cards or any(card.modelled for card in reading.cards))


_RESOURCES = {"devices": "device reservation", "gres": "--gres"}


def _visible(launch: Launch) -> Known[int] | None:
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        variable = launch.env.get(name)
        if variable is None or variable.value is None or variable.value.unknown is not None:
            continue
        ids = [part for part in variable.value.value.strip().split(",") if part.strip()]
        if ids and all(re.fullmatch(r"\d+|(?:GPU|MIG)-[\w/.-]+", part.strip()) for part in ids):
            return Known(len(ids), name, variable.value.value_span)
    return None


# -- hints by nearness ---------------------------------------------------------------------------------------------------


class _Evidence:
    """Hints by nearness: the launch's own, its block and deployment, its YAML document, the whole file; read when asked for."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch

    def __iter__(self) -> Iterator[list[Reading]]:
        yield self._own
        yield from self._text

    @cached_property
    def _own(self) -> list[Reading]:
        return _alternatives(_readings(self._launch.hints))

    @cached_property
    def _text(self) -> list[list[Reading]]:
        launch, source = self._launch, self._launch.source
        text = _text_hints(source)
        near = [launch.block]
        if launch.deployment is not None and launch.deployment.span.source is source:
            near.append(launch.deployment.span)
        levels = [[h for h in text if any(span.start <= h.span.start < span.end for span in near)]]
        if launch.passage != "doc":
            start, end = _document(source, launch.command.start)
            levels += [[h for h in text if start <= h.span.start < end], list(text)]
        return [_readings(level) for level in levels]


def _readings(hints: Iterable[Hint]) -> list[Reading]:
    return [reading for hint in hints if (reading := read(hint)) is not None]


def _alternatives(readings: Sequence[Reading]) -> list[Reading]:
    """Hints of one kind that one launch carries are choices (the values of a node affinity, a list of accelerators)."""
    merged: dict[str, Reading] = {}
    for reading in readings:
        known = merged.get(reading.hint.kind)
        if known is None:
            merged[reading.hint.kind] = reading
        elif reading.cards != known.cards:
            counts = {r.node_count for r in (known, reading)}
            node = counts.pop() if len(counts) == 1 else None
            merged[reading.hint.kind] = replace(known, cards=(*known.cards, *reading.cards), node_count=node)
    return list(merged.values())


@lru_cache(maxsize=4)
def _text_hints(source: SourceFile) -> tuple[Hint, ...]:
    return hints_in_text(source)


def _document(source: SourceFile, offset: int) -> tuple[int, int]:
    start = max(source.text.rfind("\n---", 0, offset), 0)
    end = source.text.find("\n---", offset)
    return start, len(source.text) if end < 0 else end


# -- prose ---------------------------------------------------------------------------------------------------------------


def _prose(launch: Launch) -> tuple[Card, int | None, Span] | None:
    """The one card that a comment of the file names plainly, with its count where that is written (``# 2x RTX 3090``)."""
    if launch.passage == "doc":
        return None
    plain, named = _prose_mentions(launch.source)
    if not plain or len(named) != 1:
        return None
    return next((mention for mention in plain if mention[1] is not None), plain[0])


@lru_cache(maxsize=4)
def _prose_mentions(source: SourceFile) -> tuple[tuple[tuple[Card, int | None, Span], ...], frozenset[str]]:
    """The mentions in comments that name the machine and say nothing else, and all cards that any comment names."""
    plain: list[tuple[Card, int | None, Span]] = []
    named: set[str] = set()
    for comment in _COMMENT_MARK.finditer(source.text):
        words = comment["words"]
        if words.startswith("- ") or "lint-vllm" in words or (names := list(_PROSE.finditer(words))) == []:
            continue
        rest = _PROSE.sub(" ", words).lower()
        only = all(word in _PLAIN_WORDS for word in re.findall(r"[a-z][\w.-]*[a-z]|[a-z]", rest)) and not set(words) & set("?/|<>")
        for name in names:
            card = find(name["name"].strip(" -"))
            if card is None or not card.modelled:
                continue
            named.add(card.name)
            if only:
                at = comment.start("words")
                count = int(name["count"]) if name["count"] else None
                plain.append((card, count, source.span(at + name.start("name"), at + name.end("name"))))
    return tuple(plain), frozenset(named)
