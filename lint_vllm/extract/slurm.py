"""Batch directives of job schedulers: ``#SBATCH`` lines and the options of ``srun``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from lint_vllm.extract.context import Context
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, GpuRequest, Hint, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Span, Text

_DIRECTIVE = pattern(r"^[ \t]*#SBATCH[ \t]+(.+?)[ \t]*(?:[ \t]#.*)?\r?$", re.MULTILINE)
_OPTION = pattern(r"(--[\w-]+|-[A-Za-z])(?:[= \t]*(?P<value>\"[^\"]*\"|'[^']*'|[^\s-]\S*))?")
_SHORT = {"-N": "--nodes", "-n": "--ntasks", "-G": "--gpus", "-p": "--partition", "-C": "--constraint", "-J": "--job-name"}
_GRES = pattern(r"(?:gres/)?gpu(?:[:=](?P<type>[A-Za-z][\w.-]*))?(?:[:=](?P<count>\d+))?(?:,|\(|$)")
_GPUS = pattern(r"(?:(?P<type>[A-Za-z][\w.-]*):)?(?P<count>\d+)?$")


@dataclass(frozen=True, slots=True)
class _Option:
    name: str
    value: str
    span: Span
    value_span: Span


@dataclass(frozen=True, slots=True)
class Job:
    """What a batch script asks for. ``nodes`` is ``None`` when it does not say."""

    gpus: tuple[GpuRequest, ...] = ()
    hints: tuple[Hint, ...] = ()
    nodes: int | None = None


def job_of(text: Text) -> Job | None:
    """The directives of a script; ``None`` for a script without any."""
    if "#SBATCH" not in text.value:
        return None
    options: list[_Option] = []
    for line in _DIRECTIVE.finditer(text.value):
        for found in _OPTION.finditer(text.value, *line.span(1)):
            value = (found.group("value") or "").strip("\"'")
            options.append(_option(text, found, value))
    return _job(options) if options else None


def _option(text: Text, found: re.Match[str], value: str) -> _Option:
    start, end = found.span("value") if found.group("value") else (found.end(), found.end())
    name = _SHORT.get(found.group(1), found.group(1))
    return _Option(name, value, text[found.start() : found.end()].span, text[start:end].span)


def _job(options: Sequence[_Option]) -> Job:
    gpus: list[GpuRequest] = []
    hints: list[Hint] = []
    nodes: int | None = None
    for option in options:
        if option.name == "--nodes":
            low = re.match(r"\d+", option.value)
            nodes = int(low.group()) if low else None
        elif option.name in ("--gres", "--gpus", "--gpus-per-node", "--gpus-per-task"):
            pattern = _GRES if option.name == "--gres" else _GPUS
            found = pattern.search(option.value) if option.name == "--gres" else pattern.fullmatch(option.value)
            if found is None:
                continue
            count = int(found.group("count")) if found.group("count") else (1 if option.name == "--gres" else None)
            gpus.append(GpuRequest(option.name[2:], option.span, option.value_span, count, option.value))
            if found.group("type"):
                hints.append(Hint("slurm-gres", found.group("type"), option.value_span, count))
        elif option.name in ("--partition", "--constraint") and option.value:
            hints.append(Hint("slurm-partition", option.value, option.value_span))
    if nodes is not None:
        gpus = [replace(g, nodes=nodes) for g in gpus]
    if nodes and nodes > 1:
        # --gpus counts the whole job, the others one node (or task).
        gpus = [replace(g, count=max(1, g.count // nodes)) if g.resource == "gpus" and g.count else g for g in gpus]
    return Job(tuple(gpus), tuple(hints), nodes)


def job_context(text: Text, context: Context) -> Context:
    """The surroundings of the commands of a batch script."""
    job = job_of(text)
    if job is None:
        return context
    outer = context.deployment or Deployment("slurm", context.block or text.span)
    deployment = replace(outer, kind="slurm", gpus=(*outer.gpus, *job.gpus), nodes=job.nodes)
    return replace(context, deployment=deployment, hints=(*context.hints, *job.hints))


def step_context(options: Sequence[Word], context: Context) -> Context:
    """The surroundings of an ``srun`` step: its own options go over those of the job."""
    found: list[_Option] = []
    at = 0
    while at < len(options):
        word = options[at]
        name, equals, value = word.value.partition("=")
        if name.startswith("-") and not word.unknown:
            name = _SHORT.get(name[:2], name) if not name.startswith("--") else name
            if equals:
                found.append(_Option(name, value, word.span, word.span))
            elif not word.value.startswith("--") and len(word.value) > 2:
                found.append(_Option(name, word.value[2:], word.span, word.span))
            elif at + 1 < len(options) and not options[at + 1].value.startswith("-"):
                following = options[at + 1]
                known = "" if following.unknown else following.value
                span = word.span.to(following.span)
                found.append(_Option(name, known, span, following.value_span))
                at += 1
        at += 1
    step = _job(found)
    image = next((o for o in found if o.name == "--container-image" and o.value), None)
    outer = context.deployment or Deployment("slurm", context.block or (options[0].span if options else Span(context.source, 0, 0)))
    nodes = step.nodes if step.nodes is not None else outer.nodes
    tasks = next((o.value for o in found if o.name == "--ntasks"), "")
    alone = nodes == 1 or tasks == "1"
    multi = outer.multi_node or (nodes is not None and nodes > 1 and not alone)
    deployment = replace(
        outer,
        kind=outer.kind if outer.kind != "shell" else "slurm",
        gpus=step.gpus or outer.gpus,
        nodes=1 if alone and nodes is not None else nodes,
        multi_node=multi,
    )
    context = replace(context, deployment=deployment, hints=(*context.hints, *step.hints))
    if image is not None:
        from lint_vllm.extract.containers import parse_image

        reference = image.value.replace("#", "/", 1)
        context = replace(context, image=parse_image(Text.placed(reference, image.value_span)))
    return context
