"""systemd units (``ExecStart=``) and Podman quadlets (``Image=``, ``Exec=``)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from lint_vllm.extract.command import image_launch, recognise
from lint_vllm.extract.containers import parse_image, port, read_container_options, volume
from lint_vllm.extract.context import Context, Extraction, Follower
from lint_vllm.extract.shell_values import Expander, Piece, Scope, Script, ShellWord, masked, outer_values, word_of, words_in
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, EnvVar, GpuRequest, Launch, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

_SECTION = pattern(r"^\s*\[(\w[\w-]*)\]\s*$")
_KEY = pattern(r"^[ \t]*([A-Za-z][\w-]*)[ \t]*=[ \t]*")


@dataclass(frozen=True, slots=True)
class Entry:
    """One ``Key=value`` of a section, its continued lines joined by blanks."""

    section: str
    key: Text
    value: Text
    span: Span


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    """The launches of a unit file."""
    return Extraction(tuple(launches_in_unit(Text.of(source), Context(source, follow=follow))))


def entries(text: Text) -> Iterator[Entry]:
    """The entries of a unit file; comment lines inside a continuation are skipped, as systemd does."""
    section = ""
    key: Text | None = None
    parts: list[Text] = []
    start = 0
    end = 0
    at = 0
    continued = False
    for line in text.value.splitlines(keepends=True):
        here, at = at, at + len(line)
        bare = line.rstrip("\r\n")
        stripped = bare.strip()
        if continued:
            if stripped.startswith(("#", ";")):
                continue
        else:
            found = _SECTION.match(bare)
            if found:
                section = found.group(1)
                continue
            match = _KEY.match(bare)
            if stripped.startswith(("#", ";")) or match is None:
                continue
            key, parts, start = text[here + match.start(1) : here + match.end(1)], [], here + match.start(1)
            here += match.end()
            bare = text.value[here : here + len(bare) - match.end()]
        trimmed = bare.rstrip()
        continued = trimmed.endswith("\\")
        cut = trimmed[:-1] if continued else trimmed
        parts.append(text[here : here + len(cut)])
        if continued:
            place = text[here + len(cut) : here + len(cut) + 1].span
            parts.append(Text(place.source, " ", (place.start,), (place.end,), place.start))
        end = here + len(trimmed)
        if not continued and key is not None:
            yield Entry(section, key, Text.join(parts), text[start:end].span)
            key = None
    if key is not None and parts:
        yield Entry(section, key, Text.join(parts), text[start:end].span)


def launches_in_unit(text: Text, context: Context) -> list[Launch]:
    """The launches of a unit's text."""
    found = list(entries(text))
    env: dict[str, EnvVar] = {}
    env_complete = True
    for entry in found:
        key = entry.key.value
        if key == "Environment":
            for variable in _assignments(entry.value):
                env[variable.name.value] = variable
        elif key in ("EnvironmentFile", "PassEnvironment", "LoadCredential"):
            name = entry.value.value.strip().lstrip("-")
            source = context.follow.read(name) if context.follow is not None and key == "EnvironmentFile" else None
            if source is None:
                env_complete = False
            else:
                from lint_vllm.extract.envfile import read_env_file

                env = {**read_env_file(Text.of(source)), **env}
    inside = replace(context, env=MappingProxyType({**context.env, **env}))
    if any(e.section == "Container" for e in found):
        return _quadlet([e for e in found if e.section == "Container"], inside)
    launches: list[Launch] = []
    block = next((e.span for e in found if e.section == "Service"), text.span)
    for entry in found:
        if entry.key.value in ("ExecStart", "ExecStartPre", "ExecStartPost", "ExecReload"):
            deployment = inside.deployment or Deployment("systemd", block, scope="unit", env_complete=env_complete)
            here = replace(inside, deployment=deployment, block=context.block or entry.span)
            here = replace(here, site=here.site or f"{entry.key.value}, line {entry.span.line}")
            prefix = re.match(r"[-@:+!|]+", entry.value.value)
            command = entry.value[prefix.end() :] if prefix else entry.value
            launches.extend(recognise(_command_words(command, here), here))
    return launches


def _assignments(text: Text) -> Iterator[EnvVar]:
    script = masked(text, placeholders=False)
    expander = Expander(_without_dollars(script), Scope())
    for word in words_in(expander.script, expander):
        equals = word.value.find("=")
        if equals > 0:
            from lint_vllm.extract.shell_values import part

            yield EnvVar(part(word, 0, equals), part(word, equals + 1), word.span)


def _without_dollars(script: Script) -> Script:
    """The script with ``$`` and backquotes taken literally."""
    if "$" not in script.value and "`" not in script.value:
        return script
    text = script.text
    pieces = [Piece(text[: len(text)])]
    holes = dict(script.holes)
    value = text.value.replace("$", "\u0001").replace("`", "\u0002")
    covered = Text(text.source, value, text.starts, text.stops, text.anchor)
    for char, real in (("\u0001", "$"), ("\u0002", "`")):
        holes[char] = Piece(Text.placed(real, text[:1].span))
    del pieces
    return Script(covered, {k: v for k, v in holes.items() if k not in ("\u0001", "\u0002")}, script.optional, script.spliced)


def _command_words(value: Text, context: Context) -> list[Word]:
    """The words of a command: ``$$`` and ``%%`` undone, ``$X`` from the unit's environment."""
    script = _specifiers(masked(value, placeholders=False))
    scope = Scope(outer=outer_values(context.variables, context.env))
    return list(words_in(script, Expander(script, scope)))


def _specifiers(script: Script) -> Script:
    """``%i``, ``%h`` ... are filled in by systemd; ``$$`` is one dollar, ``%%`` one per cent sign."""
    text = script.text
    if not re.search(r"%|\$\$", text.value):
        return script
    pieces: list[Piece] = []
    last = 0
    for found in re.finditer(r"%%|%[A-Za-z]|\$\$", text.value):
        pieces.append(Piece(text[last : found.start()]))
        written = text[found.start() : found.end()]
        if found.group() == "%%":
            pieces.append(Piece(Text.placed("%", written.span)))
        elif found.group() == "$$":
            pieces.append(Piece(Text.placed("\\$", written.span)))
        else:
            pieces.append(Piece(written, f"{found.group()} is filled in by systemd"))
        last = found.end()
    pieces.append(Piece(text[last:]))
    made = Script.of_pieces(tuple(p for p in pieces if p.text.value), text[:0])
    return Script(made.text, {**script.holes, **made.holes}, script.optional, made.spliced)


def _quadlet(found: list[Entry], context: Context) -> list[Launch]:
    """A ``.container`` file: Podman runs ``Image=`` with ``Exec=`` behind it."""

    def last(key: str) -> Entry | None:
        return next((e for e in reversed(found) if e.key.value == key), None)

    image_entry = last("Image")
    if image_entry is None:
        return []
    image = parse_image(image_entry.value.strip())
    options: list[Word] = []
    for entry in found:
        if entry.key.value == "PodmanArgs":
            options.extend(_command_words(entry.value, context))
    block = found[0].span.to(found[-1].span)
    marker = word_of((Piece(image_entry.value.strip()),), image_entry.value.span, image_entry.value[:0])
    read = read_container_options([*options, marker], context, block)
    deployment = (read.context.deployment if read is not None else None) or Deployment("docker-run", block)
    mounts = [volume(_whole(e.value), e.span) for e in found if e.key.value == "Volume"]
    ports = [port(_whole(e.value), e.span) for e in found if e.key.value == "PublishPort"]
    gpus = [_device(e) for e in found if e.key.value == "AddDevice"]
    deployment = replace(
        deployment,
        span=block,
        scope="unit",
        gpus=(*deployment.gpus, *gpus),
        mounts=(*deployment.mounts, *mounts),
        ports=(*deployment.ports, *ports),
    )
    if (shm := last("ShmSize")) is not None:
        from lint_vllm.extract.containers import byte_size

        deployment = replace(deployment, shm_size=byte_size(_whole(shm.value)))
    if (network := last("Network")) is not None and network.value.value.strip() == "host":
        deployment = replace(deployment, host_network=network.span)
    exec_entry = last("Exec")
    words = _command_words(exec_entry.value, context) if exec_entry is not None else []
    extra = read.context.env if read is not None else {}
    inside = replace(
        context,
        env=MappingProxyType({**context.env, **extra}),
        image=image,
        deployment=deployment,
        block=context.block or block,
        site=context.site or "Container",
    )
    entrypoint = last("Entrypoint")
    if entrypoint is not None:
        return recognise([*_command_words(entrypoint.value, context), *words], inside)
    launch = image_launch(words, image, inside)
    if launch is None:
        return []
    place = exec_entry.key.span if exec_entry is not None and launch.form == "image" else launch.command
    return [replace(launch, command=place)]


def _whole(text: Text) -> ShellWord:
    value = text.strip()
    return word_of((Piece(value),), value.span, value[:0])


def _device(entry: Entry) -> GpuRequest:
    raw = entry.value.value.strip()
    found = re.match(r"nvidia\.com/gpu=(.+)", raw)
    ids = (found.group(1),) if found and found.group(1) != "all" else ()
    return GpuRequest("AddDevice", entry.span, entry.value.strip().span, 1 if ids else None, raw, ids)
