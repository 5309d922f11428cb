"""Docker compose files: services with their command, environment, devices and volumes.

Interpolation (``${NAME:-default}``) uses the ``.env`` beside the file, as compose does; the ``environment`` of a service does not
take part in it. ``extends`` and an override file's base are followed inside the repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from types import MappingProxyType

from lint_vllm.extract.context import MAX_DEPTH, Follower
from lint_vllm.extract.envfile import read_env_file
from lint_vllm.extract.mounted import with_mounts
from lint_vllm.extract.processes import (
    Expansion,
    Process,
    docker_size,
    integer,
    item_word,
    launches_of,
    missing_parts,
    process_of,
    variable_launches,
    visible_devices,
)
from lint_vllm.extract.processes import words_of as words_of_list
from lint_vllm.extract.references import Expanded, interpolate, split_line
from lint_vllm.extract.shell_values import empty_default, unknown_word
from lint_vllm.extract.visit import Visit
from lint_vllm.extract.yaml_nodes import TEMPLATE, Node, Pair, Scalar, Sequence, parse
from lint_vllm.extract.yaml_nodes import Mapping as MapNode
from lint_vllm.launch import Deployment, EnvVar, GpuRequest, Image, Launch, Mount, Port, Probe, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

_SERVICE_KEYS = {
    *("image", "build", "command", "entrypoint", "environment", "env_file", "volumes", "ports", "deploy", "depends_on", "extends"),
    *("restart", "container_name", "networks", "healthcheck", "profiles", "runtime", "gpus", "shm_size"),
}


def compose(node: MapNode, visit: Visit) -> list[Launch]:
    """The launches of a compose file; nothing for any other mapping."""
    services = node.map("services")
    if services is None or visit.path or not _is_compose(node, services):
        return []
    visit.mark(*(pair.value for _, pair in node))
    project = Project(visit.source, visit.follow, node, visit)
    found: list[Launch] = []
    for name, pair in services:
        if isinstance(pair.value, MapNode):
            found += project.launches(name, pair)
    return found


def _is_compose(node: MapNode, services: MapNode) -> bool:
    if "apiVersion" in node or "kind" in node:
        return False
    bodies = [pair.value for _, pair in services if isinstance(pair.value, MapNode)]
    return any(set(body.entries) & _SERVICE_KEYS for body in bodies)


@dataclass
class Project:
    """One compose file with the files that it names."""

    source: SourceFile
    follow: Follower | None
    root: MapNode
    visit: Visit
    folder: str = ""
    """Folder of the file, relative to that of the linted file."""
    depth: int = 0
    _dotenv: dict[str, Word] | None = field(default=None, repr=False)

    # Values

    def lookup(self, name: str) -> Word | str:
        if self._dotenv is None:
            self._dotenv = self._read_env_file(".env")
        return self._dotenv.get(name) or f"{name} has no value in this file or in .env beside it"

    def expand(self, text: Text) -> Expanded:
        return interpolate(text, self.lookup)

    def word(self, scalar: Scalar | None) -> Word | None:
        return item_word(scalar, self.expand) if scalar is not None else None

    def text(self, scalar: Scalar | None) -> str | None:
        word = self.word(scalar)
        return word.value if word is not None and word.unknown is None else None

    def read(self, path: str) -> SourceFile | None:
        """A file beside the compose file."""
        return (
            self.follow.read(str(PurePosixPath(self.folder) / path)) if self.follow and path and not path.startswith("~") else None
        )

    def _read_env_file(self, path: str) -> dict[str, Word]:
        source = self.read(path)
        return env_file_values(source) if source is not None else {}

    # Services

    def launches(self, name: str, pair: Pair) -> list[Launch]:
        body = pair.value
        assert isinstance(body, MapNode)
        service = Service(self, name, pair, tuple(self._layers(body, name, set())))
        return service.launches()

    def _layers(self, body: MapNode, name: str, seen: set[tuple[str, str]]) -> Iterator[tuple[Project, MapNode]]:
        """The service's own mapping, then those that it extends, nearest first."""
        yield self, body
        extends = body.get("extends")
        base_name = extends.value if isinstance(extends, Scalar) else body.string("extends", "service")
        file = extends.scalar("file") if isinstance(extends, MapNode) else None
        path = self.text(file) if file is not None else None
        if base_name and (file is None or path):
            yield from self._base(base_name, path, seen)
        elif ("image" not in body and "build" not in body) and "override" in PurePosixPath(self.source.path).name:
            for candidate in ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"):
                if self.read(candidate) is not None:
                    yield from self._base(name, candidate, seen)
                    break

    def _base(self, name: str, path: str | None, seen: set[tuple[str, str]]) -> Iterator[tuple[Project, MapNode]]:
        project = self if path is None else self._other(path)
        if project is None or (project.source.path, name) in seen or len(seen) > MAX_DEPTH:
            return
        seen.add((project.source.path, name))
        body = project.root.map("services", name)
        if body is None:
            for included in project._included():
                body = included.root.map("services", name)
                if body is not None:
                    project = included
                    break
        if body is not None:
            yield from project._layers(body, name, seen)

    def _other(self, path: str) -> Project | None:
        source = self.read(path)
        if source is None or self.depth >= MAX_DEPTH:
            return None
        page = parse(Text.of(source))
        root = next((d for d in page.documents if isinstance(d, MapNode)), None)
        folder = str(PurePosixPath(self.folder) / PurePosixPath(path).parent)
        return Project(source, self.follow, root, self.visit, folder, self.depth + 1) if root is not None else None

    def _included(self) -> Iterator[Project]:
        for item in self.root.items("include"):
            paths = (
                [item] if isinstance(item, Scalar) else [item.get("path"), *item.items("path")] if isinstance(item, MapNode) else []
            )
            for node in paths:
                path = self.text(node) if isinstance(node, Scalar) else None
                project = self._other(path) if path else None
                if project is not None:
                    yield project


@dataclass
class Service:
    """One service, seen through everything that it extends."""

    project: Project
    name: str
    pair: Pair
    layers: tuple[tuple[Project, MapNode], ...]

    def find(self, *path: str) -> tuple[Project, Node] | None:
        """The value at a path in the nearest layer that has it."""
        for project, body in self.layers:
            node = body.get(*path)
            if node is not None and not (isinstance(node, Scalar) and node.null):
                return project, node
        return None

    def scalar(self, *path: str) -> tuple[Project, Scalar] | None:
        found = self.find(*path)
        return (found[0], found[1]) if found and isinstance(found[1], Scalar) else None

    def word(self, *path: str) -> Word | None:
        found = self.scalar(*path)
        return found[0].word(found[1]) if found else None

    def launches(self) -> list[Launch]:
        process = self._process()
        env = self._environment()
        image = self._image()
        site = f"services.{self.name}"
        deployment = self._deployment(process, env)
        context = self.project.visit.context(site, self.pair.span)
        follow = with_mounts(context.follow, deployment.mounts)
        context = replace(context, env=env, image=image, deployment=deployment, follow=follow)
        found = launches_of(process, context) if process is not None else []
        if not found and (process is None or process.command is None):
            found = variable_launches(context)
        missing: tuple[str, ...] = ()
        if image is None and self.find("build") is None:
            missing = ("the service has no image here: another compose file completes it",)
        for key in ("command", "entrypoint"):
            own = self.find(key)
            missing += missing_parts(own[1]) if own else ()
        if missing:
            found = [replace(launch, unresolved=(*launch.unresolved, *missing)) for launch in found]
        return found

    def _process(self) -> Process | None:
        entrypoint, command = self._argv("entrypoint"), self._argv("command") or ()
        if not entrypoint and not command:
            return None
        own = self.layers[0][1]
        pairs = [own.pair("entrypoint") if entrypoint else None, own.pair("command") if command else None]
        place = next((p.key.span for p in pairs if p is not None), self.pair.key.span)
        return process_of(pairs, entrypoint or None, command, place)

    def _argv(self, key: str) -> tuple[Word, ...] | None:
        found = self.find(key)
        if found is None:
            return None
        project, node = found
        pair = self.layers[0][1].pair(key)
        if isinstance(node, Sequence):
            return words_of_list(node, project.expand, pair.key if pair else None)
        if isinstance(node, Scalar):
            return split_command(node, project.expand)
        return None

    def _image(self) -> Image | None:
        from lint_vllm.extract.containers import parse_image

        found = self.word("image")
        if found is not None:
            image = parse_image(found.content, found.unknown)
            return image if found.span.contains(image.span) else replace(image, span=found.span, tag_span=None)
        return self._built_image()

    def _built_image(self) -> Image | None:
        """The base image of a Dockerfile that this file builds, when it adds no entry point of its own."""
        from lint_vllm.extract.containers import parse_image

        found = self.find("build")
        if found is None:
            return None
        project, build = found
        folder, name = ".", "Dockerfile"
        if isinstance(build, Scalar):
            folder = project.text(build) or ""
        elif isinstance(build, MapNode):
            folder = project.text(build.scalar("context")) or "."
            name = project.text(build.scalar("dockerfile")) or "Dockerfile"
            if "dockerfile_inline" in build:
                return None
        source = project.read(str(PurePosixPath(folder) / name)) if folder else None
        if source is None:
            return None
        bases = list(_FROM.finditer(source.text))
        if not bases or re.search(r"^[ \t]*ENTRYPOINT\b", source.text[bases[-1].start() :], re.I | re.M):
            return None
        return parse_image(Text.of(source, bases[-1].start("image"), bases[-1].end("image")))

    def _environment(self) -> dict[str, EnvVar]:
        env: dict[str, EnvVar] = {}
        for project, body in reversed(self.layers):
            for path in _env_files(body.get("env_file"), project):
                source = project.read(path)
                env.update(read_env_file(Text.of(source)) if source is not None else {})
            listed = body.get("environment")
            if isinstance(listed, MapNode):
                for name, pair in listed:
                    value = pair.value
                    known = value if isinstance(value, Scalar) and not value.null else None
                    env[name] = EnvVar(pair.key.word, project.word(known), pair.span)
            for item in listed.items if isinstance(listed, Sequence) else []:
                if isinstance(item, Scalar):
                    variable = assignment(item_word(item, project.expand))
                    env[variable.name.value] = variable
        return env

    def _env_complete(self) -> bool:
        for project, body in self.layers:
            if missing_parts(body.get("environment")):
                return False
            listed = body.get("env_file")
            paths = list(_env_files(listed, project))
            if listed is not None and (not paths or any(project.read(path) is None for path in paths)):
                return False
        return True

    def _waits_for_health(self) -> bool:
        found = self.find("depends_on")
        if found is None or not isinstance(found[1], MapNode):
            return False
        return any(isinstance(p.value, MapNode) and p.value.string("condition") == "service_healthy" for _, p in found[1])

    def _deployment(self, process: Process | None, env: Mapping[str, EnvVar]) -> Deployment:
        own = self.layers[0][1]
        profiles = sorted(self.project.text(p) or "" for p in own.items("profiles") if isinstance(p, Scalar))
        shm, memory = self.scalar("shm_size"), self.scalar("mem_limit") or self.scalar("deploy", "resources", "limits", "memory")
        reserved = self.scalar("mem_reservation") or self.scalar("deploy", "resources", "reservations", "memory")
        read_only = own.pair("read_only")
        network = own.pair("network_mode")
        mounts, complete = self._mounts()
        return Deployment(
            kind="compose",
            span=self.pair.span,
            scope="compose" + (":" + ",".join(profiles) if profiles else ""),
            name=self.pair.key.word,
            command=process.command if process else None,
            args=process.args if process else (),
            gpus=tuple(self._gpus(env)),
            shm_size=docker_size(shm[1], shm[0].expand) if shm else None,
            ipc=self.word("ipc"),
            mounts=mounts,
            mounts_complete=complete,
            probes=tuple(self._healthcheck()),
            ports=tuple(self._ports()),
            memory_limit=docker_size(memory[1], memory[0].expand) if memory else None,
            memory_request=docker_size(reserved[1], reserved[0].expand) if reserved else None,
            replicas=integer(self.word("deploy", "replicas")) or integer(self.word("scale")),
            run_as_user=self.word("user"),
            read_only_root=read_only.span if read_only and is_true(read_only.value) else None,
            host_network=network.span if network and self.project.text(_scalar(network.value)) == "host" else None,
            runtime=self.word("runtime"),
            complete=not any(missing_parts(body) for _, body in self.layers),
            env_complete=self._env_complete(),
            profiles=tuple(profiles),
            waits_for_health=self._waits_for_health(),
            edit_points=self._edit_points(),
        )

    def _edit_points(self) -> MappingProxyType[str, Span]:
        own = self.layers[0][1]
        points: dict[str, Span] = {}
        for key, name in (("environment", "env"), ("volumes", "volumes"), ("command", "args"), ("ports", "ports")):
            node = own.get(key)
            if isinstance(node, Sequence) and node.items:
                points[name] = node.items[-1].span
            elif isinstance(node, MapNode) and node.pairs:
                points[name] = node.pairs[-1].span
        if own.pairs:
            first = own.pairs[0].key.span
            points["container"] = Span(first.source, first.start, first.start)
        return MappingProxyType(points)

    def _gpus(self, env: Mapping[str, EnvVar]) -> Iterator[GpuRequest]:
        for project, body in self.layers:
            requests = [*self._reservations(project, body), *self._device_options(project, body)]
            if requests:
                yield from requests
                break
        variable = env.get("NVIDIA_VISIBLE_DEVICES")
        if variable is not None and variable.value is not None and variable.value.unknown is None:
            count, ids = visible_devices(variable.value.value)
            yield GpuRequest("NVIDIA_VISIBLE_DEVICES", variable.span, variable.value.value_span, count, variable.value.value, ids)

    def _reservations(self, project: Project, body: MapNode) -> Iterator[GpuRequest]:
        for item in body.items("deploy", "resources", "reservations", "devices"):
            if isinstance(item, MapNode):
                capabilities = {c.value for c in item.items("capabilities") if isinstance(c, Scalar)}
                if not capabilities or capabilities & {"gpu", "compute", "utility", "tpu", "nvidia-compute"}:
                    yield _device_request("devices", item, project)

    def _device_options(self, project: Project, body: MapNode) -> Iterator[GpuRequest]:
        gpus = body.pair("gpus")
        if gpus is not None:
            if isinstance(gpus.value, Scalar):
                word = item_word(gpus.value, project.expand)
                yield GpuRequest("gpus", gpus.span, word.value_span, integer(word), word.value)
            for item in gpus.value.items if isinstance(gpus.value, Sequence) else []:
                if isinstance(item, MapNode):
                    yield _device_request("gpus", item, project)
        for item in body.items("devices"):
            named = project.word(item) if isinstance(item, Scalar) else None
            device = (
                re.match(r"([\w.-]+/gpu)=(.+)$|/dev/(?:kfd|dri|accel|davinci\d*|dxg|nvidia\d*)", named.value) if named else None
            )
            if named is None or device is None:
                continue
            word = named
            if device.group(1):
                count, ids = visible_devices(device.group(2))
                yield GpuRequest(device.group(1), item.span, word.value_span, count, word.value, ids)
            else:
                yield GpuRequest("devices", item.span, word.value_span, None, word.value)

    def _mounts(self) -> tuple[tuple[Mount, ...], bool]:
        mounts: list[Mount] = []
        complete = True
        for project, body in self.layers:
            complete = complete and not missing_parts(body.get("volumes"))
            for item in body.items("volumes"):
                mount = _short_mount(item_word(item, project.expand)) if isinstance(item, Scalar) else None
                if isinstance(item, MapNode):
                    mount = _long_mount(item, project)
                if mount is None:
                    complete = False
                else:
                    mounts.append(mount)
            tmpfs = body.get("tmpfs")
            for place in tmpfs.items if isinstance(tmpfs, Sequence) else [tmpfs]:
                if isinstance(place, Scalar) and not place.null:
                    mounts.append(Mount(place.value.split(":")[0], place.span, "tmpfs"))
        return tuple(mounts), complete

    def _healthcheck(self) -> Iterator[Probe]:
        found = self.find("healthcheck")
        if found is None or not isinstance(found[1], MapNode):
            return
        project, check = found[0], found[1]
        if (disabled := check.scalar("disable")) is not None and disabled.literal is True:
            return
        fields = {name: word for name, pair in check if isinstance(pair.value, Scalar) and (word := project.word(pair.value))}

        def seconds(name: str, default: float) -> float:
            parsed = duration(fields[name].value) if name in fields and fields[name].unknown is None else None
            return default if parsed is None else parsed

        retries = integer(fields.get("retries"))
        yield Probe(
            "healthcheck",
            check.span,
            MappingProxyType(fields),
            None,
            seconds("start_period", 0),
            seconds("interval", 30),
            seconds("timeout", 30),
            3 if retries is None else retries,
            incomplete=any(word.unknown is not None for word in fields.values()),
        )

    def _ports(self) -> Iterator[Port]:
        for project, body in self.layers:
            for item in body.items("ports"):
                if isinstance(item, MapNode):
                    target, published = project.word(item.scalar("target")), project.word(item.scalar("published"))
                    yield Port(item.span, integer(target), integer(published), project.text(item.scalar("host_ip")))
                elif isinstance(item, Scalar):
                    yield _short_port(item_word(item, project.expand))


def _scalar(node: Node) -> Scalar | None:
    return node if isinstance(node, Scalar) else None


def is_true(node: Node) -> bool:
    return isinstance(node, Scalar) and node.literal is True


_FROM = pattern(r"^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?(?P<image>[^\s$]+)", re.I | re.M)


def split_command(scalar: Scalar, expand: Expansion) -> tuple[Word, ...]:
    """A command in one string, cut into words as compose does: after interpolation, by quotes and blanks."""
    expanded = expand(_without_empty_defaults(scalar.word.content, expand))
    words: list[Word] = []
    for word in split_line(expanded.text):
        if _EMPTY in word.value:
            words += _with_empty_defaults(word, words[-1] if words else None)
            continue
        reason = next((why for place, why in expanded.unknown if _overlaps(word, place.start, place.end)), None)
        if reason is None and scalar.templated and ("{{" in word.value or "{%" in word.value):
            reason = TEMPLATE
        # What stands for the whole word may be divided into several, or be nothing.
        spreads = not word.quote and _REFERENCE.fullmatch(word.value) is not None
        words.append(unknown_word(word.content, word.span, reason, word.quote, spreads=spreads) if reason is not None else word)
    return tuple(words)


_REFERENCE = pattern(r"\$\w+|\$\{[^{}]*\}")
_EMPTY_DEFAULT = pattern(r"\$\{\w+:?-\}")
_EMPTY = "\U0010fffd"
"""Stands for a reference whose default is empty while a line is divided."""


def _without_empty_defaults(text: Text, expand: Expansion) -> Text:
    parts: list[Text] = []
    at = 0
    for found in _EMPTY_DEFAULT.finditer(text.value):
        reference = text[found.start() : found.end()]
        if not expand(reference).text.value:
            parts += [text[at : found.start()], Text.placed(_EMPTY, reference.span)]
            at = found.end()
    return Text.join([part for part in (*parts, text[at:]) if part.value], text[0:0]) if at else text


def _with_empty_defaults(word: Word, before: Word | None) -> list[Word]:
    """A word after its empty references: a script keeps them for the shell, and behind a flag one still is its value."""
    if word.value == _EMPTY:
        flag = before is not None and before.value.startswith("--") and "=" not in before.value
        return [empty_default(word.content, word.span)] if flag else []
    script = re.search(r"\s", word.value) is not None
    parts: list[Text] = []
    for piece in re.finditer(f"{_EMPTY}|[^{_EMPTY}]+", word.value):
        text = word.content[piece.start() : piece.end()]
        if piece.group() != _EMPTY:
            parts.append(text)
        elif script:
            parts.append(Text.of(text.source, text.span.start, text.span.end))
    return [replace(word, content=Text.join(parts, word.content[0:0]))]


def _overlaps(word: Word, start: int, end: int) -> bool:
    return any(left < end and right > start for left, right in zip(word.content.starts, word.content.stops, strict=True))


def _device_request(resource: str, item: MapNode, project: Project) -> GpuRequest:
    ids = tuple(word.value for node in item.items("device_ids") if isinstance(node, Scalar) and (word := project.word(node)))
    count_word = project.word(item.scalar("count"))
    listed = item.get("device_ids")
    if isinstance(listed, Sequence) and ids:
        known = all("$" not in i and "{" not in i for i in ids)
        parts = tuple(part.strip() for i in ids for part in i.split(",") if part.strip())
        return GpuRequest(resource, item.span, listed.span, len(parts) if known else None, ",".join(parts), parts)
    if count_word is not None:
        return GpuRequest(resource, item.span, count_word.value_span, integer(count_word), count_word.value)
    return GpuRequest(resource, item.span, item.span, None, "all")


def _env_files(node: Node | None, project: Project) -> Iterator[str]:
    items = node.items if isinstance(node, Sequence) else [node] if node is not None else []
    for item in items:
        scalar = item.scalar("path") if isinstance(item, MapNode) else item if isinstance(item, Scalar) else None
        path = project.text(scalar) if scalar is not None else None
        if path:
            yield path


def assignment(word: Word) -> EnvVar:
    """``NAME=value`` as an environment variable; a bare name is passed through from outside."""
    at = word.value.find("=")
    if at < 0:
        return EnvVar(word, None, word.span)
    name = replace(word, content=word.content[:at], span=word.content[:at].span, quote="", unknown=None, defined=None)
    content = word.content[at + 1 :]
    return EnvVar(name, replace(word, content=content, span=content.span, quote="", defined=None), word.span)


_ENV_LINE = pattern(r"^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.]*)[ \t]*=[ \t]*(?P<value>[^\r\n]*)", re.M)


def env_file_values(source: SourceFile) -> dict[str, Word]:
    """The variables of a ``.env`` file: quotes are taken off, a comment after a blank ends an unquoted value."""
    values: dict[str, Word] = {}
    for found in _ENV_LINE.finditer(source.text):
        start, end = found.span("value")
        raw = source.text[start:end]
        quote = raw[:1] if raw[:1] in "'\"" else ""
        close = raw.find(quote, 1) if quote else -1
        if quote and close > 0:
            content, place = Text.of(source, start + 1, start + close), source.span(start, start + close + 1)
        else:
            comment = re.search(r"(?:^|\s)#", raw)
            content = Text.of(source, start, start + (comment.start() if comment else len(raw))).strip()
            place = content.span
            quote = ""
        values[found.group("name")] = Word(content, place, quote)
        if len(values) > 5000:
            break
    return values


def _short_mount(word: Word) -> Mount | None:
    """``source:target[:mode]``, ``target``; a Windows drive letter is part of the source."""
    if word.value.startswith("${") and ":" not in word.value.rsplit("}", 1)[-1]:
        return None
    covered = re.sub(r"\$\{[^}]*\}", lambda m: "x" * len(m.group()), word.value)
    covered = re.sub(r"^[A-Za-z]:(?=[\\/])", "xx", covered)
    cuts = [i for i, c in enumerate(covered) if c == ":"]
    pieces = [word.value[a + 1 : b] for a, b in zip([-1, *cuts], [*cuts, len(covered)], strict=True)]
    if len(pieces) == 1:
        return Mount(pieces[0], word.span, "volume")
    source, target = pieces[0], pieces[1]
    mode = pieces[2] if len(pieces) > 2 else ""
    bind = source.startswith((".", "/", "~", "$", "\\")) or bool(re.match(r"[A-Za-z]:[\\/]", source)) or "/" in source
    return Mount(target, word.span, "bind" if bind else "volume", source, read_only="ro" in mode.split(","))


def _long_mount(item: MapNode, project: Project) -> Mount | None:
    target = project.word(item.scalar("target"))
    if target is None:
        return None
    source, kind = project.word(item.scalar("source")), item.string("type") or "volume"
    size = item.scalar("tmpfs", "size")
    size_bytes = docker_size(size, project.expand)
    read_only = item.scalar("read_only")
    return Mount(
        target.value,
        item.span,
        kind if kind in ("bind", "volume", "tmpfs") else "other",
        source.value if source else None,
        size.value if size else None,
        size.word.value_span if size else None,
        read_only=read_only is not None and read_only.literal is True,
        size_bytes=size_bytes.bytes if size_bytes else None,
    )


_PORT = pattern(r"(?:(?P<address>\[[^\]]*\]|[\d.]+):)?(?:(?P<host>\d+)?:)?(?P<container>\d+)(?:/\w+)?$")


def _short_port(word: Word) -> Port:
    found = _PORT.match(word.value) if word.unknown is None else None
    if found is None:
        container = re.search(r":(\d+)(?:/\w+)?$", word.value)
        return Port(word.value_span, int(container.group(1)) if container else None)
    host = found.group("host")
    return Port(word.value_span, int(found.group("container")), int(host) if host else None, found.group("address"))


_DURATION = pattern(r"(\d+(?:\.\d+)?)(h|ms|us|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001, "us": 0.000001}


def duration(value: str) -> float | None:
    """A compose duration (``1m30s``) in seconds."""
    parts = _DURATION.findall(value)
    if not parts or "".join(n + u for n, u in parts) != value.strip():
        return None
    return float(sum(float(number) * _SECONDS[unit] for number, unit in parts))
