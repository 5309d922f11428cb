"""Maps and lists of vLLM's options under any program's keys: ``engine_kwargs``, ``serverArgs``, ``extraArgs``, ``vllm:``.

What they belong to is told by the keys around them; the model is looked for in the same object, then further out.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import MappingProxyType

from lint_vllm.extract.compose import split_command
from lint_vllm.extract.processes import is_engine_image, is_other_engine, missing_parts, option_name, proves_vllm, words_of
from lint_vllm.extract.references import Expanded, split_line
from lint_vllm.extract.visit import Visit
from lint_vllm.extract.yaml_nodes import TEMPLATE, Mapping, Node, Pair, Scalar, Sequence, literal
from lint_vllm.launch import Deployment, EnvVar, Form, GpuRequest, Hint, Image, Launch, Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

_OPTION_MAP = pattern(
    r"^(?:vllm|vllm_?config|vllm_?(?:server_?)?args|vllm_?(?:engine|serve|server)?_?(?:kwargs|args|config|params|options)|engine_?kwargs"
    r"|engine_?args|engine_?config|engine|server_?args|serving_?args|extra_?args|serve|llm_?kwargs|model_?args|args)$",
    re.I,
)
_ARGUMENT_LIST = pattern(
    r"(?:^|_|-)(?:args|arguments|flags|cmds?|command|options|opts|params|parameters|server_cmd(?:_template)?)$|(?:Args|Arguments|Flags|Command|Parameters)$",
    re.I,
)
_TRAINING = pattern(
    r"^(?:actor_rollout_ref|rollout|trainer|critic|algorithm|learning_rate|per_device_train_batch_size|reward_model|lora_r|lora_alpha"
    r"|num_train_epochs|grpo|optim|optimizer|dataset|datasets|metrics|tasks|policy)$"
)
_FRAGMENT = pattern(
    r"overrides?$|override_|^features?$|delta|^variants?$|strateg|presets?$|schema|^properties$|recommend|examples?$|report|^opt_in",
    re.I,
)
"""Keys below which options are parts of a catalogue that somebody puts together later, no launch."""
_PLAIN = pattern(
    r"max-model-len|gpu-memory-utilization|tensor-parallel-size|max-num-seqs|max-num-batched-tokens|enforce-eager|^dtype"
)
"""Options whose value is one word: where it is a mapping or a sentence, the keys describe options instead of giving them."""
_MODEL_KEYS = (
    *("modelURL", "modelUrl", "model_source", "model_path", "modelPath", "model", "model_id", "modelId", "modelID", "model_tag"),
    *(
        "model_name_or_path",
        "pretrained",
        "hf_model",
        "huggingface_id",
        "huggingface_repo_id",
        "model_scope_model_id",
        "artifactURL",
        "url",
        "model_name",
        "modelName",
        "MODEL_ID",
        "LLM_MODEL_ID",
        "MODEL_NAME",
    ),
)
_MODEL_PATHS = (
    *(("model_loading_config", "model_source"), ("model_loading_config", "model_id"), ("model", "name"), ("model", "id")),
    *(
        ("model", "path"),
        ("model", "uri"),
        ("model", "huggingfaceId"),
        ("model", "model_id"),
        ("model_source", "uri"),
        ("modelArtifacts", "name"),
        ("spec", "model", "uri"),
    ),
    *(("inference", "preset", "name"),),
)


_MEASURES = pattern(r"num-(?:iters|prompts|warmups)|request-rate|dataset-(?:name|path)|(?:input|output)-len$")
"""Options of a benchmark (``vllm bench latency``), which takes the engine's options beside its own."""
_VALUED = {"max-model-len", "gpu-memory-utilization", "tensor-parallel-size", "max-num-seqs", "max-num-batched-tokens"}


def keyed(node: Mapping, visit: Visit) -> list[Launch]:
    """The launch that a mapping's entries state by option names alone: maps and lists of options, taken together."""
    if any(_TRAINING.match(str(step)) or _FRAGMENT.search(str(step)) for step in visit.path):
        return []
    maps: list[Pair] = []
    lists: list[tuple[Pair, tuple[Word, ...]]] = []
    several: list[Launch] = []
    for name, pair in node:
        value = pair.value
        if visit.seen(value) or _TRAINING.match(name) or _FRAGMENT.search(name) or is_other_engine(name):
            continue
        if isinstance(value, Mapping):
            if _is_option_map(name, value, node, visit):
                maps.append(pair)
        elif _ARGUMENT_LIST.search(name) and isinstance(value, Sequence) and any(isinstance(i, Sequence) for i in value.items):
            several += _several(pair, value, node, visit)
        elif _ARGUMENT_LIST.search(name) and (words := _arguments(value, visit, _says_vllm(node, visit))):
            lists.append((pair, words))
    if not (maps or lists):
        return several or _served_by_ray(node, visit) or _scattered(node, visit)
    if _serves_something_else(node, visit):
        return several
    visit.mark(*(pair.value for pair in maps), *(pair.value for pair, _ in lists))
    pairs = sorted([*maps, *(pair for pair, _ in lists)], key=lambda pair: pair.key.start)
    settings = tuple(setting for pair in maps for setting in options_of(pair.value))
    words = tuple(word for _, listed in lists for word in listed)
    measured = any(_MEASURES.match(setting.flag) for setting in settings)
    form: Form = "other" if measured else "chart"
    launch = chart_launch(pairs[0].key.span, node.span, node, visit, settings, words, program_of(visit, node), maps, form)
    missing = tuple(reason for pair in pairs for reason in missing_parts(pair.value))
    return [*several, replace(launch, unresolved=(*launch.unresolved, *missing))]


def _several(pair: Pair, value: Sequence, node: Mapping, visit: Visit) -> list[Launch]:
    """A list of argument lists: one launch each."""
    found: list[Launch] = []
    for item in value.items:
        words = _arguments(item, visit, _says_vllm(node, visit)) if isinstance(item, Sequence) else ()
        if isinstance(item, Sequence) and words and not _serves_something_else(node, visit):
            visit.mark(item)
            place = words[0].span
            found.append(chart_launch(place, item.span, node, visit, (), words, program_of(visit, node)))
    return found


def _served_by_ray(node: Mapping, visit: Visit) -> list[Launch]:
    """A model of Ray Serve LLM with no engine options of its own (``llm_configs: [{model_loading_config: ...}]``)."""
    pair = node.pair("model_loading_config")
    if pair is None or not isinstance(pair.value, Mapping) or "llm_configs" not in visit.path or "engine_kwargs" in node:
        return []
    visit.mark(pair.value)
    return [chart_launch(pair.key.span, node.span, node, visit, (), (), "ray-serve")]


def _scattered(node: Mapping, visit: Visit) -> list[Launch]:
    """Options among the other values of a chart that names an image of vLLM (``maxModelLen`` beside ``image``)."""
    if "image" not in node and "repository" not in node:
        return []
    from lint_vllm.extract.kubernetes import image_of
    from lint_vllm.extract.vllm_config import option_names

    pairs = [p for name, p in node if isinstance(p.value, Scalar) and option_name(name) in option_names() and not p.value.null]
    pairs = [p for p in pairs if option_name(p.key.name) not in ("port", "host")]
    if len(pairs) < 2 or not proves_vllm([p.key.name for p in pairs]) or not is_engine_image(image_of(node)):
        return []
    if any(_PLAIN.search(option_name(p.key.name)) and _describes(p.value) for p in pairs):
        return []
    settings = tuple(setting_of(pair, pair.key.page.conditional(node, pair.key)) for pair in pairs)
    return [chart_launch(pairs[0].key.span, node.span, node, visit, settings, (), program_of(visit, node))]


def _says_vllm(node: Mapping, visit: Visit) -> bool:
    """Whether the keys above or the image of an object name vLLM."""
    image = node.get("image") or visit.nearest("image")
    named = image.value if isinstance(image, Scalar) else (image.string("repository") or "") if isinstance(image, Mapping) else ""
    steps = [str(step) for step in visit.path] + [name for name, _ in node]
    return any("vllm" in step.lower() for step in steps) or "vllm" in named.lower() or _engine(node, visit) == "vllm"


def _is_option_map(name: str, value: Mapping, node: Mapping, visit: Visit) -> bool:
    keys = [key for key, _ in value]
    if any(_PLAIN.search(option_name(k)) and _describes(p.value) for k, p in value) or _has_options_inside(value):
        return False
    if any(_TRAINING.match(key) for key in keys):
        return False
    dashed = any(key.startswith("--") for key in keys)
    named = bool(_OPTION_MAP.match(name))
    if named and "vllm" in name.lower() and dashed and proves_vllm([*keys, "max-model-len"]):
        return True
    return proves_vllm(
        keys, 1 if named or dashed else 3, named=_says_vllm(node, visit) or "vllm" in name.lower() or "engine" in name
    )


def _describes(value: Node) -> bool:
    """Whether something says about an option in words or entries what values it had: a schema, a record of a measurement."""
    if isinstance(value, Mapping):
        return True
    return isinstance(value, Scalar) and not value.templated and value.value.strip().count(" ") > 1 and "$" not in value.value


def _has_options_inside(value: Mapping) -> bool:
    """Whether a mapping is only the shell of another one that holds the options."""
    return any(isinstance(p.value, Mapping) and _OPTION_MAP.match(k) and proves_vllm([n for n, _ in p.value]) for k, p in value)


def _engine(node: Mapping, visit: Visit) -> str | None:
    """The engine that an object or its surroundings name, in lower case."""
    for parent in (node, *reversed(visit.parents[-3:])):
        for path in (("engine",), ("engine", "type"), ("backend",), ("inference_engine",), ("engineName",), ("framework",)):
            found = parent.scalar(*path)
            if found is not None and not found.templated:
                return "vllm" if "vllm" in found.value.lower() else found.value.lower()
    return None


def _serves_something_else(node: Mapping, visit: Visit) -> bool:
    """Whether an object or its surroundings name another engine."""
    engine = _engine(node, visit)
    if engine is not None and is_other_engine(engine):
        return True
    steps = [str(step) for step in visit.path[-3:]]
    return any(is_other_engine(step) for step in steps) and not any("vllm" in step.lower() for step in steps)


def _arguments(value: Node, visit: Visit, named: bool) -> tuple[Word, ...]:
    """The words of a list (or of one string) when they are vLLM's options and no command."""
    if isinstance(value, Scalar):
        flags = re.findall(r"(?<![\w-])--?[A-Za-z][\w-]*", value.value)
        if not value.value.lstrip().startswith("-") or not proves_vllm(flags, 1, named=named):
            return ()
        return split_command(value, Expanded)
    words = words_of(value, _left_open)
    if not words or not proves_vllm([w.value.split()[0] for w in words if w.value.startswith("-")], 1, named=named):
        return ()
    if not words[0].value.startswith(("-", "$", "{")) and "/" not in words[0].value:
        return ()
    values = [word.value for word in words] + ["-"]
    if any(option_name(w) in _VALUED and "=" not in w and after.startswith("-") for w, after in itertools.pairwise(values)):
        return ()  # names of options alone: what somebody may set
    if any(" " in w.value.strip() and w.value.startswith("--") and "{" not in w.value for w in words):
        return tuple(part for w in words for part in (split_line(w.content) if w.value.startswith("-") else [w]))
    return words


_REFERENCE = pattern(r"\$\w+|\$\{[^{}\n]+\}|\$\([A-Z][A-Z0-9_]*\)")


def _left_open(text: Text) -> Expanded:
    """A value in which a reference is left for somebody else to fill in."""
    found = () if text.value.lstrip().startswith(("{", "[")) else tuple(_REFERENCE.finditer(text.value))
    unknown = tuple((text[m.start() : m.end()].span, f"{m.group()} is filled in elsewhere") for m in found)
    return Expanded(text, unknown)


def options_of(node: Node) -> tuple[Setting, ...]:
    """The settings of a map of options. Where a map holds other things too, only what vLLM has an option for."""
    if not isinstance(node, Mapping):
        return ()
    from lint_vllm.extract.vllm_config import option_names

    every = settings_of(node)
    known = tuple(s for s in every if s.flag in option_names() or s.flag.removeprefix("no-") in option_names())
    return every if len(every) - len(known) <= max(1, len(every) // 4) else known


def chart_launch(
    command: Span, block: Span, node: Mapping, visit: Visit, settings: tuple[Setting, ...], words: tuple[Word, ...], wrapper: str,
    maps: Iterable[Pair] = (), form: Form = "chart",
) -> Launch:  # fmt: skip
    """A launch by keys, with the model, image, environment and devices that the object around it names."""
    has_model = any(s.flag in ("model", "model-tag") for s in settings) or any(
        w.value == "--model" or w.value.startswith("--model=") for w in words
    )
    if not has_model and words and not words[0].value.startswith("-"):
        has_model = True
    inside = [pair.value for pair in maps if isinstance(pair.value, Mapping)]
    model = next((found for holder in inside if (found := model_in(holder)) is not None), None) or model_near(node, visit)
    if not has_model and model is not None:
        settings = (Setting(model[0], "model", model[1], model[1].value), *(s for s in settings if s.name is not model[0]))
        has_model = True
    settings = (*settings, *_parallel_beside(node, visit, settings, words))
    context = visit.context()
    from lint_vllm.extract.kubernetes import environment, image_of

    env: dict[str, EnvVar] = {**context.env, **environment(node, visit)}
    image: Image | None = image_of(node) or context.image
    return Launch(
        source=visit.source,
        form=form,
        site=visit.site or "values",
        command=command,
        block=Span(block.source, min(block.start, command.start), max(block.end, command.end)),
        words=words,
        settings=settings,
        env=MappingProxyType(env),
        image=image,
        hints=(*context.hints, *accelerator_hints(node, visit)),
        deployment=context.deployment
        or Deployment("helm", node.span, f"{wrapper}:{node.span.start}", gpus=tuple(gpu_counts(node, visit))),
        wrapper=wrapper,
        unresolved=() if has_model else ("the model is given elsewhere",),
        passage=context.passage,
    )


def settings_of(node: Mapping) -> tuple[Setting, ...]:
    """The entries of a mapping of options."""
    return tuple(setting_of(pair, pair.key.page.conditional(node, pair.key)) for _, pair in node)


def setting_of(pair: Pair, conditional: bool = False) -> Setting:
    return Setting(pair.key.word, option_name(pair.key.value), value_word(pair.value), literal(pair.value), conditional)


def value_word(node: Node) -> Word | None:
    """A value as one argument: a list or mapping becomes JSON, as vLLM's own reader of configurations does."""
    if isinstance(node, Scalar):
        return None if node.null else node.word
    templated = node.page.masked.overlapping(node.start, node.end)
    if isinstance(node, Sequence) and all(isinstance(item, Scalar) for item in node.items):
        text = " ".join(item.value for item in node.items if isinstance(item, Scalar))
    else:
        text = json.dumps(literal(node), ensure_ascii=False, default=str)
    return Word(Text.placed(text, node.span), node.place, "", TEMPLATE if templated else None)


def model_in(node: Mapping) -> tuple[Word, Word] | None:
    """The key and the value that name the model in one object."""
    for path in _MODEL_PATHS:
        if (found := node.scalar(*path)) is not None and _is_model(found):
            return _key_word(node, path), model_word(found)
    for key in _MODEL_KEYS:
        if (found := node.scalar(key)) is not None and _is_model(found):
            return _key_word(node, (key,)), model_word(found)
    return None


def model_near(node: Mapping, visit: Visit) -> tuple[Word, Word] | None:
    """The model that an object names, or the objects around it, or another document of the file."""
    for parent in (node, *reversed(visit.parents)):
        if (found := model_in(parent)) is not None:
            return found
    for document in visit.all_documents:
        for path in (("inference", "preset", "name"), ("spec", "model", "uri")):
            if isinstance(document, Mapping) and (named := document.scalar(*path)) is not None:
                return _key_word(document, path), model_word(named)
    return None


def _is_model(scalar: Scalar) -> bool:
    return bool(scalar.value.strip()) and "\n" not in scalar.value and not scalar.value.startswith(("http://", "https://"))


def _key_word(parent: Mapping, path: tuple[str, ...]) -> Word:
    holder = parent.map(*path[:-1]) if len(path) > 1 else parent
    pair = holder.pair(path[-1]) if holder is not None else None
    assert pair is not None
    return pair.key.word


_SCHEME = pattern(r"^(?:hf|huggingface)://(?P<id>[^?#:]+)|^pvc\+hf://[^/]+/(?P<mounted>[^?#]+)")


def model_word(scalar: Scalar) -> Word:
    """A model as vLLM would name it: the scheme of the hub is taken off."""
    word = scalar.word
    found = _SCHEME.match(word.value)
    if found:
        name = found.lastgroup or "id"
        return replace(word, content=word.content[found.start(name) : found.end(name)])
    return word


_PARALLEL = {
    "tp_size": "tensor-parallel-size",
    "pp_size": "pipeline-parallel-size",
    "tpSize": "tensor-parallel-size",
    "ppSize": "pipeline-parallel-size",
}


def _parallel_beside(node: Mapping, visit: Visit, settings: tuple[Setting, ...], words: tuple[Word, ...]) -> Iterator[Setting]:
    """Parallel sizes that a chart keeps with the model (``model.tp_size``)."""
    given = {s.flag for s in settings} | {option_name(w.value) for w in words if w.value.startswith("-")}
    for parent in (node, *reversed(visit.parents)):
        model = parent.map("model")
        for key, flag in _PARALLEL.items():
            pair = model.pair(key) if model is not None else None
            if pair is not None and isinstance(pair.value, Scalar) and flag not in given:
                yield Setting(pair.key.word, flag, pair.value.word, pair.value.literal)
        if model is not None:
            return


_PROGRAMS = (
    (re.compile(r"engine_?kwargs|llm_?configs|serveConfig", re.I), "ray-serve"),
    (re.compile(r"modelSpec|servingEngineSpec"), "production-stack"),
    (re.compile(r"engineConfig|ModelClaim"), "aibrix"),
    (re.compile(r"inference_config"), "kaito"),
)


def program_of(visit: Visit, node: Mapping) -> str:
    """The program whose keys these are, as far as the surroundings tell."""
    steps = " ".join(str(step) for step in visit.path) + " " + " ".join(name for name, _ in node)
    outside = visit.outside.site if visit.outside is not None else ""
    for sign, program in _PROGRAMS:
        if sign.search(steps) or sign.search(outside):
            return program
    return "values"


def accelerator_hints(node: Mapping, visit: Visit) -> Iterator[Hint]:
    """Typed requests for an accelerator in the object or around it."""
    for parent in (node, *reversed(visit.parents[-4:])):
        for key, kind in (("accelerator_type", "ray"), ("resourceProfile", "kubeai-profile"), ("instanceType", "kaito-instance")):
            if (found := parent.scalar(key)) is not None:
                profile, _, count = found.value.partition(":")
                name = profile if kind == "kubeai-profile" else found.value
                yield Hint(kind, name, found.word.value_span, int(count) if count.isdigit() and kind == "kubeai-profile" else None)
        if (found := parent.scalar("accelerator", "type")) is not None:
            yield Hint("accelerator-label", found.value, found.word.value_span)
    for document in visit.all_documents:
        instance = document.scalar("resource", "instanceType") if isinstance(document, Mapping) else None
        if instance is not None:
            yield Hint("kaito-instance", instance.value, instance.word.value_span)


def gpu_counts(node: Mapping, visit: Visit) -> Iterator[GpuRequest]:
    """Counts of devices that a chart asks for by a key of its own."""
    from lint_vllm.extract.kubernetes import gpu_requests

    yield from gpu_requests(node, {})
    for parent in (node, *reversed(visit.parents[-3:])):
        for path in (("requestGPU",), ("gpus",), ("job", "gpus"), ("gpuCount",), ("num_gpus",)):
            found = parent.scalar(*path)
            holder = parent.map(*path[:-1]) if len(path) > 1 else parent
            if found is not None and holder is not None and (pair := holder.pair(path[-1])) is not None:
                count = int(found.value) if found.value.isdigit() else None
                kind = parent.string("requestGPUType") or ("nvidia.com/gpu" if path[0] == "requestGPU" else path[-1])
                yield GpuRequest(kind, pair.span, found.word.value_span, count, found.value)
                return
        profile = parent.scalar("resourceProfile")
        if profile is not None and profile.value.partition(":")[2].isdigit():
            yield GpuRequest(
                "resourceProfile", profile.span, profile.word.value_span, int(profile.value.partition(":")[2]), profile.value
            )
            return
