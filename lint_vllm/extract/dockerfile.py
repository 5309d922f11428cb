"""Dockerfiles: what the container of each stage starts, with the environment and the image that the stages give it.

Instructions are divided as BuildKit does: a comment or an empty line inside a continuation does not end it, here-documents
belong to their instruction, ``# escape=`` changes the escape character.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import PurePosixPath
from types import MappingProxyType

from lint_vllm.extract.command import image_launch, pins_in, recognise
from lint_vllm.extract.containers import image_role, parse_image
from lint_vllm.extract.context import Context, Extraction, Follower, Unreadable
from lint_vllm.extract.shell import run_script
from lint_vllm.extract.shell_values import Expander, Piece, Scope, ShellWord, Variable, end_of_word, masked, names, word_of
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, EnvVar, Hint, Image, Launch, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

_KEYWORDS = names(
    "FROM RUN CMD LABEL MAINTAINER EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL"
)
_HEREDOC = pattern(r"<<(-?)(['\"]?)([A-Za-z_][\w.]*)\2")
_MAX_INSTRUCTIONS = 2000


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; ``body`` is one line, its continuations joined. ``heredocs``: name, text, whether it expands."""

    keyword: str
    head: Text
    body: Text
    span: Span
    heredocs: tuple[tuple[str, Text, bool], ...] = ()


def instructions(text: Text) -> Iterator[Instruction]:
    """The instructions of a Dockerfile in order."""
    value = text.value
    escape = re.match(r"(?:\s*#[^\n]*\n)*?\s*#\s*escape\s*=\s*([\\`])", value, re.IGNORECASE)
    mark = escape.group(1) if escape else "\\"
    at = 0
    while at < len(value):
        line_end = _line_end(value, at)
        found = re.compile(r"[ \t]*([A-Za-z]+)(?=[ \t\r\n]|$)").match(value, at, line_end)
        if found is None or found.group(1).upper() not in _KEYWORDS:
            at = line_end + 1
            continue
        keyword = found.group(1).upper()
        parts: list[Text] = []
        start, stop = found.end(), line_end
        while True:
            line = value[start:stop].rstrip("\r")
            bare = line.rstrip(" \t")
            if not bare.endswith(mark):
                parts.append(text[start : start + len(line)])
                break
            parts.append(text[start : start + len(bare) - 1])
            start = stop + 1
            while start < len(value):
                stop = _line_end(value, start)
                content = value[start:stop].strip()
                if content and not content.startswith("#"):
                    break
                start = stop + 1
            if start >= len(value):
                break
        end = min(stop, len(value))
        body = Text.join(parts)
        heredocs: list[tuple[str, Text, bool]] = []
        following = end + 1
        if keyword in ("RUN", "COPY", "ADD"):
            for marker in _HEREDOC.finditer(body.value):
                close = re.compile(
                    rf"^{'[ 	]*' if marker.group(1) else ''}{re.escape(marker.group(3))}[ \t]*\r?$", re.MULTILINE
                ).search(value, min(following, len(value)))
                if close is None:
                    break
                heredocs.append((marker.group(3), text[following : close.start()], not marker.group(2)))
                end = close.end()
                following = end + 1
        yield Instruction(
            keyword, text[found.start(1) : found.end(1)], body.strip(), text[found.start(1) : end].span, tuple(heredocs)
        )
        at = following


def _line_end(value: str, at: int) -> int:
    end = value.find("\n", at)
    return len(value) if end < 0 else end


@dataclass(frozen=True, slots=True)
class _Command:
    """CMD or ENTRYPOINT: its words in exec form, or the script of the shell form."""

    head: Span
    span: Span
    words: tuple[Word, ...] | None
    script: Text


@dataclass(slots=True)
class _Stage:
    """One build stage as it stands after its instructions so far."""

    image: Image | None
    from_span: Span
    env: dict[str, EnvVar] = field(default_factory=dict)
    variables: dict[str, Variable] = field(default_factory=dict)
    entrypoint: _Command | None = None
    cmd: _Command | None = None
    own: bool = False
    configured: bool = False
    workdir: str = "/"
    copied: dict[str, str] = field(default_factory=dict)
    written: dict[str, Text] = field(default_factory=dict)
    pins: list[Hint] = field(default_factory=list)
    name: str = ""


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    """The launches of a Dockerfile."""
    text = Text.of(source)
    launches = launches_in_dockerfile(text, Context(source, follow=follow))
    unread = next(itertools.islice(instructions(text), _MAX_INSTRUCTIONS, None), None)
    reason = f"the file has more than {_MAX_INSTRUCTIONS:,} instructions; this one and later ones were not read"
    return Extraction(tuple(launches), (Unreadable(unread.span, reason),) if unread is not None else ())


def launches_in_dockerfile(text: Text, context: Context) -> list[Launch]:
    """The launches of the stages that say themselves what they start."""
    stages: list[_Stage] = []
    arguments: dict[str, Variable] = {}
    launches: list[Launch] = []
    for number, instruction in enumerate(instructions(text)):
        if number >= _MAX_INSTRUCTIONS:
            break
        if instruction.keyword == "FROM":
            stages.append(_from(instruction, stages, arguments))
        elif not stages:
            if instruction.keyword == "ARG":
                _arg(instruction, arguments, arguments)
        else:
            _apply(instruction, stages[-1], arguments, context, launches)
    for stage in stages:
        launches.extend(_started(stage, context))
    return launches


# Instructions


def _expander(variables: dict[str, Variable], text: Text) -> Expander:
    return Expander(masked(text, placeholders=False), Scope(dict(variables)))


def _expanded(text: Text, variables: dict[str, Variable]) -> ShellWord:
    expander = _expander(variables, text)
    pieces = expander.value(0, len(expander.script.value))
    return word_of(pieces, text.span, text[:0])


def _pairs(text: Text, variables: dict[str, Variable]) -> Iterator[tuple[Text, ShellWord, Span]]:
    """``A=1 B="x y"``, or the old ``NAME value``."""
    expander = _expander(variables, text)
    script = expander.script
    value = script.value
    old = re.match(r"([A-Za-z_][\w.-]*)[ \t]+(?!=)", value)
    if old and "=" not in old.group():
        rest = script.text[old.end() :]
        pieces = expander.value(old.end(), len(value))
        yield script.text[old.start(1) : old.end(1)], word_of(pieces, rest.span, rest[:0]), text.span
        return
    at = 0
    while at < len(value):
        if value[at] in " \t\r\n":
            at += 1
            continue
        stop = end_of_word(expander, at, len(value))
        equals = value.find("=", at, stop)
        if equals > at:
            use = script.text[equals + 1 : stop]
            pieces = expander.value(equals + 1, stop)
            span = script.text[at:stop].span
            yield script.text[at:equals], word_of(pieces, use.span, use[:0]), span
        elif re.fullmatch(r"[A-Za-z_]\w*", value[at:stop]):
            missing = script.text[at:stop]
            word = word_of(
                (Piece(missing, f"{missing.value} is a build argument without a default", argument=True),),
                missing.span,
                missing[:0],
            )
            yield missing, word, missing.span
        at = max(stop, at + 1)


def _arg(instruction: Instruction, into: dict[str, Variable], known: Mapping[str, Variable]) -> None:
    for name, value, _ in _pairs(instruction.body, {**known, **into}):
        missing = value.unknown is not None and "build argument without" in value.unknown
        if missing and name.value in known:
            into[name.value] = known[name.value]
        elif missing or not value.value:
            reason = f"{name.value} is given when the image is built"
            into[name.value] = Variable((Piece(name, reason, argument=True),))
        else:
            into[name.value] = Variable(value.pieces, overridable=True)


def _from(instruction: Instruction, stages: list[_Stage], arguments: dict[str, Variable]) -> _Stage:
    body = instruction.body
    skip = re.match(r"(?:--\S+\s+)*", body.value)
    start = skip.end() if skip else 0
    alias = re.search(r"\s+as\s+(\S+)\s*$", body.value, re.IGNORECASE)
    reference = body[start : alias.start() if alias else len(body)].strip()
    word = _expanded(reference, arguments)
    parent = next((s for s in stages if s.name and s.name == word.value.lower()), None)
    if parent is None and word.value.isdigit() and int(word.value) < len(stages):
        parent = stages[int(word.value)]
    name = alias.group(1).lower() if alias else ""
    if parent is None:
        image = parse_image(word.content, word.unknown)
        image = image if reference.span.contains(image.span) else replace(image, span=reference.span)
        return _Stage(image, instruction.span, name=name)
    return replace(
        parent,
        env=dict(parent.env),
        variables={k: v for k, v in parent.variables.items() if v.exported},
        own=False,
        configured=False,
        copied=dict(parent.copied),
        written=dict(parent.written),
        pins=list(parent.pins),
        name=name,
    )


def _apply(
    instruction: Instruction, stage: _Stage, arguments: dict[str, Variable], context: Context, launches: list[Launch]
) -> None:
    keyword, body = instruction.keyword, instruction.body
    if keyword == "ARG":
        _arg(instruction, stage.variables, arguments)
    elif keyword == "ENV":
        for name, value, span in list(_pairs(body, stage.variables)):
            stage.env[name.value] = EnvVar(Word(name, name.span), value, span)
            stage.variables[name.value] = Variable(value.pieces, exported=True)
            stage.configured = True
    elif keyword == "WORKDIR":
        stage.workdir = str(PurePosixPath(stage.workdir) / _expanded(body, stage.variables).value)
    elif keyword in ("COPY", "ADD"):
        _copy(instruction, stage)
    elif keyword == "RUN":
        stage.pins.extend(pins_in(body))
        scripts = [h for _, h, _ in instruction.heredocs] or [body]
        for script in scripts:
            if script is not body:
                stage.pins.extend(pins_in(script))
            if "serve" in script.value or "vllm" in script.value:
                inside = _inside(stage, replace(context, site=f"RUN, line {instruction.span.line}"), instruction.span)
                launches.extend(run_script(masked(_without_options(script)), inside))
    elif keyword in ("CMD", "ENTRYPOINT"):
        command = _command(instruction, stage)
        if keyword == "CMD":
            stage.cmd = command
        else:
            stage.entrypoint = command
            if stage.cmd is not None and not stage.own:
                stage.cmd = None  # a new entry point drops the arguments of the parent image
        stage.own = True


def _without_options(script: Text) -> Text:
    found = re.match(r"\s*(?:--(?:mount|network|security|device)=\S+\s+)*", script.value)
    return script[found.end() :] if found else script


def _copy(instruction: Instruction, stage: _Stage) -> None:
    words = instruction.body.value.split()
    if any(w.startswith("--from=") for w in words):
        return
    words = [w for w in words if not w.startswith("--")]
    if words and words[0].startswith("["):
        words = re.findall(r'"([^"]*)"', instruction.body.value)
    if len(words) < 2:
        return
    target = str(PurePosixPath(stage.workdir) / words[-1])
    folder = words[-1].endswith("/") or len(words) > 2 or words[-1] in (".", "./")
    for name, text, _ in instruction.heredocs:
        where = str(PurePosixPath(target) / name) if folder else target
        stage.written[where] = text
    for source in words[:-1]:
        if source.startswith("<<"):
            continue
        clean = source.removeprefix("./").rstrip("/")
        if clean in ("", ".") or "." not in PurePosixPath(clean).name or source.endswith("/"):
            stage.copied[target.rstrip("/") + "/"] = clean if clean not in ("", ".") else ""
        name = PurePosixPath(clean).name
        stage.copied[str(PurePosixPath(target) / name)] = clean
        if not folder:
            stage.copied[target] = clean


def _command(instruction: Instruction, stage: _Stage) -> _Command:
    words = json_words(instruction.body)
    return _Command(instruction.head.span, instruction.span, words, instruction.body)


def json_words(text: Text) -> tuple[Word, ...] | None:
    """The words of an exec form (``["a", "b"]``); ``None`` when it is no JSON list of strings."""
    value = text.value.strip()
    if not value.startswith("["):
        return None
    text = text.strip()
    out: list[Word] = []
    at = 1
    pattern = re.compile(r'\s*"((?:[^"\\]|\\.)*)"\s*(,|\])', re.DOTALL)
    if re.fullmatch(r"\[\s*\]", value):
        return ()
    while True:
        found = pattern.match(text.value, at)
        if found is None:
            return None
        content = _unescaped(text[found.start(1) : found.end(1)])
        out.append(_with_holes(content, text[found.start(1) - 1 : found.end(1) + 1].span))
        at = found.end()
        if found.group(2) == "]":
            return tuple(out)
        if re.compile(r"\s*\]").match(text.value, at):  # a trailing comma: Docker would take this for the shell form
            return tuple(out)


def _with_holes(content: Text, span: Span) -> Word:
    """A string of an exec form; template expressions in it are not known. ``$X`` stays as written: nothing expands it."""
    script = masked(content, placeholders=False)
    if not script.holes:
        return Word(content, span, '"')
    expander = Expander(script, Scope())
    pieces = tuple(b.piece for b in expander.literal(0, len(script.value)))
    return word_of(pieces, span, content[:0], '"')


_JSON_ESCAPE = pattern(r'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_JSON_CHARS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


def _unescaped(text: Text) -> Text:
    parts: list[Text] = []
    last = 0
    for found in _JSON_ESCAPE.finditer(text.value):
        parts.append(text[last : found.start()])
        span = text[found.start() : found.end()].span
        number = int(found.group(1), 16) if found.group(1) else 0
        char = (chr(number) if not 0xD800 <= number < 0xE000 else "\ufffd") if found.group(1) else found.group(2)
        char = _JSON_CHARS.get(char, char) if not found.group(1) else char
        parts.append(Text(span.source, char, (span.start,), (span.end,), span.start))
        last = found.end()
    parts.append(text[last:])
    return Text.join([p for p in parts if p.value], text[:0])


# What a stage starts


@dataclass(frozen=True, slots=True)
class _InImage:
    """Files by their path in the image, as the ``COPY`` instructions put them there."""

    follow: Follower | None
    copied: Mapping[str, str]
    workdir: str

    def read(self, relative_path: str) -> SourceFile | None:
        if self.follow is None:
            return None
        path = str(PurePosixPath(self.workdir) / relative_path)
        if path in self.copied:
            return self.follow.read(self.copied[path])
        for prefix in sorted((p for p in self.copied if p.endswith("/") and path.startswith(p)), key=len, reverse=True):
            found = self.follow.read(str(PurePosixPath(self.copied[prefix]) / path[len(prefix) :]))
            if found is not None:
                return found
        name = PurePosixPath(path).name
        by_name = next((s for t, s in self.copied.items() if PurePosixPath(t).name == name), None)
        return self.follow.read(by_name) if by_name else None


def _inside(stage: _Stage, context: Context, block: Span) -> Context:
    deployment = context.deployment or Deployment("dockerfile", block, scope=stage.name or f"line {stage.from_span.line}")
    return replace(
        context,
        env=MappingProxyType({**context.env, **stage.env}),
        image=stage.image,
        deployment=replace(deployment, span=block),
        block=context.block or block,
        follow=_InImage(context.follow, stage.copied, stage.workdir),
    )


def _started(stage: _Stage, context: Context) -> list[Launch]:
    image = stage.image
    found: list[Launch] = []
    if stage.own:
        # An entry point without arguments only prepares an image: whoever runs it gives them.
        found = [f for f in _commanded(stage, context) if f.words or f.settings]
    if not found and image is not None and (stage.configured or stage.own):
        from lint_vllm.extract.envfile import worker_launch

        inside = _inside(stage, context, stage.from_span)
        launch = worker_launch(tuple(stage.env.values()), image, inside)
        found = [launch] if launch is not None else []
    return [replace(f, pins=(*f.pins, *stage.pins)) for f in found]


def _commanded(stage: _Stage, context: Context) -> list[Launch]:
    entrypoint, cmd = stage.entrypoint, stage.cmd
    leading = entrypoint or cmd
    if leading is None:
        return []
    block = leading.span if entrypoint is None or cmd is None else entrypoint.span.to(cmd.span)
    inside = _inside(stage, replace(context, site=f"line {leading.span.line}"), block)
    deployment = inside.deployment
    assert deployment is not None
    if entrypoint is None:
        assert cmd is not None
        if cmd.words is None:
            found = run_script(masked(cmd.script), inside)
            if stage.image is not None and image_role(stage.image) == "server":
                found = [_repeated(f, cmd) for f in found]
            return found
        if stage.image is None:
            return recognise(cmd.words, inside)
        written = _written_script(cmd.words, stage, inside)
        if written is not None:
            return written
        launch = image_launch(cmd.words, stage.image, inside)
        return (
            [replace(launch, command=cmd.head, block=cmd.span)]
            if launch is not None and launch.form == "image"
            else ([launch] if launch is not None else [])
        )
    if entrypoint.words is None:
        inside = replace(inside, deployment=replace(deployment, command=()))
        return run_script(masked(entrypoint.script), inside)
    if cmd is not None and cmd.words is None and not any(word.value for word in entrypoint.words):
        # an emptied entry point: the shell runs the command
        return run_script(masked(cmd.script), replace(inside, deployment=replace(deployment, command=())))
    arguments = cmd.words if cmd is not None and cmd.words is not None else ()
    inside = replace(inside, deployment=replace(deployment, command=entrypoint.words, args=arguments))
    if not entrypoint.words:
        return recognise(arguments, inside)
    written = _written_script((*entrypoint.words, *arguments), stage, inside)
    if written is not None:
        return written
    return recognise((*entrypoint.words, *arguments), inside)


_STARTERS = names("bash sh tini dumb-init -- -g -e -x -ex exec")


def _written_script(words: tuple[Word, ...], stage: _Stage, context: Context) -> list[Launch] | None:
    """The launches of a script that the Dockerfile itself writes (``COPY <<EOF /start.sh``); ``None`` when it starts none."""
    for at, word in enumerate(words):
        written = stage.written.get(str(PurePosixPath(stage.workdir) / word.value))
        if written is not None:
            return run_script(masked(written), context, words[at + 1 :])
        if word.value.rsplit("/", 1)[-1] not in _STARTERS:
            return None
    return None


def _repeated(launch: Launch, cmd: _Command) -> Launch:
    """A shell-form CMD behind an entry point that is already the server."""
    first = re.match(r"(?:exec\s+)?(\S+(?:\s+serve)?)", cmd.script.value)
    if first is None:
        return launch
    text = cmd.script[first.start(1) : first.end(1)]
    words = tuple(Word(part, part.span) for part in (text[m.start() : m.end()] for m in re.finditer(r"\S+", text.value)))
    return replace(launch, doubled_entrypoint=words)


__all__ = ["Instruction", "extract", "instructions", "json_words", "launches_in_dockerfile"]
