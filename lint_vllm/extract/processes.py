"""What all container descriptions have in common: an image, a command, arguments; sizes; the flags that only vLLM has."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

from lint_vllm.extract.context import Context
from lint_vllm.extract.references import Expanded, split_line, with_expansion
from lint_vllm.extract.yaml_nodes import TEMPLATE, Node, Pair, Scalar
from lint_vllm.extract.yaml_nodes import Sequence as ListNode
from lint_vllm.frozen import dataclass
from lint_vllm.launch import ByteSize, Image, Launch, Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

Expansion: TypeAlias = "Callable[[Text], Expanded]"

_ENGINE_IMAGE = pattern(r"vllm", re.I)
_BESIDE_ENGINE = pattern(
    r"router|gateway|proxy|bench|guidellm|simulat|[-/]sim\b|exporter|dashboard|epp\b|endpoint-picker|operator|controller|manager"
    r"|autoscaler|open-?webui|-ui\b|frontend|semantic|client|downloader|loadgen|eval",
    re.I,
)
_OTHER_ENGINE = pattern(
    r"sglang|text-generation-inference|\btgi\b|llama\.?cpp|llama-server|ollama|lmdeploy|tensorrt|trtllm|tritonserver|infinity"
    r"|text-embeddings|tei-|mindie|vox-box|llama-box|mlc-llm|aphrodite|koboldcpp|localai|exllama|tabbyapi",
    re.I,
)


@lru_cache(maxsize=1)
def _telltale_options() -> dict[str, frozenset[str]]:
    """``own``, ``shared`` and ``foreign`` option names (data/telltale_options.json says what they are)."""
    import json

    data = json.loads((Path(__file__).parent.parent / "data" / "telltale_options.json").read_text(encoding="utf-8"))
    return {group: frozenset(data[group]) for group in ("own", "shared", "foreign")}


def option_name(name: str) -> str:
    """An option as the tables name it: no leading dashes, no value, dashes for underscores and humps."""
    bare = re.split(r"[=\s]", name.lstrip("-"), maxsplit=1)[0]
    if "-" not in bare and "_" not in bare:
        bare = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", bare)
    return bare.replace("_", "-").lower()


def proves_vllm(names: Iterable[str], needed: int = 1, *, named: bool = True) -> bool:
    """Whether option names in any spelling belong to vLLM and to nothing else.

    ``needed``: how many names that only vLLM has must be there; where the surroundings say vLLM (``named``), two names that
    other engines have too count as one.
    """
    options = _telltale_options()
    plain = {option_name(name) for name in names}
    if plain & options["foreign"]:
        return False
    return len(plain & options["own"]) + (len(plain & options["shared"]) // 2 if named else 0) >= needed


def is_engine_image(image: Image | None) -> bool:
    """Whether an image is a vLLM server by its name (not a router, client or another engine)."""
    return image is not None and is_engine_name(image.name or image.reference)


def is_engine_name(name: str) -> bool:
    return (
        bool(_ENGINE_IMAGE.search(name)) and not _BESIDE_ENGINE.search(name.rsplit("/", 1)[-1]) and not _OTHER_ENGINE.search(name)
    )


def is_other_engine(name: str) -> bool:
    return bool(_OTHER_ENGINE.search(name)) and not re.search(r"(?:^|/)[^/]*vllm", name)


@dataclass(frozen=True, slots=True)
class Process:
    """What a container starts. ``command`` is ``None`` where the image's own entry point is kept."""

    command: tuple[Word, ...] | None
    args: tuple[Word, ...]
    place: Span
    """The first of the keys that say it."""
    block: Span
    """From that key to the end of the last one."""

    @property
    def words(self) -> tuple[Word, ...]:
        return (self.command or ()) + self.args


def process_of(pairs: Sequence[Pair | None], command: tuple[Word, ...] | None, args: tuple[Word, ...], source_of: Span) -> Process:
    """The process of a command and an argument entry; of entries in another file only those of ``source_of``'s file count."""
    here = [p for p in pairs if p is not None and p.key.span.source is source_of.source and not p.merged]
    here.sort(key=lambda p: p.key.span.start)
    if not here:
        return Process(command, args, source_of, source_of)
    place = here[0].key.span
    end = max(p.span.end for p in here)
    return Process(command, args, place, Span(place.source, place.start, max(end, place.end)))


def launches_of(process: Process, context: Context) -> list[Launch]:
    """The launches of a container's process; those written as list items stand at the key of the list."""
    from lint_vllm.extract.command import image_launch, recognise

    image = context.image
    inside = replace(context, block=process.block)
    found: list[Launch] = []
    if not process.words:
        return []
    if process.command:
        found = recognise(process.words, inside)
        if not found and image is not None and (process.command[0].value.startswith("-") or is_entry_point(image)):
            launch = image_launch(process.words, image, inside)  # other engines than Kubernetes call the arguments command
            found = [launch] if launch else []
        if not found and is_engine_image(image) and _is_own_entry_point(process.command):
            found = passed_on(process, inside, 1)
    elif process.args and not (image is not None and is_other_engine(image.reference)):
        if image is not None and (process.args[0].value.startswith("-") or is_entry_point(image)):
            launch = image_launch(process.args, image, inside)
            found = [launch] if launch else []
        else:
            found = recognise(process.args, inside)
            if not found and image is not None and (launch := image_launch(process.args, image, inside)):
                found = [launch]
        beside = image is not None and _BESIDE_ENGINE.search(image.reference.rsplit("/", 1)[-1])
        if not found and not beside:
            named = is_engine_image(image) or (image is None and "vllm" in context.site.lower())
            found = passed_on(process, inside, 1 if named else 2)
    return _without_alternatives([_at_key(launch, process) for launch in found])


def _without_alternatives(launches: list[Launch]) -> list[Launch]:
    """One launch where the branches of a condition start the same thing, save for a few words (``exec vllm serve [--x] "$@"``).

    Words that only some branches have become conditional.
    """
    kept: list[Launch] = []
    for launch in launches:
        twin = next((k for k in kept if _are_branches(k, launch)), None)
        if twin is None:
            kept.append(launch)
            continue
        longer, shorter = (launch, twin) if len(launch.words) > len(twin.words) else (twin, launch)
        common = {_place(word) for word in shorter.words}
        words = tuple(w if _place(w) in common else replace(w, conditional=True) for w in longer.words)
        kept[kept.index(twin)] = replace(twin, words=words, unresolved=longer.unresolved)
    return kept


def _are_branches(one: Launch, other: Launch) -> bool:
    if one.form != other.form or not one.words or not other.words:
        return False
    places, others = {_place(w) for w in one.words}, {_place(w) for w in other.words}
    if places == others:
        return True
    scopes = [launch.deployment.scope if launch.deployment else "" for launch in (one, other)]
    branched = all("/if" in scope for scope in scopes)
    return branched and (places < others or others < places) and len(places & others) >= 3


def _place(word: Word) -> tuple[str, int, int]:
    return word.value, word.span.start, word.span.end


def passed_on(process: Process, context: Context, needed: int) -> list[Launch]:
    """A launch by a program that is not seen but hands these arguments on, told by the options alone."""
    from lint_vllm.extract.command import launch_of

    flags = [w.value for w in process.args if w.value.startswith("-")]
    if not proves_vllm(flags, needed):
        return []
    return [launch_of("image", process.place, process.args, context, process.block)]


_EXTRA_ARGUMENTS = pattern(r"(?:VLLM|ENGINE|SERVER|MODEL)_(?:\w+_)?(?:ARGS|ARGUMENTS|FLAGS|OPTS|OPTIONS)$")


def variable_launches(context: Context, model: tuple[Word, Word] | None = None) -> list[Launch]:
    """A launch by an image whose start script takes its arguments from the environment.

    Either one variable holds a line of arguments (``VLLM_ADDITIONAL_ARGS``), or the image has a variable for each option.
    ``model``: key and value where the surroundings name one.
    """
    from lint_vllm.extract.command import launch_of
    from lint_vllm.extract.envfile import worker_launch

    for name, variable in context.env.items():
        value = variable.value
        if value is None or value.unknown is not None or not _EXTRA_ARGUMENTS.search(name):
            continue
        words = split_line(value.content) if value.value.lstrip().startswith("-") else []
        flags = [word.value for word in words if word.value.startswith("-")]
        if not flags or not (is_engine_image(context.image) or proves_vllm(flags)):
            continue
        settings = (Setting(model[0], "model", model[1], model[1].value),) if model else ()
        wrapper = "kserve" if name == "VLLM_ADDITIONAL_ARGS" else "environment"
        inside = replace(context, site=f"{context.site} env {name}", block=variable.span)
        return [launch_of("env", value.span, words, inside, variable.span, wrapper=wrapper, settings=settings)]
    if context.image is None or not context.env:
        return []
    found = worker_launch(tuple(context.env.values()), context.image, context)
    return [found] if found is not None else []


def is_entry_point(image: Image | None) -> bool:
    """Whether an image's own entry point is the OpenAI-compatible server of vLLM."""
    from lint_vllm.extract.containers import image_role

    return image is not None and image_role(image) == "server"


def _is_own_entry_point(command: tuple[Word, ...]) -> bool:
    """A start script of the image whose name says vLLM (``/vllm-entrypoint.sh``)."""
    return len(command) == 1 and bool(re.search(r"vllm[\w.-]*\.sh$|entrypoint[\w.-]*\.sh$", command[0].value))


def _at_key(launch: Launch, process: Process) -> Launch:
    if launch.command.source is not process.place.source:
        return launch
    for word in process.words:
        inner = word.content.span
        if word.span.source is launch.command.source and (word.span.contains(launch.command) or inner.contains(launch.command)):
            if max(inner.end - inner.start, word.span.end - word.span.start) > launch.command.end - launch.command.start + 4:
                return (
                    launch
                    if process.block.contains(launch.command)
                    else replace(launch, command=process.place, block=process.block)
                )
            break
    return replace(launch, command=process.place, block=process.block)


def words_of(node: Node | None, expand: Expansion, outer: Node | None = None) -> tuple[Word, ...]:
    """The items of a list as arguments. Items under a template condition that does not cover ``outer`` are conditional."""
    if not isinstance(node, ListNode):
        return ()
    words: list[Word] = []
    for item in node.items:
        if isinstance(item, Scalar):
            word = item_word(item, expand)
            conditional = item.page.conditional(outer or node, item)
            words.append(replace(word, conditional=True) if conditional else word)
        elif isinstance(item, ListNode):  # a list through an alias: Kubernetes would refuse it, charts flatten it
            words.extend(words_of(item, expand, outer))
    return tuple(words)


def item_word(item: Scalar, expand: Expansion) -> Word:
    """A scalar as one argument, after expansion. An empty item is an argument too."""
    word = with_expansion(item.word, expand(item.word.content))
    return word if word.value or word.quote else replace(word, quote='"')


def missing_parts(node: Node | None) -> tuple[str, ...]:
    """Reasons why a list may hold more than can be read: templates that insert items."""
    if node is None:
        return ()
    stop = max(node.end, node.start)
    text = node.page.masked.text
    newline = text.find("\n", stop)
    rest = len(text) if newline < 0 else newline
    regions = [r for r in node.page.masked.overlapping(node.start, rest) if r.inserts]
    following = rest + 1
    while following < len(text):  # a template line directly below the last item
        newline = text.find("\n", following)
        newline = len(text) if newline < 0 else newline
        line = text[following:newline].strip()
        if not line.startswith("#") and line:
            break
        regions += [r for r in node.page.masked.overlapping(following, newline) if r.inserts]
        following = newline + 1
    return tuple(dict.fromkeys(f"{TEMPLATE} {_short(node.page.origin.value[r.start : r.end])}" for r in regions))


def _short(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 60 else flat[:57] + "..."


_QUANTITY = pattern(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z]*)\s*$")
_KUBERNETES_UNITS = {
    "": 1, "m": 0.001, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18,
    "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60,
}  # fmt: skip
_DOCKER_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


def kubernetes_size(scalar: Scalar | None) -> ByteSize | None:
    """A Kubernetes quantity: ``16Gi`` is binary, ``16G`` decimal."""
    if scalar is None:
        return None
    found = None if scalar.templated else _QUANTITY.match(scalar.value)
    factor = _KUBERNETES_UNITS.get(found.group(2)) if found else None
    return ByteSize(scalar.word.value_span, scalar.value, _times(found.group(1), factor) if found and factor is not None else None)


def docker_size(scalar: Scalar | None, expand: Expansion) -> ByteSize | None:
    """A size as Docker reads it: all units are binary (``8g``, ``8gb``, ``8GiB``)."""
    if scalar is None:
        return None
    word = item_word(scalar, expand)
    found = None if word.unknown else _QUANTITY.match(word.value)
    unit = found.group(2).lower().removesuffix("b").removesuffix("i") if found else ""
    power = _DOCKER_UNITS.get(unit)
    return ByteSize(word.value_span, word.value, _times(found.group(1), 2**power) if found and power is not None else None)


def _times(number: str, factor: float) -> int | None:
    try:
        return int(float(number) * factor)
    except (ValueError, OverflowError):
        return None


def integer(word: Word | None) -> int | None:
    """A known whole number, else ``None``."""
    if word is None or word.unknown is not None:
        return None
    try:
        return int(word.value)
    except ValueError:
        return None


def visible_devices(value: str) -> tuple[int | None, tuple[str, ...]]:
    """Count and ids of a ``*_VISIBLE_DEVICES`` value; (``None``, ()) for ``all``."""
    text = value.strip()
    if text.lower() == "all" or not text:
        return None, ()
    if text.lower() in ("none", "void", "-1", "nodevfiles"):
        return 0, ()
    ids = tuple(part.strip() for part in text.split(",") if part.strip())
    return len(ids), ids
