"""Container images and the options of ``docker run``: what they give the process inside."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Literal, cast

from lint_vllm.extract.context import Context
from lint_vllm.extract.mounted import with_mounts
from lint_vllm.extract.shell_values import ShellWord, names, part, pieces_of
from lint_vllm.frozen import dataclass
from lint_vllm.launch import ByteSize, Deployment, EnvVar, GpuRequest, Image, Mount, Port, Word
from lint_vllm.packaged import data_text
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

Role = Literal["server", "command", "other", "unknown"]

_DISTINCTIVE = names(
    "tensor-parallel-size pipeline-parallel-size data-parallel-size max-model-len gpu-memory-utilization max-num-seqs "
    "max-num-batched-tokens served-model-name kv-cache-dtype enforce-eager enable-prefix-caching enable-chunked-prefill "
    "tool-call-parser enable-auto-tool-choice limit-mm-per-prompt swap-space cpu-offload-gb disable-log-requests "
    "guided-decoding-backend speculative-config compilation-config enable-lora max-lora-rank enable-expert-parallel "
    "distributed-executor-backend hf-overrides"
)
"""Options by which a list of arguments is told to be vLLM's, whatever the image is called."""


def parse_image(text: Text, unknown: str | None = None) -> Image:
    """An image reference: ``registry:5000/org/name:tag@sha256:...``; a part that is not known stays as written."""
    value = text.value
    start = len("docker://") if value.startswith("docker://") else 0
    digest_at = value.find("@", start)
    end = len(value) if digest_at < 0 else digest_at
    digest = value[digest_at + 1 :] if digest_at >= 0 else None
    # A colon inside ${TAG:-x} divides nothing: references are covered before the search.
    covered = re.sub(r"\$\{[^}]*\}|\{\{.*?\}\}|\$\w+", lambda m: "x" * len(m.group()), value)
    colon = covered.rfind(":", start, end)
    tag, tag_span = None, None
    name_end = end
    if colon > covered.rfind("/", start, end) and colon > start - 1 and colon >= 0:
        tag, tag_span, name_end = value[colon + 1 : end], text[colon + 1 : end].span, colon
    return Image(text.span, value, value[start:name_end], tag, digest, unknown, tag_span)


def image_of(word: Word) -> Image:
    """The image that a word names; its span is the place of use when the reference is a variable."""
    image = parse_image(word.content, word.unknown)
    return image if word.span.contains(image.span) else replace(image, span=word.span)


@functools.cache
def _images() -> tuple[tuple[re.Pattern[str], Role], ...]:
    data = json.loads(data_text("images.json"))
    return tuple((re.compile(row["match"], re.IGNORECASE), cast(Role, row["entry_point"])) for row in data["images"])


def image_role(image: Image) -> Role:
    """What the image's own entry point does with the words behind it (data/images.json)."""
    return next((role for pattern, role in _images() if pattern.search(image.name)), "unknown")


def is_passed_on(words: Sequence[Word], image: Image, *, sure: bool) -> bool:
    """Whether the words behind an image are arguments of vLLM's server; ``sure``: the image is known to start one."""
    if not words:
        return False
    first = words[0]
    if _is_program(first):
        return False
    if sure:
        return True
    flags = {w.value.lstrip("-").split("=", 1)[0].replace("_", "-") for w in words if w.value.startswith("--")}
    if flags & _DISTINCTIVE:
        return True
    named = "vllm" in image.name.lower()
    return named and ("model" in flags or (first.unknown is None and re.fullmatch(r"[\w.-]+/[\w.-]+", first.value) is not None))


_PROGRAMS = names("bash sh zsh dash ash python python3 vllm serve ray env nohup exec sleep tail nvidia-smi cat ls uv true which")


def _is_program(word: Word) -> bool:
    if word.unknown:
        return False
    value = word.value
    name = value.rsplit("/", 1)[-1]
    if name in _PROGRAMS and not (value.count("/") and not value.startswith(("/", "."))):
        return True
    return value.startswith(("/bin/", "/usr/bin/", "/usr/local/bin/", "/opt/venv/bin/")) or name.endswith((".sh", ".py", ".bash"))


# docker run

_SWITCHES = names(
    "-d --detach --rm -i --interactive -t --tty --init --privileged --read-only -P --publish-all --no-healthcheck "
    "--oom-kill-disable --disable-content-trust -q --quiet --sig-proxy --help --no-hosts --replace --rmi --tls-verify --env-host "
    "--http-proxy --use-api-socket --passwd --unsetenv-all --no-hostname --no-deps --build -T --no-TTY --service-ports "
    "--use-aliases --quiet-pull --remove-orphans -it -ti -dit -itd -dt -td -di -id"
)


@dataclass(frozen=True, slots=True)
class ContainerOptions:
    """What ``docker run`` says: the surroundings of the process inside, and the words behind the image."""

    context: Context
    arguments: tuple[Word, ...]
    entrypoint: Word | None = None


@dataclass(slots=True)
class _Read:
    env: dict[str, EnvVar] = field(default_factory=dict)
    gpus: list[GpuRequest] = field(default_factory=list)
    mounts: list[Mount] = field(default_factory=list)
    ports: list[Port] = field(default_factory=list)
    fields: dict[str, object] = field(default_factory=dict)
    entrypoint: Word | None = None
    detached: bool = False
    complete: bool = True
    env_complete: bool = True


def read_container_options(
    words: Sequence[Word], context: Context, extent: Span, *, exec_only: bool = False
) -> ContainerOptions | None:
    """Options up to the image (or, for ``exec``, up to the container's name); ``None`` when the image is missing."""
    read = _Read()
    at = 0
    while at < len(words):
        word = words[at]
        value = word.value
        if value.startswith("-") and len(value) > 1:
            name, equals, _ = value.partition("=")
            if equals and name.startswith("--"):
                _take(read, name, word, part(word, len(name) + 1), context)
                at += 1
            elif value in _SWITCHES or (not value.startswith("--") and re.fullmatch(r"-[ditqPT]+", value)):
                read.detached = read.detached or value == "--detach" or (not value.startswith("--") and "d" in value)
                if value == "--privileged":
                    read.complete = False
                at += 1
            elif not value.startswith("--") and len(value) > 2 and value[1] in "evpmuwhlcn":
                _take(read, value[:2], word, part(word, 3 if value[2] == "=" else 2), context)
                at += 1
            elif at + 1 < len(words):
                _take(read, value, word, words[at + 1], context)
                at += 2
            else:
                return None
        elif _is_option_list(words, at):
            read.complete = False
            at += 1
        else:
            break
    if at >= len(words):
        return None
    arguments = tuple(words[at + 1 :])
    if exec_only:
        env = {**read.env}
        return ContainerOptions(replace(context, env=MappingProxyType(env)), arguments)
    outer = context.deployment
    scope = (outer.scope if outer else "") or f"line {extent.line}"
    deployment = Deployment(
        "docker-run",
        context.block or extent,
        scope=scope,
        gpus=tuple(read.gpus),
        mounts=tuple(read.mounts),
        mounts_complete=read.complete,
        complete=read.complete,
        env_complete=read.env_complete and read.complete,
        ports=tuple(read.ports),
        command=(read.entrypoint,) if read.entrypoint is not None else None,
        args=arguments,
        multi_node=outer.multi_node if outer else False,
        nodes=outer.nodes if outer else None,
    )
    deployment = replace(deployment, **read.fields)  # type: ignore[arg-type]
    inside = replace(
        context,
        image=image_of(words[at]),
        follow=with_mounts(context.follow, read.mounts),
        env=MappingProxyType(read.env),
        deployment=deployment,
        block=context.block or extent,
    )
    return ContainerOptions(inside, arguments, read.entrypoint)


def _is_option_list(words: Sequence[Word], at: int) -> bool:
    """Whether an unknown word stands for more options rather than for the image."""
    word = words[at]
    if not word.unknown or not (isinstance(word, ShellWord) and word.spreads):
        return False
    if re.search(r"ima?ge?|repo|tag|container", word.value, re.IGNORECASE):
        return False
    for later in words[at + 1 :]:
        if later.unknown and re.search(r"ima?ge?", later.value, re.IGNORECASE):
            return True
        if (
            not later.value.startswith("-")
            and re.fullmatch(r"[\w.-]+(?:/[\w.-]+)+(?:[:@][\w.:-]+)?", later.value)
            and ":" in later.value
        ):
            return True
    return at + 1 < len(words) and words[at + 1].value in ("-v", "-p", "-e", "--name", "--gpus", "--ipc", "--network")


def _take(read: _Read, name: str, option: Word, value: Word, context: Context) -> None:
    span = option.span.to(value.span) if option.span.source is value.span.source else option.span
    if span.end < span.start:
        span = option.span
    if name in ("-e", "--env"):
        _take_env(read, value, context, span)
    elif name == "--env-file":
        variables = _env_file(value, context)
        read.env.update(variables or {})
        read.env_complete = read.env_complete and variables is not None
    elif name == "--gpus":
        read.gpus.append(gpu_request(value, span))
    elif name == "--device":
        read.gpus.append(_device(value, span))
    elif name in ("-v", "--volume"):
        read.mounts.append(volume(value, span))
    elif name == "--mount":
        read.mounts.append(_mount(value, span))
    elif name == "--tmpfs":
        read.mounts.append(Mount(value.value.split(":", 1)[0], span, "tmpfs"))
    elif name in ("-p", "--publish"):
        read.ports.append(port(value, value.value_span))
    elif name == "--entrypoint":
        read.entrypoint = value
    elif name == "--shm-size":
        read.fields["shm_size"] = byte_size(value)
    elif name in ("-m", "--memory"):
        read.fields["memory_limit"] = byte_size(value)
    elif name in ("--network", "--net"):
        if value.value == "host":
            read.fields["host_network"] = span
    elif name in ("-u", "--user"):
        read.fields["run_as_user"] = value
    elif name in ("--ipc", "--name", "--runtime"):
        read.fields[name[2:]] = value


def _take_env(read: _Read, value: Word, context: Context, entry: Span) -> None:
    equals = value.value.find("=")
    if equals > 0:
        variable = EnvVar(part(value, 0, equals), part(value, equals + 1), entry, "shell")
    elif value.unknown or not value.value:
        return
    else:
        outer = context.env.get(value.value)
        variable = EnvVar(value, outer.value if outer else None, entry, "shell")
    read.env[variable.name.value] = variable


def _env_file(value: Word, context: Context) -> Mapping[str, EnvVar] | None:
    """The variables of the file; ``None`` where it cannot be read."""
    source = context.follow.read(value.value) if context.follow is not None and not value.unknown else None
    if source is None:
        return None
    from lint_vllm.extract.envfile import read_env_file

    return read_env_file(Text.of(source))


def gpu_request(value: Word, span: Span) -> GpuRequest:
    """``--gpus all``, ``--gpus 2``, ``--gpus '"device=0,1"'``."""
    raw = value.value.strip("\"'")
    if value.unknown or raw == "all":
        return GpuRequest("--gpus", span, value.value_span, None, raw)
    if found := re.search(r"(?:^|,)\"?device=([^\"]+)", raw):
        ids = tuple(part for part in found.group(1).split(",") if part and "=" not in part)
        return GpuRequest("--gpus", span, value.value_span, len(ids), raw, ids)
    number = re.search(r"(?:^|count=)(\d+)", raw)
    return GpuRequest("--gpus", span, value.value_span, int(number.group(1)) if number else None, raw)


def _device(value: Word, span: Span) -> GpuRequest:
    raw = value.value
    found = re.match(r"nvidia\.com/gpu=(.+)", raw)
    if found and found.group(1) != "all":
        return GpuRequest("--device", span, value.value_span, 1, raw, (found.group(1),))
    return GpuRequest("--device", span, value.value_span, None, raw)


def _fields(word: Word, separator: str) -> list[Word]:
    """The parts of a known word; a separator inside an unknown reference does not divide."""
    covered = ""
    for piece in pieces_of(word):
        covered += "\0" * len(piece.text.value) if piece.unknown else piece.text.value
    out: list[Word] = []
    start = 0
    for index in [*(i for i, c in enumerate(covered) if c == separator), len(covered)]:
        out.append(part(word, start, index))
        start = index + 1
    return out


_MODES = pattern(r"(?:ro|rw|z|Z|U|cached|delegated|consistent|rshared|rslave|rprivate|shared|slave|private|nocopy)(?:,\w+)*")


def volume(value: Word, span: Span) -> Mount:
    """``source:target[:mode]`` of ``-v``."""
    parts = _fields(value, ":")
    mode = parts.pop().value if len(parts) > 1 and _MODES.fullmatch(parts[-1].value) else ""
    if len(parts) == 1:
        return Mount(parts[0].value, span, "volume", read_only="ro" in mode.split(","))
    source = parts[0].value
    kind = "bind" if source.startswith(("/", ".", "~", "$")) or "/" in source else "volume"
    return Mount(parts[-1].value, span, kind, source, read_only="ro" in mode.split(","))


def _mount(value: Word, span: Span) -> Mount:
    pairs: dict[str, str] = {}
    for one in _fields(value, ","):
        name, equals, given = one.value.partition("=")
        pairs[name] = given if equals else "true"
    target = pairs.get("target") or pairs.get("dst") or pairs.get("destination") or ""
    kind = pairs.get("type", "volume")
    read_only = pairs.get("readonly", pairs.get("ro", "")) in ("true", "1")
    return Mount(
        target,
        span,
        kind if kind in ("bind", "volume", "tmpfs") else "other",
        pairs.get("source") or pairs.get("src"),
        pairs.get("tmpfs-size"),
        read_only=read_only,
    )


def port(value: Word, span: Span) -> Port:
    """``[address:][host:]container`` of ``-p``."""
    parts = [p.value.split("/", 1)[0] for p in _fields(value, ":")]

    def number(text: str) -> int | None:
        return int(text) if text.isascii() and text.isdigit() else None

    if len(parts) == 1:
        return Port(span, number(parts[0]))
    address = ":".join(parts[:-2]).strip("[]") or None
    return Port(span, number(parts[-1]), number(parts[-2]), address)


_UNITS = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def byte_size(value: Word) -> ByteSize:
    """``16g``, ``512mb`` in bytes; the units of docker are binary."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([bkmgt]?)(?:i?b)?\s*", value.value, re.IGNORECASE | re.ASCII)
    known = found is not None and value.unknown is None
    size = int(float(found.group(1)) * _UNITS[found.group(2).lower()]) if known and found is not None else None
    return ByteSize(value.value_span, value.value, size)
