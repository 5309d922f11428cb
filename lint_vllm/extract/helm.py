"""Helm values and custom resources whose own keys become vLLM arguments."""

from __future__ import annotations

from dataclasses import replace

from lint_vllm.extract.keyed import chart_launch, setting_of, settings_of
from lint_vllm.extract.processes import is_engine_name, kubernetes_size, words_of
from lint_vllm.extract.references import Expanded
from lint_vllm.extract.visit import Recogniser, Visit
from lint_vllm.extract.yaml_nodes import Mapping, Pair, Scalar, Sequence
from lint_vllm.launch import Deployment, Launch, Setting, Word


def production_stack(node: Mapping, visit: Visit) -> list[Launch]:
    """``servingEngineSpec.modelSpec[]`` of vllm-project/production-stack: ``vllmConfig`` and its ``extraArgs``."""
    specs = node.get("modelSpec")
    if not isinstance(specs, Sequence):
        return []
    found: list[Launch] = []
    for number, spec in enumerate(specs.items):
        if not isinstance(spec, Mapping) or "modelURL" not in spec or not spec.pairs:
            continue
        visit.mark(spec)
        inside = replace(visit.into("modelSpec", node), path=(*visit.path, "modelSpec", number))
        found.append(_model_spec(spec, node, inside))
    return found


def _model_spec(spec: Mapping, parent: Mapping, visit: Visit) -> Launch:
    config = spec.pair("vllmConfig")
    settings: tuple[Setting, ...] = ()
    words: tuple[Word, ...] = ()
    if config is not None and isinstance(config.value, Mapping):
        own = [pair for name, pair in config.value if name not in ("extraArgs", "v1", "v0")]
        settings = tuple(setting_of(pair, pair.key.page.conditional(config.value, pair.key)) for pair in own)
        words = words_of(config.value.get("extraArgs"), Expanded)
    key = parent.pair("vllmApiKey")
    if key is not None and isinstance(key.value, Scalar):
        settings = (*settings, Setting(key.key.word, "api-key", key.value.word, key.value.literal))
    command = config.key.span if config is not None else spec.pairs[0].key.span
    launch = chart_launch(command, spec.span, spec, visit, settings, words, "production-stack")
    replicas, shm = spec.scalar("replicaCount"), kubernetes_size(spec.scalar("shmSize"))
    deployment = launch.deployment or Deployment("helm", spec.span)
    name = spec.scalar("name")
    return replace(
        launch,
        deployment=replace(
            deployment,
            name=name.word if name else None,
            replicas=int(replicas.value) if replicas and replicas.value.isdigit() else None,
            shm_size=shm,
            memory_request=kubernetes_size(spec.scalar("requestMemory")),
            memory_limit=kubernetes_size(spec.scalar("limitMemory")),
            multi_node=deployment.multi_node or spec.string("raySpec", "enabled") == "true",
        ),
    )


_RUNTIME_OWN = {"modelURL", "hfTokenSecret", "hfTokenName", "enableTool", "enableLoRA", "v1", "env", "extraArgs"}


def vllm_runtime(node: Mapping, visit: Visit) -> list[Launch]:
    """``VLLMRuntime`` of the production stack's operator: options under ``model`` and ``vllmConfig``."""
    model, config = node.pair("model"), node.pair("vllmConfig")
    if model is None or config is None or not isinstance(model.value, Mapping) or "modelURL" not in model.value:
        return []
    visit.mark(node)
    settings: list[Setting] = []
    words: tuple[Word, ...] = ()
    for pair in (model, config):
        if isinstance(pair.value, Mapping):
            settings += [setting_of(entry) for name, entry in pair.value if name not in _RUNTIME_OWN]
            words += words_of(pair.value.get("extraArgs"), Expanded)
    settings = [s for s in settings if s.value is not None and s.value.value]
    return [chart_launch(config.key.span, node.span, node, visit, tuple(settings), words, "production-stack", (model,))]


def kubeai_model(node: Mapping, visit: Visit) -> list[Launch]:
    """A kubeai ``Model`` (or an entry of its chart's catalogue): ``url``, ``engine: VLLM``, ``args``."""
    engine, url = node.scalar("engine"), node.scalar("url")
    if engine is None or url is None or engine.value.upper() != "VLLM":
        return []
    visit.mark(node)
    args = node.pair("args")
    words = words_of(args.value, Expanded, args.key) if args is not None else ()
    place = args.key.span if args is not None and words else node.pairs[0].key.span
    return [chart_launch(place, node.span, node, visit, (), words, "kubeai")]


def backend_runtime(node: Mapping, visit: Visit) -> list[Launch]:
    """llmaz ``BackendRuntime``: one command, several lists of arguments to choose from."""
    configs = node.items("recommendedConfigs")
    if not configs:
        return []
    visit.mark(node)
    command = [item.value for item in node.items("command") if isinstance(item, Scalar)]
    if not any("vllm" in word for word in command) and not is_engine_name(node.string("image") or ""):
        return []
    found: list[Launch] = []
    for number, config in enumerate(configs):
        args = config.pair("args") if isinstance(config, Mapping) else None
        if args is None or not isinstance(config, Mapping):
            continue
        inside = replace(visit.into("recommendedConfigs", node), path=(*visit.path, "recommendedConfigs", number))
        words = words_of(args.value, Expanded, args.key)
        found.append(chart_launch(args.key.span, config.span, config, inside, (), words, "llmaz"))
    return found


def engine_config(node: Mapping, visit: Visit) -> list[Launch]:
    """AIBrix ``ModelClaim``: ``engine: vllm`` and a map (or list) of arguments under ``engineConfig.args``."""
    engine, config = node.scalar("engine"), node.map("engineConfig")
    args = config.pair("args") if config is not None else None
    if engine is None or config is None or args is None or engine.value.lower() != "vllm":
        return []
    visit.mark(config)
    settings = settings_of(args.value) if isinstance(args.value, Mapping) else ()
    words = words_of(args.value, Expanded, args.key)
    return [chart_launch(args.key.span, _pair_of(node, "engineConfig").span, node, visit, settings, words, "aibrix")]


def _pair_of(node: Mapping, name: str) -> Pair:
    pair = node.pair(name)
    assert pair is not None
    return pair


charts: tuple[Recogniser, ...] = (production_stack, vllm_runtime, kubeai_model, backend_runtime, engine_config)
