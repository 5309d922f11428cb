"""Launches in structured data of any syntax (JSON, HCL, Nix, TOML, Python literals): containers, commands, option variables.

The carriers turn their syntax into this small tree; what a container looks like is decided here, once, by a table of the
names that its parts go by in ECS, SageMaker, Vertex AI, Nomad, Terraform, NixOS, RunPod, dev containers and plain Kubernetes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

from lint_vllm.extract.context import MAX_DEPTH, Context
from lint_vllm.extract.option_env import option_launch
from lint_vllm.extract.passages import with_unknown
from lint_vllm.extract.processes import Process, launches_of
from lint_vllm.extract.shell_values import part, pieces_of
from lint_vllm.frozen import dataclass
from lint_vllm.launch import ByteSize, Deployment, EnvVar, GpuRequest, Hint, Image, Launch, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value. ``literal`` has its type where the syntax has types; a script keeps its line breaks in the word."""

    word: Word
    literal: object = None
    tree: Tree | None = None
    """What the text encodes (``jsonencode({...})``)."""

    @property
    def span(self) -> Span:
        return self.word.span


@dataclass(frozen=True, slots=True)
class Seq:
    span: Span
    items: tuple[Tree, ...] = ()
    open: str | None = None
    """Why the list may hold more than ``items``."""


@dataclass(frozen=True, slots=True)
class Pair:
    key: Word
    value: Tree
    span: Span
    conditional: bool = False


@dataclass(frozen=True, slots=True)
class Map:
    span: Span
    pairs: tuple[Pair, ...] = ()
    open: str | None = None

    def get(self, *names: str) -> Pair | None:
        """The last pair whose key is one of the names, whatever its case, dashes and underscores."""
        wanted = {_plain(n) for n in names}
        return next((p for p in reversed(self.pairs) if _plain(p.key.value) in wanted), None)

    def all(self, *names: str) -> list[Pair]:
        wanted = {_plain(n) for n in names}
        return [p for p in self.pairs if _plain(p.key.value) in wanted]


Tree: TypeAlias = "Leaf | Seq | Map"


def literal_of(node: Tree) -> tuple[object, bool]:
    """The plain value of a tree, and whether it is wholly known."""
    if isinstance(node, Leaf):
        return node.literal, node.word.unknown is None
    if isinstance(node, Seq):
        items = [literal_of(i) for i in node.items]
        return [v for v, _ in items], node.open is None and all(known for _, known in items)
    pairs = [(p.key.value, literal_of(p.value)) for p in node.pairs]
    return {k: v for k, (v, _) in pairs}, node.open is None and all(known for _, (_, known) in pairs)


def _plain(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


IMAGE = ("image", "imageUri", "image_uri", "imageName", "dockerImage", "containerImage", "repository", "uris")
COMMAND = ("command", "entrypoint", "entrypoints", "exec")
ARGUMENTS = ("args", "arguments", "cmd", "containerArgs", "dockerArgs", "dockerStartCmd", "serving_container_args")
ENVIRONMENT = ("env", "environment", "environmentVariables", "envVars", "env_map", "variables", "envs", "containerEnv")
SCRIPT = (
    *("run", "script", "scripts", "setup", "startup_script", "startupScript", "user_data", "userData", "onstart", "commands"),
    *("inline", "postStartCommand", "postCreateCommand", "postAttachCommand", "bash", "start", "preStart", "postStart"),
    *("shell", "cmd"),
    *("cloud_init", "custom_data", "ExecStart", "startup-script", "metadata_startup_script", "user_data_base64", "content", "data"),
)
"""Keys whose text is a shell script or command line."""
_SCRIPT_KEYS = frozenset(n.replace("_", "").replace("-", "").lower() for n in (*SCRIPT, *COMMAND, *ARGUMENTS))
_TASKS = frozenset({"scripts", "tasks", "commands", "targets", "recipes"})
"""Mappings from a name to the command line that it runs."""
_SCRIPT_NAME = pattern(r"(?:command|cmd|script|entrypoint|user_?data)s?$", re.IGNORECASE)
_MEMORY_LIMIT = pattern(r"(\d+(?:\.\d+)?)\s*([kmgtKMGT]i?)?[bB]?$")


def launches_in(tree: Tree, context: Context, key: str = "") -> list[Launch]:
    """Every launch below a node; ``key`` is the name under which it stands."""
    found: list[Launch] = []
    _Walk(context, found).visit(tree, key)
    return found


@dataclass
class _Walk:
    context: Context
    found: list[Launch]

    def visit(self, node: Tree, key: str) -> None:
        if isinstance(node, Map) and (
            (node.get("apiVersion") is not None and node.get("kind") is not None) or _plain(key) == "values"
        ):
            read = yaml_launches(node, self.context)
            self.found += read
            if read:
                return
        if isinstance(node, Map) and node.get("chart") is not None and node.get("values") is None:
            from lint_vllm.extract.helm_set import values_of

            given = values_of(node)
            self.found += yaml_launches(given, self.context) if given is not None else []
        if isinstance(node, Map):
            container = container_launches(node, replace(self.context, site=_site(self.context.site, key)))
            self.found += container.launches
            outer = self.context
            config, env = node.get("config", "serviceConfig"), node.get("env", "environment")
            selector = node.get("nodeSelector")
            if selector is not None and isinstance(selector.value, Map):
                self.context = replace(self.context, hints=self.context.hints + tuple(_selected(selector.value)))
            if config is not None and (gpus := tuple(_devices(node))) and outer.deployment is not None:
                self.context = replace(self.context, deployment=replace(outer.deployment, gpus=gpus))
            if config is not None and env is not None:  # a task of Nomad, a unit of NixOS
                self.context = replace(self.context, env={**outer.env, **environment_of([env])})
            for pair in node.pairs:
                if not any(pair.value is u for u in container.used):
                    self._value(pair, key)
            self.context = outer
        elif isinstance(node, Seq):
            for item in node.items:
                if isinstance(item, Leaf) and item.tree is not None:
                    self.visit(item.tree, key)
                elif isinstance(item, Leaf) and "\n" in item.word.value:
                    self.found += script_launches(item, replace(self.context, site=_site(self.context.site, key)), sure=False)
                elif not isinstance(item, Leaf):
                    self.visit(item, key)

    def _value(self, pair: Pair, key: str) -> None:
        name = pair.key.value
        if isinstance(pair.value, Leaf) and pair.value.tree is not None:
            self.visit(pair.value.tree, name)
        elif isinstance(pair.value, Leaf):
            if _plain(name) in _SCRIPT_KEYS or _SCRIPT_NAME.search(name) or _plain(key) in _TASKS:
                self.found += script_launches(pair.value, replace(self.context, site=_site(self.context.site, name)))
            elif "\n" in pair.value.word.value or "option." in pair.value.word.value:
                self.found += script_launches(pair.value, replace(self.context, site=_site(self.context.site, name)), sure=False)
        elif (
            isinstance(pair.value, Seq)
            and pair.value.items
            and all(isinstance(i, Leaf) and i.tree is None for i in pair.value.items)
        ):
            self.found += list_launches(pair.value, replace(self.context, site=_site(self.context.site, name)), pair, name)
        else:
            self.visit(pair.value, name)


def _site(outer: str, name: str) -> str:
    return f"{outer}.{name}" if outer and name else outer or name


@dataclass(frozen=True, slots=True)
class Container:
    launches: tuple[Launch, ...] = ()
    used: tuple[Tree, ...] = ()


def docker_launches(node: Map, context: Context) -> list[Launch]:
    """A container of the Docker API, where ``command`` keeps the image's entry point."""
    return list(container_launches(node, context, keeps_entrypoint=True).launches)


def words_of(node: Tree | None) -> tuple[Word, ...]:
    if isinstance(node, Leaf):
        return (node.word,)
    return tuple(i.word for i in node.items if isinstance(i, Leaf)) if isinstance(node, Seq) else ()


def _command_words(node: Tree | None, context: Context) -> tuple[Word, ...]:
    """A command given as a list, or as one line that the container runtime splits like a shell."""
    if isinstance(node, Leaf):
        from lint_vllm.extract.shell import split_words

        return tuple(split_words(node.word.content, context))
    return words_of(node)


def container_launches(node: Map, context: Context, keeps_entrypoint: bool | None = None) -> Container:
    """The launches of a mapping that describes a container, or the variables of one whose image turns them into options."""
    image_pair = next((p for p in node.pairs if _plain(p.key.value) in _IMAGE_KEYS and isinstance(_first(p.value), Leaf)), None)
    command_pair, args_pair = node.get(*COMMAND), node.get(*ARGUMENTS)
    entry = node.get("entrypoint")
    if entry is not None and args_pair is None and command_pair is not entry:
        command_pair, args_pair = entry, command_pair  # Docker's words: the command is what the entry point is given
    elif entry is not None and args_pair is None and (given := node.get("command")) is not None:
        args_pair = given
    env_pair = node.get(*ENVIRONMENT)
    env = environment_of(node.all(*ENVIRONMENT), node.pairs)
    image = _image(image_pair)
    if image is None and command_pair is None and args_pair is None:
        return Container()
    inside = replace(
        context,
        image=image or context.image,
        env={**context.env, **env},
        deployment=_deployment(node, context, env, command_pair, args_pair),
        hints=context.hints + _hints(node),
    )
    used: list[Tree] = []
    launches: list[Launch] = []
    keys = [p for p in (command_pair, args_pair) if p is not None]
    if keys:
        command: tuple[Word, ...] | None = _command_words(command_pair.value, inside) if command_pair else None
        args = _command_words(args_pair.value, inside) if args_pair else ()
        keeps = _keeps_entrypoint(node) if keeps_entrypoint is None else keeps_entrypoint
        if command is not None and image is not None and args_pair is None and keeps:
            args, command = command, None
        place = min((p.key.span for p in keys), key=lambda s: s.start)
        block = place.to(max((p.value.span for p in keys), key=lambda s: s.end))
        script = command_pair.value if command_pair and not args else None
        options = node.get("extraOptions")
        if options is not None and image is not None and image_pair is not None and command_pair is None:
            launches = _docker_run(options, image_pair, args_pair, inside, place, block)
        elif isinstance(script, Leaf) and "\n" in script.word.value.strip():
            launches = script_launches(script, inside)
        else:
            launches = launches_of(Process(command or None, args, place, block), inside)
        opened = [p.value.open for p in keys if isinstance(p.value, Seq) and p.value.open]
        launches = [with_reasons(launch, opened) for launch in launches]
        if launches:
            used += [p.value for p in keys]
    if not launches and env_pair is not None:
        wrapped = option_launch(list(env.values()), inside, image)
        if wrapped is not None:
            launches = [wrapped]
    if launches:
        used += [p.value for p in node.all(*ENVIRONMENT)]
    return Container(tuple(launches), tuple(used))


_IMAGE_KEYS = {_plain(n) for n in IMAGE}


def _docker_run(options: Pair, image: Pair, arguments: Pair | None, context: Context, place: Span, block: Span) -> list[Launch]:
    """A container described by options of ``docker run``, its image and arguments."""
    from lint_vllm.extract.command import recognise

    program = [Word(Text.placed(word, options.key.span), options.key.span) for word in ("docker", "run")]
    words = [*program, *words_of(options.value), *words_of(_first(image.value)), *(words_of(arguments.value) if arguments else ())]
    found = recognise(words, replace(context, image=None, block=block))
    return [replace(launch, command=place, env={**context.env, **launch.env}) for launch in found]


def _first(node: Tree) -> Tree:
    return node.items[0] if isinstance(node, Seq) and node.items else node


def _keeps_entrypoint(node: Map) -> bool:
    """Docker's ``command`` and ECS's keep the image's entry point; Kubernetes' ``command`` replaces it."""
    docker_like = ("containerDefinitions", "portMappings", "essential", "entryPoint", "ports", "restart", "device_requests", "gpus")
    return node.get(*docker_like) is not None or (
        node.get("image") is not None and node.get("extraOptions", "shm_size") is not None
    )


def _image(pair: Pair | None) -> Image | None:
    if pair is None:
        return None
    leaf = _first(pair.value)
    if not isinstance(leaf, Leaf) or not leaf.word.value or "\n" in leaf.word.value:
        return None
    from lint_vllm.extract.containers import parse_image

    text = leaf.word.content
    if text.value.startswith("docker://"):
        text = text[len("docker://") :]
    image = parse_image(text)
    return replace(image, unknown=leaf.word.unknown) if leaf.word.unknown else image


def environment_of(pairs: Iterable[Pair], siblings: Iterable[Pair] = ()) -> dict[str, EnvVar]:
    """Variables as a map, as ``[{name, value}]`` in any spelling, as ``["K=V"]``, or as repeated blocks."""
    env: dict[str, EnvVar] = {}
    for pair in pairs:
        for variable in _variables(pair.value, pair.span):
            env[variable.name.value] = variable
    return env


def _variables(node: Tree, span: Span) -> Iterator[EnvVar]:
    if isinstance(node, Map):
        name, value = node.get("name", "key"), node.get("value")
        if (
            name is not None
            and isinstance(name.value, Leaf)
            and (value is not None or node.get("valueFrom", "value_from", "valueSource"))
        ):
            word = value.value.word if value is not None and isinstance(value.value, Leaf) else None
            yield EnvVar(name.value.word, word, node.span, "file" if word is not None else "secret")
            return
        for pair in node.pairs:
            if isinstance(pair.value, Leaf):
                yield EnvVar(pair.key, pair.value.word, pair.span)
            elif isinstance(pair.value, Map):
                yield EnvVar(pair.key, None, pair.span, "secret")
    elif isinstance(node, Seq):
        for item in node.items:
            if isinstance(item, Leaf) and "=" in item.word.value:
                yield from _assignment(item)
            elif isinstance(item, Map):
                yield from _variables(item, item.span)


def _assignment(item: Leaf) -> Iterator[EnvVar]:
    at = item.word.value.index("=")
    yield EnvVar(part(item.word, 0, at), part(item.word, at + 1), item.span)


def _deployment(
    node: Map, context: Context, env: Mapping[str, EnvVar], command: Pair | None, args: Pair | None
) -> Deployment | None:
    outer = context.deployment
    gpus = tuple(_gpus(node, env))
    linux = node.get("linuxParameters")
    shm = next((p for m in (node, *(_maps(linux.value) if linux else ())) if (p := m.get("shm_size", "sharedMemorySize"))), None)
    name = node.get("name")
    size = _bytes(shm, mebibytes=True) if shm else None
    return Deployment(
        kind=outer.kind if outer else "other",
        span=node.span,
        scope=outer.scope if outer and outer.scope else f"line {node.span.line}",
        name=name.value.word if name and isinstance(name.value, Leaf) else None,
        command=words_of(command.value) if command else None,
        args=words_of(args.value) if args else (),
        gpus=gpus or (outer.gpus if outer else ()),
        shm_size=size,
        ipc=_word(node.get("ipc_mode", "ipcMode", "ipc")),
        mounts_complete=False,
        replicas=outer.replicas if outer else None,
    )


def _word(pair: Pair | None) -> Word | None:
    return pair.value.word if pair is not None and isinstance(pair.value, Leaf) else None


def _bytes(pair: Pair, mebibytes: bool) -> ByteSize | None:
    word = _word(pair)
    if word is None:
        return None
    found = _MEMORY_LIMIT.match(word.value.strip())
    if not found or word.unknown:
        return ByteSize(word.value_span, word.value, None)
    unit = (found.group(2) or "").lower().rstrip("i")
    power = {"": 20 if mebibytes and _plain(pair.key.value) == "sharedmemorysize" else 0, "k": 10, "m": 20, "g": 30, "t": 40}[unit]
    return ByteSize(word.value_span, word.value, int(float(found.group(1)) * 2**power))


_GPU_KEYS = {"nvidia.com/gpu", "amd.com/gpu", "nvidia_com_gpu"}


def _gpus(node: Map, env: Mapping[str, EnvVar]) -> Iterator[GpuRequest]:
    """GPU counts of ECS, Kubernetes and Docker resource blocks."""
    for pair in node.all("resourceRequirements", "resource_requirements"):
        for item in _maps(pair.value):
            kind, value = item.get("type"), item.get("value")
            if kind and value and (_word(kind) or _EMPTY).value.upper() == "GPU" and isinstance(value.value, Leaf):
                yield _request("resourceRequirements GPU", item.span, value.value.word)
    for pair in node.all("resources"):
        for side in _maps(pair.value):
            for limits in (*side.all("limits"), *side.all("requests")):
                found = [p for m in _maps(limits.value) for p in m.pairs if p.key.value.strip("\"'") in _GPU_KEYS]
                if found and isinstance(found[0].value, Leaf):
                    yield _request(found[0].key.value.strip("\"'"), found[0].span, found[0].value.word)
                    return
    gpus = node.get("gpus", "gpuCount", "gpu_count")
    if gpus and isinstance(gpus.value, Leaf):
        yield _request(gpus.key.value, gpus.span, gpus.value.word)
    devices = env.get("CUDA_VISIBLE_DEVICES")
    if devices and devices.value and devices.value.unknown is None:
        ids = tuple(i.strip() for i in devices.value.value.split(",") if i.strip())
        yield GpuRequest("CUDA_VISIBLE_DEVICES", devices.span, devices.value.value_span, len(ids), devices.value.value, ids)


def _devices(task: Map) -> Iterator[GpuRequest]:
    """``resources { device "nvidia/gpu" { count = 2 } }`` of a Nomad task."""
    for resources in task.all("resources"):
        for inner in _maps(resources.value):
            for device in inner.pairs:
                if re.search(r"(?:^|/)gpu\b", device.key.value) and isinstance(device.value, Map):
                    count = _word(device.value.get("count"))
                    number = count if count is not None else Word(Text.placed("1", device.span), device.span)
                    yield _request(device.key.value, device.span, number)


def _request(resource: str, span: Span, word: Word) -> GpuRequest:
    count = int(word.value) if word.unknown is None and word.value.strip().isdigit() else None
    return GpuRequest(resource, span, word.value_span, count, word.value)


def _maps(node: Tree) -> list[Map]:
    if isinstance(node, Map):
        return [node]
    return [i for i in node.items if isinstance(i, Map)] if isinstance(node, Seq) else []


_EMPTY = Word(Text.literal(""), Text.literal("").span)
_HINT_KEYS = {
    **dict.fromkeys(("instancetype", "instancesku", "machinetype", "vmsize", "size", "mlinstancetype"), "aws-instance"),
    **dict.fromkeys(("acceleratortype", "accelerator", "gputype", "gputypeid"), "accelerator-label"),
}


def _hints(node: Map) -> tuple[Hint, ...]:
    return tuple(hints_of(node.pairs))


def hints_of(pairs: Iterable[Pair]) -> Iterator[Hint]:
    """Instance and accelerator types named by keys of a mapping."""
    for pair in pairs:
        kind = _HINT_KEYS.get(_plain(pair.key.value))
        if kind and isinstance(pair.value, Leaf) and pair.value.word.unknown is None and pair.value.word.value:
            yield Hint(_machine_kind(pair.value.word.value) or kind, pair.value.word.value, pair.value.word.value_span)


_SELECTORS = {
    "gke-accelerator": "gke-accelerator",
    "instance-type": "k8s-instance-type",
    "gpu.product": "k8s-gfd-product",
    "instance-gpu-name": "karpenter-gpu",
}


def _selected(selector: Map) -> Iterator[Hint]:
    """What a node selector says about the card."""
    for pair in selector.pairs:
        kind = next((kind for end, kind in _SELECTORS.items() if pair.key.value.endswith(end)), None)
        if kind and isinstance(pair.value, Leaf) and pair.value.word.unknown is None:
            yield Hint(kind, pair.value.word.value, pair.value.word.value_span)


def _machine_kind(value: str) -> str | None:
    if re.match(r"(?:ml\.)?[a-z]+\d[\w-]*\.(?:\d*x?large|metal)", value):
        return "aws-instance"
    if re.match(r"(?:a2|a3|a4x?|g2|g4|n1)-", value):
        return "gcp-machine"
    if value.startswith("Standard_N"):
        return "azure-vm"
    return None


def list_launches(node: Seq, context: Context, pair: Pair | None = None, name: str = "") -> list[Launch]:
    """A list of words that starts vLLM by itself, or a list of script lines."""
    from lint_vllm.extract.command import recognise

    words = words_of(node)
    if not any("vllm" in w.value for w in words):
        return []
    if any("\n" in w.value.strip() for w in words):
        return [
            x for i in node.items if isinstance(i, Leaf) for x in script_launches(i, context, sure=_plain(name) in _SCRIPT_KEYS)
        ]
    place = pair.key.span if pair else words[0].span
    inside = replace(context, block=place.to(node.span))
    if any(" " in w.value.strip() for w in words) and words[0].value.strip().count(" ") and not words[0].value.startswith("-"):
        found: list[Launch] = []
        for item in node.items:
            if isinstance(item, Leaf):
                found += script_launches(item, inside)
        return found
    launches = recognise(words, inside)
    return [with_reasons(launch, [node.open]) for launch in launches]


def script_launches(leaf: Leaf, context: Context, sure: bool = True) -> list[Launch]:
    """Launches in a text that is a shell script, YAML or ``serving.properties``; ``sure``: its key says that it is run."""
    return word_launches(leaf.word, context, sure)


_COMMAND_LINE = pattern(r"\s*(?:exec |nohup |sudo |env )?(?:vllm serve|(?:docker|podman) run|python3? -m vllm)")


def word_launches(word: Word, context: Context, sure: bool = True) -> list[Launch]:
    value = word.value
    if context.depth >= MAX_DEPTH or ("vllm" not in value.lower() and "option." not in value):
        return []
    inside = context.deeper()
    if re.search(r"^\s*option\.[\w.]+\s*=", value, re.M):
        from lint_vllm.extract.properties import launches_in_properties

        return launches_in_properties(word.content, inside)
    if _looks_like_yaml(value):
        from lint_vllm.extract.yaml_file import launches_in_yaml

        unknown = [(p.span, p.unknown) for p in pieces_of(word) if p.unknown]
        return [with_unknown(launch, unknown) for launch in launches_in_yaml(word.content, inside)]
    if sure or value.lstrip().startswith("#!") or _COMMAND_LINE.match(value):
        return shell_launches(word, inside)
    return []


def shell_launches(word: Word, context: Context) -> list[Launch]:
    """Launches of a script; parts of it that are not known stay pieces of their own."""
    from lint_vllm.extract.shell import launches_in_script, run_script
    from lint_vllm.extract.shell_values import Script

    if word.unknown is None:
        return launches_in_script(word.content, context)
    return run_script(Script.of_pieces(pieces_of(word), word.content[:0]), context)


def _looks_like_yaml(value: str) -> bool:
    head = value.lstrip()
    if head.startswith("#!") and not head.startswith("#cloud-config"):
        return False
    lines = [s for s in (line.strip() for line in head.splitlines()) if s and not s.startswith("#")][:6]
    if len(lines) < 2:
        return False
    return bool(re.match(r"(?:- )?[\"']?[A-Za-z_][\w./-]*[\"']?\s*:(?:\s|$)|---", lines[0])) and any(
        re.match(r"(?:- )?[\"']?[\w./-]+[\"']?\s*:(?:\s|$)|- ", s) for s in lines[1:]
    )


def with_reasons(launch: Launch, reasons: Iterable[str | None]) -> Launch:
    """A launch of which arguments may be missing."""
    new = tuple(dict.fromkeys(r for r in reasons if r and r not in launch.unresolved))
    return replace(launch, unresolved=launch.unresolved + new) if new else launch


def yaml_launches(tree: Tree, context: Context) -> list[Launch]:
    """A Kubernetes object or the values of a chart, written in another syntax."""
    from lint_vllm.extract.yaml_file import launches_in_yaml

    if context.depth >= MAX_DEPTH:
        return []
    parts: list[Text] = []
    unknown: list[tuple[Span, str]] = []
    _write(tree, parts, unknown, 0)
    text = Text.join(parts) if parts else None
    if text is None or "vllm" not in text.value.lower():
        return []
    return [with_unknown(launch, unknown) for launch in launches_in_yaml(text, context.deeper())]


def _write(tree: Tree, parts: list[Text], unknown: list[tuple[Span, str]], depth: int) -> None:
    """The tree as JSON, of which every character of a value keeps its place."""
    span = tree.span
    start, end = span.source.span(span.start, span.start), span.source.span(span.end, span.end)
    if depth > 60:
        parts.append(Text.placed("null", start))
    elif isinstance(tree, Map):
        for number, pair in enumerate(tree.pairs):
            parts.append(Text.placed(", " if number else "{", start if not number else pair.key.content.span))
            parts.append(_quoted(pair.key.content))
            parts.append(Text.placed(": ", pair.key.content.span))
            _write(pair.value, parts, unknown, depth + 1)
        parts.append(Text.placed("}" if tree.pairs else "{}", end))
    elif isinstance(tree, Seq):
        for number, item in enumerate(tree.items):
            parts.append(Text.placed(", " if number else "[", start if not number else item.span))
            _write(item, parts, unknown, depth + 1)
        parts.append(Text.placed("]" if tree.items else "[]", end))
    else:
        unknown += [(p.span, p.unknown) for p in pieces_of(tree.word) if p.unknown]
        bare = not isinstance(tree.literal, str) and tree.word.unknown is None and re.fullmatch(r"[\w.+-]+", tree.word.value)
        parts.append(tree.word.content if bare else _quoted(tree.word.content))


def _quoted(text: Text) -> Text:
    """A JSON string; an escape takes the place of what it stands for."""
    span = text.span
    value = [json.dumps(c)[1:-1] for c in text.value]
    starts = [at for at, written in zip(text.starts, value, strict=True) for _ in written]
    stops = [at for at, written in zip(text.stops, value, strict=True) for _ in written]
    return Text(
        text.source,
        f'"{"".join(value)}"',
        (span.start, *starts, max(span.end, span.start)),
        (span.start, *stops, max(span.end, span.start)),
        span.start,
    )
