"""Find an accelerator by any name people give it, and say what memory it really has.

Source: ``data/gpus.jsonl`` and ``data/gpu_families.json`` (built by ``tools/build_gpus.py``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

from lint_vllm.budget.quantity import GIB, MIB, Quantity
from lint_vllm.facts.card import Card
from lint_vllm.frozen import dataclass
from lint_vllm.known import Unknown
from lint_vllm.packaged import data_text
from lint_vllm.patterns import pattern

_LONGEST_NAME = 200
_NOISE = pattern(
    r"nvidia|geforce|tesla|quadro|amd|instinct|radeon|intel|arc|graphics|gpus?|gen(?:eration)?|card|corp(?:oration)?|r|tm|the"
    r"|accelerator|hbm(?:2e?|3e?)?|oam|ac|jetson|devices|class|mod(?:ified)?|mig|wsl2?|windows"
)
_FORMS = {"sxm": "sxm", "sxm2": "sxm", "sxm4": "sxm", "sxm5": "sxm", "sxm6": "sxm", "pcie": "pcie", "pci": "pcie", "nvl": "nvl"}
_MEMORY = pattern(r"(\d+(?:\.\d+)?)\s*(?:gb|gib|g)(?![a-z0-9])")
_COUNT = pattern(r"^\s*\d{1,2}\s*[x*×]\s*(?=[a-z0-9])|(?:(?<=[\s\d])[x×]\s*\d{1,2}|\s*:\s*\d{1,3})\s*$")
_PROFILE = pattern(r"(\d+)g\.(\d+)gb(?:\.me|\+me)?")


@dataclass(frozen=True, slots=True)
class _Entry:
    """One device of the table and what its names say about it."""

    card: Card
    row: dict[str, Any]
    keys: frozenset[str]
    forms: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A name taken apart: the model word, and the size and form that narrow it."""

    key: str
    gigabytes: float | None
    form: str | None
    profile: str | None
    wsl: bool


def find_card(name: str) -> Card | None:
    """The card, or the interval over the cards, that a name stands for; ``None`` when nothing in the table fits.

    Reads driver names, labels and what people write: ``4090``, ``rtx-4090``, ``NVIDIA-H100-80GB-HBM3``, ``A100 80G``,
    ``8xH100``, ``nvidia.com/mig-1g.10gb``, ``H100 MIG 3g.40gb``. ``(WSL2)`` behind a name takes that system's figures.
    """
    if not name or len(name) > _LONGEST_NAME:
        return None
    text = _COUNT.sub("", " ".join(name.lower().replace("_", " ").split()))
    exact = _exact().get(_spaced(text))
    if exact is not None:
        return exact
    wanted = _parse(text)
    members = _matching(wanted)
    if not members:
        return _aliases().get(text)
    label = _COUNT.sub("", " ".join(name.split()))
    return _family(label, [_under_wsl(entry) if wanted.wsl else entry.card for entry in members])


def with_memory(card: Card | None, gib: float, name: str | None = None) -> Card:
    """The card with the total that a log or the user states, GiB as CUDA reports it.

    A family is narrowed to the members that have about this much. Without a known card the result has no capability.
    """
    total = Quantity.exact(gib * GIB)
    if card is None:
        label = name or f"card with {gib:g} GiB"
        return Card(label, _vendor(label), total, None)
    if card.members:
        # Half a GiB or 2 %: more than drivers differ, less than two sizes of one family do.
        near = [
            entry.card
            for entry in _entries()
            if entry.card.name in card.members
            and entry.card.total.low - max(0.5 * GIB, 0.02 * total.likely) <= total.likely
            and total.likely <= entry.card.total.high + max(0.5 * GIB, 0.02 * total.likely)
        ]
        if near and len(near) < len(card.members):
            card = _family(card.name, near)
    if card.ceiling is None:
        return replace(card, total=total)
    gap = Quantity(*((1 - share) * card.total.likely for share in (card.ceiling.high, card.ceiling.likely, card.ceiling.low)))
    return replace(card, total=total, ceiling=_ceiling(total, gap))


def cards_with_memory(gib: float) -> tuple[Card, ...]:
    """The whole devices whose total, as CUDA reports it on Linux, is this one (to 0.03 GiB): what an unnamed card may be."""
    wanted = gib * GIB
    slack = 0.03 * GIB
    return tuple(
        entry.card
        for entry in _entries()
        if not entry.card.mig and entry.card.total.low - slack <= wanted <= entry.card.total.high + slack
    )


def notes(card: Card) -> tuple[str, ...]:
    """What may take memory beside vLLM on such a card: said, not counted, unless the user says that it applies."""
    said: list[str] = []
    if card.unified_memory:
        said.append("CPU and GPU share one memory: the system and every other program count against the card")
    elif card.vendor == "nvidia" and not card.mig and (card.marketing_gb or 0) <= 32:
        said.append("under WSL2 1.2 to 1.7 GiB are taken before vLLM starts; a display on the card takes 0.3 to 1.3 GiB")
    if card.mig:
        said.append("one MIG slice is one device: tensor parallelism across slices has no peer access")
    return tuple(said)


def local_card() -> tuple[Card, int] | Unknown:
    """This machine's GPUs as its own ``nvidia-smi`` lists them, and how many: of several kinds, the smallest.

    Runs one program with a time limit; call it only when the user asks for the local card.
    """
    import subprocess

    command = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        return Unknown(f"nvidia-smi could not be run: {error}")
    if done.returncode != 0:
        said = (done.stdout + done.stderr).strip().splitlines()
        return Unknown(f"nvidia-smi failed: {said[0] if said else f'exit code {done.returncode}'}")
    return read_nvidia_smi(done.stdout)


def read_nvidia_smi(listing: str) -> tuple[Card, int] | Unknown:
    """The card and the count from ``nvidia-smi --query-gpu=name,memory.total --format=csv,noheader,nounits``."""
    found: list[Card] = []
    for line in listing.splitlines():
        name, comma, memory = line.rpartition(",")
        if not comma:
            continue
        digits = re.match(r"\s*(\d+)", memory)
        shown = float(digits[1]) * MIB if digits else None
        card = find_card(name.strip())
        if card is None and shown is None:
            return Unknown(f"{name.strip()} is not in the table of cards and nvidia-smi gives no memory for it")
        if card is None or (shown is not None and not _plausible(card, shown)):
            assert shown is not None
            # CUDA on Linux reports 0.2 to 1.1 GiB less than nvidia-smi.
            total = Quantity(shown - 1.1 * GIB, shown * 0.9865, shown)
            facts = card or Card(name.strip(), _vendor(name), total, None)
            card = replace(facts, total=total, ceiling=None)
        found.append(card)
    if not found:
        return Unknown("nvidia-smi lists no GPU")
    return min(found, key=lambda card: card.total.likely), len(found)


def _plausible(card: Card, shown: float) -> bool:
    return card.unified_memory or card.total.low <= shown <= card.total.high + 1.3 * GIB


@cache
def _entries() -> tuple[_Entry, ...]:
    lines = data_text("gpus.jsonl").splitlines()
    return tuple(_entry(json.loads(line)) for line in lines)


def _entry(row: dict[str, Any]) -> _Entry:
    total = Quantity(*(size * MIB for size in row["total"]))
    gap = Quantity(*(size * MIB for size in row["gap"])) if "gap" in row else None
    capability = row.get("capability")
    card = Card(
        name=row["name"],
        vendor=row["vendor"],
        total=total,
        capability=(capability[0], capability[1]) if capability else None,
        arch=row.get("arch", ""),
        unified_memory=bool(row.get("unified")),
        mig="mig" in row,
        ceiling=_ceiling(total, gap) if gap else None,
        marketing_gb=row.get("gb"),
        supports=tuple(row.get("supports", {}).items()),
    )
    return _Entry(card, row, frozenset(row["keys"]), frozenset(row.get("forms", ())))


def name_keys(spellings: Iterable[str]) -> tuple[list[str], list[str]]:
    """The model words and the form factors that some names of one device hold; for building the table."""
    parsed = [_parse(spelling.lower()) for spelling in spellings]
    return sorted({p.key for p in parsed if p.key}), sorted({p.form for p in parsed if p.form})


def _ceiling(total: Quantity, gap: Quantity) -> Quantity:
    shares = (1 - part / total.likely for part in (gap.high, gap.likely, gap.low))
    return Quantity(*(max(0.0, min(1.0, share)) for share in shares))


@cache
def _exact() -> dict[str, Card]:
    """Families and device names, in lower case, dashes as blanks."""
    by_name = {entry.card.name: entry.card for entry in _entries()}
    text = data_text("gpu_families.json")
    names = {_spaced(family): _family(family, [by_name[m] for m in members]) for family, members in json.loads(text).items()}
    for name, card in by_name.items():
        names.setdefault(_spaced(name), card)
    return names


def _spaced(name: str) -> str:
    """Labels write dashes where drivers write blanks."""
    return " ".join(name.lower().replace("-", " ").split())


@cache
def _aliases() -> dict[str, Card]:
    """Names that say nothing by their words (instance types, product lines), in lower case."""
    seen: dict[str, list[Card]] = {}
    for entry in _entries():
        for alias in {alias.lower() for alias in entry.row.get("aliases", ())}:
            seen.setdefault(alias, []).append(entry.card)
    return {alias: _family(alias, cards) for alias, cards in seen.items()}


def _parse(text: str) -> _Wanted:
    """Take a lower-case name apart. Size and form narrow; everything else must match the device's own words."""
    profile = _PROFILE.search(text)
    rest = text[: profile.start()] + " " + text[profile.end() :] if profile else text
    rest = rest.replace("nvidia.com/", " ").replace("amd.com/", " ")
    rest = re.sub(r"\((?:r|tm)\)", " ", rest)
    rest = re.sub(r"[^a-z0-9. ]+", " ", rest)
    memory = _MEMORY.search(rest)
    rest = _MEMORY.sub(" ", rest)
    words = [word for word in rest.replace(".", " ").split() if not _NOISE.fullmatch(word)]
    form = next((_FORMS[word] for word in words if word in _FORMS), None)
    words = [word for word in words if word not in _FORMS]
    key = "".join(words)
    return _Wanted(
        key=key.removesuffix("nvl") if key.startswith("h") else key,
        gigabytes=float(memory[1]) if memory else None,
        form="nvl" if key.startswith("h") and key.endswith("nvl") else form,
        profile=f"{profile[1]}g.{profile[2]}gb" if profile else None,
        wsl="wsl" in text.replace("-", " "),
    )


def _matching(wanted: _Wanted) -> list[_Entry]:
    if wanted.profile:
        slices = [e for e in _entries() if e.card.mig and e.card.name.lower().endswith(" " + wanted.profile)]
        if not wanted.key:
            return slices
        parents = {entry.card.name for entry in _matching(replace(wanted, profile=None))}
        return [entry for entry in slices if entry.row["mig"] in parents]
    keys = {wanted.key, *_with_prefix(wanted.key)} if wanted.key else set()
    found = [entry for entry in _entries() if not entry.card.mig and entry.keys & keys]
    if wanted.gigabytes is not None:
        found = [entry for entry in found if _has_size(entry.card, wanted.gigabytes)]
    else:
        # A bracketed addition marks a rare variant that reports the same name: meant only when its size is said.
        found = [entry for entry in found if "(" not in entry.card.name] or found
    if wanted.form:
        found = [entry for entry in found if wanted.form in entry.forms] or [e for e in found if not e.forms]
    return found


def _with_prefix(key: str) -> Iterable[str]:
    """``4090`` is ``rtx4090``; ``rtxa6000`` is ``a6000``."""
    if key[:1].isdigit():
        return (f"rtx{key}", f"gtx{key}", f"rx{key}")
    return (key.removeprefix("rtx"),) if key.startswith("rtxa") else ()


def _has_size(card: Card, gigabytes: float) -> bool:
    if card.marketing_gb is not None and abs(card.marketing_gb - gigabytes) < 0.51:
        return True
    return card.total.low / GIB - 0.6 <= gigabytes <= card.total.high / GIB + 1.3


def _under_wsl(entry: _Entry) -> Card:
    """The card as WSL2 shows it: nvidia-smi's total, and more of it taken before vLLM starts."""
    size = entry.row.get("wsl")
    total = Quantity.exact(size * MIB) if size else Quantity(entry.card.total.low, entry.card.total.likely, entry.card.total.high)
    gap = entry.row.get("wsl_gap", (1.0 * 1024, 1.4 * 1024, 2.0 * 1024))
    return replace(
        entry.card,
        name=f"{entry.card.name} (WSL2)",
        total=total,
        ceiling=_ceiling(total, Quantity(*(part * MIB for part in gap))),
    )


def _family(name: str, cards: Sequence[Card]) -> Card:
    """One card over several: intervals of memory, the lowest capability, only what all of them support."""
    if len(cards) == 1:
        return cards[0]
    totals = [card.total for card in cards]
    capabilities = [card.capability for card in cards]
    known = [capability for capability in capabilities if capability is not None]
    ceilings = [card.ceiling for card in cards if card.ceiling is not None]
    sizes = {card.marketing_gb for card in cards}
    return Card(
        name=name,
        vendor=cards[0].vendor if len({card.vendor for card in cards}) == 1 else "",
        total=Quantity(
            min(total.low for total in totals),
            sorted(total.likely for total in totals)[len(totals) // 2],
            max(total.high for total in totals),
        ),
        capability=min(known) if len(known) == len(capabilities) else None,
        arch=cards[0].arch if len({card.arch for card in cards}) == 1 else "",
        unified_memory=all(card.unified_memory for card in cards),
        mig=all(card.mig for card in cards),
        ceiling=Quantity(
            min(ceiling.low for ceiling in ceilings),
            sorted(ceiling.likely for ceiling in ceilings)[len(ceilings) // 2],
            max(ceiling.high for ceiling in ceilings),
        )
        if len(ceilings) == len(cards)
        else None,
        marketing_gb=sizes.pop() if len(sizes) == 1 else None,
        supports=tuple(item for item in cards[0].supports if all(item in card.supports for card in cards[1:])),
        members=tuple(card.name for card in cards),
    )


def _vendor(name: str) -> str:
    words = name.lower()
    for vendor, marks in (
        ("amd", ("amd", "radeon", "instinct", "gfx", "mi2", "mi3")),
        ("intel", ("intel", "arc ", "gaudi", "hpu")),
        ("google", ("tpu",)),
        ("aws", ("trainium", "inferentia")),
        ("huawei", ("ascend",)),
    ):
        if any(mark in words for mark in marks):
            return vendor
    return "nvidia"
