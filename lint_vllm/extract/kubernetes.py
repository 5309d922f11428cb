"""Pod specifications, wherever a YAML file holds them: Pod, Deployment, Job, LeaderWorkerSet, KServe, Dynamo, Ray, patches.

Found by shape (``containers`` lists, or a lone mapping with an image or other container fields and a command), not by kind.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

from lint_vllm.extract.compose import split_command
from lint_vllm.extract.context import MAX_DEPTH, Context
from lint_vllm.extract.kustomize import generated_map, mounted_files
from lint_vllm.extract.mounted import MountedFiles
from lint_vllm.extract.processes import (
    Expansion,
    Process,
    integer,
    is_engine_image,
    item_word,
    kubernetes_size,
    launches_of,
    missing_parts,
    passed_on,
    process_of,
    variable_launches,
    visible_devices,
    words_of,
)
from lint_vllm.extract.references import Expanded, expand_kubernetes, interpolate, value_of, with_expansion
from lint_vllm.extract.visit import Visit, name_of
from lint_vllm.extract.workflows import environment_around
from lint_vllm.extract.yaml_nodes import Mapping, Pair, Scalar, Sequence
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, EnvVar, GpuRequest, Hint, Image, Launch, Mount, Port, Probe, Setting, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

_DEVICE = pattern(
    r"(?:nvidia\.com/|amd\.com/)gpu|nvidia\.com/(?:mig-|gpu)|gpu\.intel\.com/|habana\.ai/|google\.com/tpu|aws\.amazon\.com/neuron"
    r"|huawei\.com/|cambricon\.com/|[\w.-]+/[\w.-]*(?:gpu|npu|xpu|vgpu)[\w.-]*$|^gpu$",
    re.I,
)
_NO_COUNT = pattern(r"gpumem|gpucores|gpu-memory|gpu\.memory|vcuda|percentage", re.I)
_CONTAINER_FIELDS = (
    *(
        "image",
        "repository",
        "env",
        "envFrom",
        "resources",
        "volumeMounts",
        "ports",
        "imagePullPolicy",
        "workingDir",
        "securityContext",
    ),
    *("livenessProbe", "readinessProbe", "startupProbe"),
)


@dataclass(frozen=True, slots=True)
class Pod:
    """What all containers of a pod share."""

    spec: Mapping
    scope: str
    kind: str | None
    name: Scalar | None
    hints: tuple[Hint, ...]
    replicas: int | None
    multi_node: bool
    nodes: int | None
    namespace: str | None
    labels: MappingProxyType[str, str]
    containers: int


def pods(node: Mapping, visit: Visit) -> list[Launch]:
    """The launches of a mapping that has ``containers``."""
    if not isinstance(node.get("containers"), Sequence) and not isinstance(node.get("initContainers"), Sequence):
        return []
    pod = pod_at(node, visit)
    found: list[Launch] = []
    for key in ("containers", "initContainers"):
        for number, item in enumerate(node.items(key)):
            if isinstance(item, Mapping) and not visit.seen(item):
                visit.mark(item)
                site = f"{pod.kind or visit.site}{'/' + pod.name.value if pod.name else ''} {key}[{number}]"
                found += container(item, pod, replace(visit.into(key, node), path=(*visit.path, key, number)), site)
    return found


def lone_container(node: Mapping, visit: Visit) -> list[Launch]:
    """A container outside a ``containers`` list: KServe ``model``, Dynamo ``mainContainer``, an Ansible task, a chart's values."""
    if not any(isinstance(node.get(key), (Sequence, Scalar)) for key in ("command", "args", "entrypoint")):
        return []
    if "containers" in node or not any(field in node for field in _CONTAINER_FIELDS):
        return []
    pod = pod_at(node, visit)
    owner = f"{pod.kind}/{pod.name.value} " if pod.kind and pod.name else ""
    found = container(node, pod, visit, f"{owner}{visit.site}")
    if visit.path[-2:] == ("predictor", "model"):  # KServe: added to what the runtime gives
        return [replace(launch, unresolved=(*launch.unresolved, "the serving runtime gives further arguments")) for launch in found]
    return found


def named_service(node: Mapping, visit: Visit) -> list[Launch]:
    """A service of GitLab CI: ``{name: vllm/vllm-openai:v0.9.1, command: [...]}``."""
    from lint_vllm.extract.containers import parse_image

    name = node.scalar("name")
    if name is None or "services" not in visit.path or "image" in node or not isinstance(node.get("command"), Sequence):
        return []
    image = parse_image(name.word.content, name.word.unknown)
    if not is_engine_image(image):
        return []
    env = environment_around(node, visit)
    entry, command = node.pair("entrypoint"), node.pair("command")

    def expand(text: Text) -> Expanded:
        return interpolate(text, lambda variable: value_of(env, variable))

    process = process_of([entry, command], _argv(entry, expand), _argv(command, expand) or (), name.span)
    context = replace(visit.context(), env=env, image=image, deployment=Deployment("other", node.span, f"job:{node.span.start}"))
    found = launches_of(process, context)
    if found:
        visit.mark(*(pair.value for pair in (entry, command) if pair))
    return found


def json_patch(node: Mapping, visit: Visit) -> list[Launch]:
    """``{op: replace, path: /spec/.../args, value: [...]}``: the arguments that a patch gives a container."""
    path, pair = node.string("path") or "", node.pair("value")
    if node.string("op") not in ("add", "replace") or pair is None or not path.endswith(("/args", "/command")):
        return []
    words = words_of(pair.value, lambda text: expand_kubernetes(text, {}), pair.key)
    is_command = path.endswith("/command")
    process = Process(words if is_command else None, () if is_command else words, pair.key.span, pair.span)
    found = launches_of(process, visit.context(path)) if words else []
    if not found and words and not is_command:
        found = passed_on(process, visit.context(path), 1)
    if found:
        visit.mark(pair.value)
    return [
        replace(launch, unresolved=(*launch.unresolved, "the rest of the container is in the patched file")) for launch in found
    ]


def task_container(node: Mapping, visit: Visit) -> list[Launch]:
    """A container of an ECS task definition in YAML (CloudFormation): ``Image``, ``EntryPoint``, ``Command``."""
    if not isinstance(node.get("Image"), Scalar) or not ("Command" in node or "EntryPoint" in node):
        return []
    from lint_vllm.extract.containers import parse_image

    entry, command = _argv(node.pair("EntryPoint"), Expanded), _argv(node.pair("Command"), Expanded) or ()
    if not entry and not command:
        return []
    pairs = [node.pair("EntryPoint"), node.pair("Command")]
    process = process_of(pairs, entry, command, node.span)
    image = node.scalar("Image")
    env: dict[str, EnvVar] = {}
    for item in node.items("Environment"):
        name = item.scalar("Name") if isinstance(item, Mapping) else None
        if name is not None and isinstance(item, Mapping):
            env[name.value] = EnvVar(name.word, _word(item.scalar("Value")), item.span)
    gpus = [
        GpuRequest("ResourceRequirements", item.span, value.word.value_span, integer(value.word), value.value)
        for item in node.items("ResourceRequirements")
        if isinstance(item, Mapping) and item.string("Type") == "GPU" and (value := item.scalar("Value")) is not None
    ]
    context = replace(
        visit.context(),
        env=env,
        image=parse_image(image.word.content, image.word.unknown) if image else None,
        deployment=Deployment("other", node.span, f"task:{node.span.start}", command=entry, args=command, gpus=tuple(gpus)),
    )
    visit.mark(*(pair.value for pair in pairs if pair))
    return launches_of(process, context)


def pod_at(node: Mapping, visit: Visit) -> Pod:
    """The pod whose specification is at a mapping, with what enclosing objects say about it."""
    owner = next((p for p in reversed((*visit.parents, node)) if p.scalar("kind") and ("metadata" in p or "spec" in p)), None)
    chain = (*visit.parents, node)
    kind = owner.string("kind") if owner else None
    nodes = _first_number(tuple(p for p in chain if "leaderTemplate" in p or "workerTemplate" in p), "size")
    multi = kind == "LeaderWorkerSet" or any("leaderTemplate" in p or "workerTemplate" in p or "multinode" in p for p in chain)
    multi = multi and nodes != 1
    multi = multi or any("worker" in p and ("template" in p or "parallelism" in p) for p in chain)
    hints: list[Hint] = []
    for part in (*visit.parents[-4:], node):
        hints += _pod_hints(part)
    if owner is not None:
        hints += _annotation_hints(owner)
    unique = {(h.kind, h.span.start, h.value): h for h in hints}
    containers = [c for c in node.items("containers") if isinstance(c, Mapping)]
    sidecars = [c for c in node.items("initContainers") if isinstance(c, Mapping) and c.string("restartPolicy") == "Always"]
    return Pod(
        spec=node,
        scope=f"{kind or 'pod'}:{node.span.start}",
        kind=kind,
        name=name_of(owner) if owner else None,
        hints=tuple(unique.values()),
        replicas=_first_number(chain, "replicas", "minReplicas"),
        multi_node=multi,
        nodes=nodes,
        namespace=owner.string("metadata", "namespace") if owner else None,
        labels=_pod_labels(node, visit, kind),
        containers=max(len(containers) + len(sidecars), 1),
    )


def _pod_labels(spec: Mapping, visit: Visit, kind: str | None) -> MappingProxyType[str, str]:
    """The labels beside a pod's ``spec``: of the template, or of the pod itself."""
    parent = visit.parents[-1] if visit.parents else None
    beside = parent is not None and parent.get("spec") is spec and ("template" in visit.path or kind == "Pod")
    labels = parent.map("metadata", "labels") if parent is not None and beside else None
    return MappingProxyType({name: pair.value.value for name, pair in labels or () if isinstance(pair.value, Scalar)})


def _first_number(chain: tuple[Mapping, ...], *keys: str) -> int | None:
    """The number of the first of some keys, looked for from the innermost mapping outwards."""
    for parent in reversed(chain):
        for key in keys:
            number = integer(_word(parent.scalar(key)))
            if number is not None:
                return number
    return None


def _is_true(pair: Pair | None) -> bool:
    return pair is not None and isinstance(pair.value, Scalar) and pair.value.literal is True


def _word(scalar: Scalar | None) -> Word | None:
    return scalar.word if scalar else None


def container(node: Mapping, pod: Pod, visit: Visit, site: str) -> list[Launch]:
    """The launches of one container."""
    env = environment(node, visit)

    def expand(text: Text) -> Expanded:
        return expand_kubernetes(text, env)

    image = image_of(node)
    process = process_at(node, expand)
    gpus = gpu_requests(node, env)
    context = replace(
        visit.context(site),
        env=env,
        image=image,
        hints=pod.hints,
        deployment=_deployment(node, pod, visit, process, gpus),
    )
    if context.deployment is not None and context.follow is not None:
        files = mounted_files(visit, context.deployment.mounts)
        context = replace(context, follow=MountedFiles(context.follow, files)) if files else context
    found = launches_of(process, context) if process else []
    if not found and process and image is None:
        found = _huggingface_server(node, process, context)
    if not found and process:
        found = _mounted_script(process, context, visit)
    if not found:
        found = variable_launches(context, served_model(node, visit))
    found = [_with_model(launch, node, visit) for launch in found]
    found = [_with_mounted_config(launch, visit, context) for launch in found]
    keys = [node.pair(key) for key in ("command", "args", "env")]
    missing = tuple(reason for pair in keys[:2] if pair for reason in missing_parts(pair.value))
    if missing:
        found = [replace(launch, unresolved=(*launch.unresolved, *missing)) for launch in found]
    if found:
        visit.mark(*(pair.value for pair in keys if pair))
    return found


def _huggingface_server(node: Mapping, process: Process, context: Context) -> list[Launch]:
    """KServe's Hugging Face runtime (``modelFormat: huggingface``): options of vLLM beside its own ``--model_id``."""
    if (node.string("modelFormat", "name") or "").lower() != "huggingface":
        return []
    from lint_vllm.extract.shell_values import part

    own = next((w for w in process.args if re.match(r"--model[_-]id=", w.value)), None)
    words = tuple(w for w in process.args if w is not own)
    found = passed_on(replace(process, args=words), context, 1)
    if not found or own is None:
        return [replace(launch, form="other", wrapper="kserve") for launch in found]
    at = own.value.index("=")
    model = Setting(part(own, 2, at), "model", part(own, at + 1), own.value[at + 1 :])
    return [replace(found[0], form="other", wrapper="kserve", settings=(model,))]


def process_at(node: Mapping, expand: Expansion) -> Process | None:
    """What a container runs; ``None`` when it says neither command nor arguments."""
    command_pair, args_pair = node.pair("command", "entrypoint"), node.pair("args", "arguments")
    command = _argv(command_pair, expand)
    args = _argv(args_pair, expand) or ()
    if command is None and not args:
        return None
    place = next(p for p in (command_pair, args_pair) if p is not None and (_argv(p, expand)))
    process = process_of([command_pair, args_pair], command, args, place.key.span)
    return replace(process, command=_scripts(command) if command else None, args=_scripts(args, command))


def _argv(pair: Pair | None, expand: Expansion) -> tuple[Word, ...] | None:
    if pair is None:
        return None
    if isinstance(pair.value, Sequence):
        return words_of(pair.value, expand, pair.key) or None
    if isinstance(pair.value, Scalar) and not pair.value.null and pair.value.value.strip():
        whole = item_word(pair.value, expand)
        if "\n" in whole.value.strip() and not whole.value.lstrip().startswith("-"):
            return (whole,)
        return split_command(pair.value, expand) or None
    return None


def _scripts(words: tuple[Word, ...], before: tuple[Word, ...] | None = None) -> tuple[Word, ...]:
    """Words that a shell will read are scripts: references in them are its business, so the word itself is known."""
    out = list(words)
    previous = before[-1].value if before else ""
    for number, word in enumerate(out):
        if word.unknown is not None and (re.fullmatch(r"-\w*c", previous) or "\n" in word.value.strip()):
            out[number] = replace(word, unknown=None)
        previous = word.value
    return tuple(out)


def image_of(node: Mapping) -> Image | None:
    """``image: name:tag``, or the parts that charts use (``repository`` and ``tag``)."""
    from lint_vllm.extract.containers import parse_image

    found = node.get("image")
    if isinstance(found, Scalar) and not found.null:
        return parse_image(found.word.content, found.word.unknown)
    if isinstance(found, Mapping):
        name = found.scalar("repository") or found.scalar("name") or found.scalar("image")
        tag = found.scalar("tag")
        if name is not None:
            image = parse_image(name.word.content, name.word.unknown)
            registry = found.string("registry")
            whole = f"{registry}/{image.name}" if registry else image.name
            if tag is not None and image.tag is None:
                unknown = image.unknown or tag.word.unknown
                reference = f"{whole}:{tag.word.value}"
                return replace(
                    image, reference=reference, name=whole, tag=tag.word.value, tag_span=tag.word.value_span, unknown=unknown
                )
            return replace(image, name=whole)
    repository, tag = node.scalar("repository"), node.scalar("tag")  # the parts lie beside the arguments
    if repository is not None:
        image = parse_image(repository.word.content, repository.word.unknown)
        if tag is not None and image.tag is None:
            return replace(image, reference=f"{image.name}:{tag.value}", tag=tag.value, tag_span=tag.word.value_span)
        return image
    return None


def environment(node: Mapping, visit: Visit) -> dict[str, EnvVar]:
    """The environment of a container; ``$(NAME)`` refers to variables above, config maps of the same file are looked up."""
    env: dict[str, EnvVar] = {}
    for item in node.items("envFrom"):
        if isinstance(item, Mapping):
            name = item.string("configMapRef", "name")
            for data in config_maps(visit, name):
                for key, pair in data:
                    if isinstance(pair.value, Scalar):
                        env[key] = EnvVar(pair.key.word, pair.value.word, pair.span, "configmap")
            env.update(generated_map(visit, name).env)
    listed = node.get("env")
    if isinstance(listed, Mapping):
        for key, pair in listed:
            env[key] = EnvVar(pair.key.word, pair.value.word if isinstance(pair.value, Scalar) else None, pair.span)
        return env
    for item in listed.items if isinstance(listed, Sequence) else []:
        if not isinstance(item, Mapping) or (name_node := item.scalar("name")) is None:
            continue
        value_node = item.get("value")
        source = "file"
        value: Word | None = None
        if isinstance(value_node, Scalar):
            value = with_expansion(value_node.word, expand_kubernetes(value_node.word.content, env))
        elif isinstance(origin := item.get("valueFrom"), Mapping):
            source = next((kind for key, kind in _SOURCES.items() if key in origin), "field")
            if source == "configmap":
                value = _from_config_map(origin, visit)
        env[name_node.value] = EnvVar(name_node.word, value, item.span, source)
    return env


_SOURCES = {"secretKeyRef": "secret", "configMapKeyRef": "configmap", "fieldRef": "field", "resourceFieldRef": "field"}


def _from_config_map(origin: Mapping, visit: Visit) -> Word | None:
    name, key = origin.string("configMapKeyRef", "name"), origin.string("configMapKeyRef", "key")
    for data in config_maps(visit, name):
        if key and (found := data.scalar(key)) is not None:
            return found.word
    generated = generated_map(visit, name).env.get(key or "")
    if generated is not None:
        return generated.value
    return None


def _objects(visit: Visit) -> dict[str, list[Mapping]]:
    """The Kubernetes objects of the same file by their kind, lists opened."""
    memo: dict[str, list[Mapping]] | None = visit.page.memo.get("objects")
    if memo is None:
        memo = {}
        for document in visit.documents:
            listed = document.items("items") if isinstance(document, Mapping) and document.string("kind") == "List" else [document]
            for item in listed:
                if isinstance(item, Mapping) and (kind := item.string("kind")) is not None:
                    memo.setdefault(kind, []).append(item)
        visit.page.memo["objects"] = memo
    return memo


def config_maps(visit: Visit, name: str | None) -> Iterator[Mapping]:
    """The data of the config maps of this name in the same file."""
    memo: dict[str | None, list[Mapping]] | None = visit.page.memo.get("config maps")
    if memo is None:
        memo = {}
        for item in _objects(visit).get("ConfigMap", ()):
            if (data := item.map("data")) is not None:
                memo.setdefault(_map_name(item), []).append(data)
        visit.page.memo["config maps"] = memo
    yield from memo.get(name, ()) if name else ()


def _map_name(document: Mapping) -> str | None:
    found = name_of(document)
    return found.value if found else None


def gpu_requests(node: Mapping, env: dict[str, EnvVar]) -> tuple[GpuRequest, ...]:
    """Devices in ``resources`` (limits win over requests) and in ``NVIDIA_VISIBLE_DEVICES``."""
    found: dict[str, GpuRequest] = {}
    for part in ("limits", "requests"):
        for key, pair in node.map("resources", part) or ():
            if not isinstance(pair.value, Scalar) or not _DEVICE.search(key) or _NO_COUNT.search(key):
                continue
            if key in found:
                again = (*found[key].repeated, pair.value.word.value_span)
                found[key] = replace(found[key], repeated=again)
                continue
            raw = pair.value.value
            count = int(raw) if raw.isdigit() and not pair.value.templated else None
            found[key] = GpuRequest(key, pair.span, pair.value.word.value_span, count, raw, shared="shared" in key)
    return (*found.values(), *_docker_requests(node), *variable_requests(env))


def _docker_requests(node: Mapping) -> Iterator[GpuRequest]:
    """``device_requests`` of the Docker API (Ansible's ``docker_container``): a count of -1 is all."""
    for item in node.items("device_requests"):
        if not isinstance(item, Mapping):
            continue
        ids, count = item.get("device_ids"), item.scalar("count")
        if isinstance(ids, Sequence) and ids.items:
            named = tuple(i.value for i in ids.items if isinstance(i, Scalar))
            yield GpuRequest("device_requests", item.span, ids.span, len(named), ",".join(named), named)
        else:
            number = integer(count.word) if count is not None else None
            place = count.word.value_span if count is not None else item.span
            raw = count.value if count is not None else "all"
            yield GpuRequest("device_requests", item.span, place, number if number is not None and number >= 0 else None, raw)


def variable_requests(env: dict[str, EnvVar]) -> Iterator[GpuRequest]:
    """What the container runtime shows by variable. Those that the process itself reads belong to each launch."""
    variable = env.get("NVIDIA_VISIBLE_DEVICES")
    if variable is not None and variable.value is not None and variable.value.unknown is None:
        count, ids = visible_devices(variable.value.value)
        yield GpuRequest("NVIDIA_VISIBLE_DEVICES", variable.span, variable.value.value_span, count, variable.value.value, ids)


def _deployment(node: Mapping, pod: Pod, visit: Visit, process: Process | None, gpus: tuple[GpuRequest, ...]) -> Deployment:
    spec = pod.spec
    context, pod_context = node.map("securityContext"), spec.map("securityContext")
    read_only = context.pair("readOnlyRootFilesystem") if context else None
    user = (context.scalar("runAsUser") if context else None) or (pod_context.scalar("runAsUser") if pod_context else None)
    non_root = (context.pair("runAsNonRoot") if context else None) or (pod_context.pair("runAsNonRoot") if pod_context else None)
    network = spec.pair("hostNetwork")
    claims = (node.map("resources") or node).pair("claims") or spec.pair("resourceClaims")
    name = node.scalar("name") or pod.name
    mounts, complete = _mounts(node, spec, visit)
    return Deployment(
        kind="pod",
        span=node.span,
        scope=pod.scope,
        name=name.word if name else None,
        resource_kind=pod.kind,
        namespace=pod.namespace,
        labels=pod.labels,
        command=process.command if process else None,
        args=process.args if process else (),
        gpus=gpus,
        ipc=_word(spec.scalar("hostIPC")) if _is_true(spec.pair("hostIPC")) else None,
        mounts=mounts,
        mounts_complete=complete and pod.kind is not None,  # a chart's values say nothing of the pod that its templates make
        probes=tuple(_probes(node)),
        ports=tuple(_ports(node)),
        memory_limit=kubernetes_size(node.scalar("resources", "limits", "memory")),
        memory_request=kubernetes_size(node.scalar("resources", "requests", "memory")),
        ephemeral_storage=kubernetes_size(node.scalar("resources", "limits", "ephemeral-storage")),
        replicas=pod.replicas,
        run_as_user=user.word if user else None,
        run_as_non_root=non_root.span if _is_true(non_root) and non_root else None,
        read_only_root=read_only.span
        if read_only and isinstance(read_only.value, Scalar) and read_only.value.literal is True
        else None,
        host_network=network.span if network and _is_true(network) else None,
        service_links=_word(spec.scalar("enableServiceLinks")),
        services=_services(visit),
        runtime=_word(spec.scalar("runtimeClassName")),
        container_count=pod.containers,
        device_claims=claims.span if claims else None,
        multi_node=pod.multi_node,
        nodes=pod.nodes,
        complete="image" in node and pod.kind is not None and not _inserted_into(node) and not _inserted_into(spec),
        env_complete="envFrom" not in node and not missing_parts(node.get("env")),
        edit_points=edit_points(node, spec),
    )


def _inserted_into(node: Mapping) -> bool:
    """Whether a template adds entries to a mapping, or supplies a whole entry (``resources: {{ toYaml ... }}``)."""
    inserted = any(region.inserts for region in node.page.masked.overlapping(node.start, node.end))
    whole = any(isinstance(p.value, Scalar) and p.value.templated and name in _WHOLE for name, p in node)
    return inserted or whole or bool(missing_parts(node))


_WHOLE = {"resources", "env", "envFrom", "volumeMounts", "volumes", "nodeSelector", "affinity", "securityContext"}


def edit_points(node: Mapping, spec: Mapping | None = None) -> MappingProxyType[str, Span]:
    """Places where a fix may insert.

    ``env``, ``volumeMounts``, ``volumes``, ``args``: the last item, to write another one behind it. ``container`` and ``pod_spec``:
    the empty place before the first key, whose column is the indentation. ``resources``: the entry as it stands.
    """
    points: dict[str, Span] = {}
    for key, holder in (("env", node), ("volumeMounts", node), ("args", node), ("volumes", spec)):
        listed = holder.get(key) if holder else None
        if isinstance(listed, Sequence) and listed.items:
            points[key] = listed.items[-1].span
        elif isinstance(listed, Mapping) and listed.pairs:
            points[key] = listed.pairs[-1].span
    for key, holder in (("container", node), ("pod_spec", spec)):
        if holder is not None and holder.pairs:
            first = holder.pairs[0].key.span
            points[key] = Span(first.source, first.start, first.start)
    resources = node.pair("resources")
    if resources is not None:
        points["resources"] = resources.span
    return MappingProxyType(points)


def _mounts(node: Mapping, spec: Mapping, visit: Visit) -> tuple[tuple[Mount, ...], bool]:
    volumes = {v.string("name"): v for v in spec.items("volumes") if isinstance(v, Mapping)}
    claims = {
        c.string("metadata", "name") for p in visit.parents for c in p.items("volumeClaimTemplates") if isinstance(c, Mapping)
    }
    mounts: list[Mount] = []
    complete = not missing_parts(node.get("volumeMounts")) and not missing_parts(spec.get("volumes"))
    for item in node.items("volumeMounts"):
        target = item.scalar("mountPath") if isinstance(item, Mapping) else None
        if target is None or not isinstance(item, Mapping):
            complete = False
            continue
        name = item.string("name")
        volume = volumes.get(name)
        kind, source, size = _volume_kind(volume)
        bytes_ = kubernetes_size(size)
        if volume is None and name in claims:
            kind, source = "pvc", name
        read_only = item.scalar("readOnly")
        mounts.append(
            Mount(
                target.value,
                item.span,
                kind,
                source,
                size.value if size else None,
                size.word.value_span if size else None,
                _definition(volume),
                read_only is not None and read_only.literal is True,
                bytes_.bytes if bytes_ else None,
            )
        )
    return tuple(mounts), complete


def _definition(volume: Mapping | None) -> Span | None:
    """``emptyDir: {}`` of a volume; the whole volume where it says something else."""
    if volume is None:
        return None
    pair = next((pair for name, pair in volume if name != "name"), None)
    return pair.span if pair is not None else volume.span


def _volume_kind(volume: Mapping | None) -> tuple[str, str | None, Scalar | None]:
    """Kind, source and size of a volume."""
    if volume is None:
        return "other", None, None
    if "emptyDir" in volume:
        return (
            ("memory" if volume.string("emptyDir", "medium") == "Memory" else "emptyDir"),
            None,
            volume.scalar("emptyDir", "sizeLimit"),
        )
    if "hostPath" in volume:
        return "hostPath", volume.string("hostPath", "path"), None
    if "persistentVolumeClaim" in volume:
        return "pvc", volume.string("persistentVolumeClaim", "claimName"), None
    if "configMap" in volume:
        return "configMap", volume.string("configMap", "name"), None
    if "secret" in volume:
        return "secret", volume.string("secret", "secretName"), None
    if "ephemeral" in volume or "nfs" in volume:
        return "volume", volume.string("nfs", "path"), None
    return "other", None, None


_PROBE_NUMBERS = ("initialDelaySeconds", "periodSeconds", "timeoutSeconds", "failureThreshold")
_PROBES = (("startup", "startupProbe"), ("liveness", "livenessProbe"), ("readiness", "readinessProbe"))


def _probes(node: Mapping) -> Iterator[Probe]:
    for kind, key in _PROBES:
        pair = node.pair(key)
        if pair is None or not isinstance(pair.value, Mapping):
            continue
        probe = pair.value
        fields = {name: entry.value.word for name, entry in probe if isinstance(entry.value, Scalar)}

        timed = [fields[name] for name in _PROBE_NUMBERS if name in fields]

        def number(name: str, default: float, fields: dict[str, Word] = fields) -> float:
            found = integer(fields.get(name))
            return default if found is None else found

        yield Probe(
            kind,  # type: ignore[arg-type]
            pair.span,
            MappingProxyType(fields),
            probe.string("httpGet", "path"),
            number("initialDelaySeconds", 0),
            number("periodSeconds", 10),
            number("timeoutSeconds", 1),
            int(number("failureThreshold", 3)),
            incomplete=any(integer(word) is None for word in timed) or bool(missing_parts(probe)),
        )


def _ports(node: Mapping) -> Iterator[Port]:
    for item in node.items("ports"):
        if isinstance(item, Mapping):
            yield Port(item.span, integer(_word(item.scalar("containerPort"))), integer(_word(item.scalar("hostPort"))))


def _services(visit: Visit) -> tuple[Word, ...]:
    memo: tuple[Word, ...] | None = visit.page.memo.get("services")
    if memo is None:
        services = [item for item in _objects(visit).get("Service", ()) if (item.string("apiVersion") or "v1") == "v1"]
        memo = tuple(name.word for item in services if (name := name_of(item)) is not None)
        visit.page.memo["services"] = memo
    return memo


@lru_cache(maxsize=1)
def _label_kinds() -> dict[str, str]:
    """Node label -> id of the hint (data/hints.json)."""
    data = json.loads((Path(__file__).parent.parent / "data" / "hints.json").read_text(encoding="utf-8"))
    kinds = {label: str(hint["id"]) for hint in data["hints"] for label in hint.get("labels", ())}
    return {**kinds, "accelerator": "accelerator-label"}


def _pod_hints(spec: Mapping) -> Iterator[Hint]:
    """Node selectors and node affinities that name an accelerator or a machine type."""
    kinds = _label_kinds()
    for key, pair in spec.map("nodeSelector") or ():
        if isinstance(pair.value, Scalar) and (key in kinds or key.startswith("amd.com/gpu.")):
            yield Hint(kinds.get(key, "amd-labels"), pair.value.value, pair.value.word.value_span)
    affinity = spec.map("affinity", "nodeAffinity")
    if affinity is None:
        return
    terms = list(affinity.items("requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms"))
    for item in affinity.items("preferredDuringSchedulingIgnoredDuringExecution"):
        preference = item.get("preference") if isinstance(item, Mapping) else None
        if preference is not None:
            terms.append(preference)
    for term in terms:
        for expression in term.items("matchExpressions") if isinstance(term, Mapping) else ():
            kind = kinds.get(expression.string("key") or "") if isinstance(expression, Mapping) else None
            if kind is None or not isinstance(expression, Mapping) or expression.string("operator") not in ("In", None):
                continue
            for value in expression.items("values"):
                if isinstance(value, Scalar):
                    yield Hint(kind, value.value, value.word.value_span)


def _annotation_hints(owner: Mapping) -> Iterator[Hint]:
    for key, pair in owner.map("metadata", "annotations") or ():
        if key in ("gpu-fraction", "gpu-memory") and isinstance(pair.value, Scalar):
            yield Hint("runai-fraction", pair.value.value, pair.value.word.value_span)


def _mounted_script(process: Process, context: Context, visit: Visit) -> list[Launch]:
    """A script of a config map in the same file that the container mounts and runs."""
    deployment = context.deployment
    if deployment is None or context.depth >= MAX_DEPTH:
        return []
    from lint_vllm.extract.shell import launches_in_script

    text = " ".join(word.value for word in process.words)
    found: list[Launch] = []
    for mount in deployment.mounts:
        if mount.kind != "configMap" or mount.source is None:
            continue
        for data in config_maps(visit, mount.source):
            for key, pair in data:
                if isinstance(pair.value, Scalar) and f"{mount.target.rstrip('/')}/{key}" in text and "vllm" in pair.value.value:
                    site = f"{context.site} {key}"
                    launches = launches_in_script(pair.value.text, context.deeper(site=site, block=pair.span))
                    if launches:
                        visit.mark(pair.value)
                    found += launches
    return found


def _with_mounted_config(launch: Launch, visit: Visit, context: Context) -> Launch:
    """``--config`` that names a key of a config map which the container mounts: its options are settings."""
    from lint_vllm.extract.vllm_config import settings_in

    path = next((after.value for word, after in itertools.pairwise(launch.words) if word.value == "--config"), None)
    path = path or next((w.value.removeprefix("--config=") for w in launch.words if w.value.startswith("--config=")), None)
    if path is None or launch.settings or launch.deployment is None:
        return launch
    for mount in launch.deployment.mounts:
        folder, _, key = path.rpartition("/")
        if mount.kind != "configMap" or mount.target.rstrip("/") != folder:
            continue
        for data in config_maps(visit, mount.source):
            pair = data.pair(key)
            if pair is not None and isinstance(pair.value, Scalar) and (settings := settings_in(pair.value.text)):
                visit.mark(pair.value)
                return replace(launch, settings=settings)
    source = context.follow.read(path) if isinstance(context.follow, MountedFiles) else None
    return replace(launch, settings=settings_in(Text.of(source))) if source is not None else launch


def _with_model(launch: Launch, node: Mapping, visit: Visit) -> Launch:
    """Arguments alone, in an object that names the model elsewhere (llm-d ``modelArtifacts``)."""
    if launch.form != "image" or not launch.words or not launch.words[0].value.startswith("-"):
        return launch
    if any(w.value == "--model" or w.value.startswith("--model=") for w in launch.words):
        return launch
    for parent in reversed((*visit.parents, node)):
        artifacts = parent.map("modelArtifacts")
        pair = artifacts.pair("name", "uri") if artifacts is not None else None
        if pair is not None and isinstance(pair.value, Scalar):
            from lint_vllm.extract.keyed import model_word

            model = model_word(pair.value)
            settings = (Setting(pair.key.word, "model", model, model.value), *launch.settings)
            return replace(launch, form="chart", wrapper="llm-d", settings=settings)
    return launch


def served_model(node: Mapping, visit: Visit) -> tuple[Word, Word] | None:
    """Key and value of the model that an enclosing object names: ``spec.model`` with ``uri: hf://org/name``, else its ``name`` (KServe)."""
    from lint_vllm.extract.keyed import model_word

    for parent in reversed((*visit.parents, node)):
        for path in (("spec", "model"), ("model",)):
            model = parent.map(*path)
            if model is None:
                continue
            uri, name = model.pair("uri", "storageUri"), model.pair("name")
            link = uri.value if uri is not None else None
            if (
                uri is not None
                and isinstance(link, Scalar)
                and (name is None or link.value.startswith(("hf://", "huggingface://")))
            ):
                return uri.key.word, model_word(link)
            if name is not None and isinstance(name.value, Scalar):
                return name.key.word, name.value.word
    return None
