"""Scripts in workflow and task files: GitHub and GitLab CI, SkyPilot, dstack, Taskfile, Ansible, buildkite.

A mapping with a script key hands its script to the shell reader, with the environment that the file sets around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import MappingProxyType

from lint_vllm.extract.compose import assignment
from lint_vllm.extract.context import MAX_DEPTH
from lint_vllm.extract.visit import Visit
from lint_vllm.extract.yaml_nodes import Mapping, Node, Pair, Scalar, Sequence
from lint_vllm.launch import Deployment, EnvVar, GpuRequest, Hint, Image, Launch, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import Text

_SCRIPTS = (
    "setup",
    "before_script",
    "run",
    "script",
    "commands",
    "cmds",
    "command",
    "cmd",
    "shell",
    "customCommand",
    "start_command",
)
_SCRIPT_KEY = pattern(r"(?:ansible\.builtin\.|community\.\w+\.)?(?:shell|command|raw|script)$")
_ENVIRONMENTS = ("env", "envs", "environment", "variables", "vars", "env_vars", "secrets")
_SAYS_LAUNCH = pattern(r"vllm|api_server", re.I)


def tasks(node: Mapping, visit: Visit) -> list[Launch]:
    """The launches of the scripts of a step, job or task."""
    pairs = [pair for name, pair in node if name in _SCRIPTS or _SCRIPT_KEY.match(name)]
    pairs = [pair for pair in pairs if not visit.seen(pair.value) and _says_launch(pair.value)]
    if not pairs or visit.depth >= MAX_DEPTH or _is_container(node):
        return []
    from lint_vllm.extract.command import recognise
    from lint_vllm.extract.shell import launches_in_script

    env = environment_around(node, visit)
    found: list[Launch] = []
    for pair in pairs:
        script, argv = script_of(pair), argv_of(pair)
        if script is None and not argv:
            continue
        visit.mark(pair.value)
        deployment = Deployment(
            "other", node.span, f"job:{node.span.start}", gpus=tuple(_requested(node, visit)), nodes=_nodes(node)
        )
        context = replace(
            visit.into(pair.key.value, node).context(block=pair.span),
            env=MappingProxyType(env),
            image=_image(node),
            hints=tuple(_hints(node, visit)),
            deployment=replace(deployment, multi_node=(deployment.nodes or 1) > 1),
        )
        if script is not None:
            found += launches_in_script(with_workflow_environment(script, env), context)
        else:
            found += recognise(argv, context)
    return found


def _image(node: Mapping) -> Image | None:
    """The image in which the script runs (dstack, SkyPilot, GitLab)."""
    from lint_vllm.extract.containers import parse_image

    image = node.scalar("image") or node.scalar("image_id")
    return parse_image(image.word.content, image.word.unknown) if image is not None and image.value else None


def _is_container(node: Mapping) -> bool:
    """A container's ``command`` is an argument list, not a script."""
    return "image" in node and isinstance(node.get("command"), Sequence)


def _says_launch(node: Node) -> bool:
    if isinstance(node, Scalar):
        return bool(_SAYS_LAUNCH.search(node.raw))
    if isinstance(node, Sequence):
        return all(isinstance(i, Scalar) or (isinstance(i, Mapping) and "cmd" in i) for i in node.items) and any(
            _SAYS_LAUNCH.search(i.raw if isinstance(i, Scalar) else i.string("cmd") or "")
            for i in node.items
            if not isinstance(i, Sequence)
        )
    if not isinstance(node, Mapping):
        return False
    given = [node.scalar("cmd"), *node.items("argv")]
    return any(isinstance(item, Scalar) and _SAYS_LAUNCH.search(item.raw) for item in given)


def argv_of(pair: Pair) -> list[Word]:
    """The words of Ansible's ``command: {argv: [...]}``."""
    listed = pair.value.items("argv") if isinstance(pair.value, Mapping) else ()
    return [item.word for item in listed if isinstance(item, Scalar)]


def command_of(scalar: Scalar) -> Text:
    """A command in one string. A folded one is the one line that it was meant to be: YAML keeps the line breaks before indented
    lines, whoever divides the string into words does not."""
    command = scalar.word.content
    if not scalar.style.startswith(">"):
        return command
    parts: list[Text] = []
    at = 0
    for found in _INDENTED_OPTION.finditer(command.value):
        parts += [command[at : found.start()], Text.placed(" ", command[found.start() : found.start() + 1].span)]
        at = found.start() + 1
    return Text.join([*parts, command[at:]], command[:0]) if parts else command


_INDENTED_OPTION = pattern(r"(?<!\\)\n(?=[ \t]+(?:-{1,2}[A-Za-z]|['\"]\{))")


def script_of(pair: Pair) -> Text | None:
    """A script in one string, or in a list with one command an item."""
    value = pair.value
    if isinstance(value, Mapping):
        inner = value.scalar("cmd")
        return inner.word.content if inner is not None else None
    if isinstance(value, Scalar):
        return command_of(value) if pair.key.name.endswith(("command", "cmd", "Command")) else value.word.content
    parts: list[Text] = []
    for item in value.items:
        scalar = item.scalar("cmd") if isinstance(item, Mapping) else item
        if isinstance(scalar, Scalar) and scalar.text.value:
            end = scalar.text.span
            parts += [scalar.word.content, Text(end.source, "\n", (end.end,), (end.end,), end.end)]
    return Text.join(parts) if parts else None


_GITHUB_ENV = pattern(r"\$\{\{\s*env\.(\w+)\s*\}\}")


def with_workflow_environment(script: Text, env: dict[str, EnvVar]) -> Text:
    """The script after ``${{ env.NAME }}`` of a GitHub workflow, where the file sets the variable."""
    parts: list[Text] = []
    at = 0
    for found in _GITHUB_ENV.finditer(script.value):
        variable = env.get(found.group(1))
        if variable is None or variable.value is None or variable.value.unknown is not None:
            continue
        parts += [script[at : found.start()], Text.placed(variable.value.value, script[found.start() : found.end()].span)]
        at = found.end()
    return Text.join([part for part in (*parts, script[at:]) if part.value], script[0:0]) if at else script


def environment_around(node: Mapping, visit: Visit) -> dict[str, EnvVar]:
    """Variables that the file sets for a script: workflow, job, step; the nearest wins."""
    env: dict[str, EnvVar] = dict(visit.outside.env) if visit.outside is not None else {}
    for parent in (*visit.parents, node):
        for key in _ENVIRONMENTS:
            listed = parent.get(key)
            if isinstance(listed, Mapping):
                for name, pair in listed:
                    value = pair.value
                    word = value.word if isinstance(value, Scalar) and not value.null else None
                    if isinstance(value, Mapping) and (default := value.scalar("value")) is not None:
                        word = default.word
                    env[name] = EnvVar(pair.key.word, word, pair.span, "secret" if key == "secrets" else "file")
            for item in listed.items if isinstance(listed, Sequence) else ():
                if isinstance(item, Scalar):
                    variable = assignment(item.word)
                    env[variable.name.value] = variable
                elif isinstance(item, Mapping) and (name_node := item.scalar("name")) is not None:
                    given = item.scalar("value")
                    env[name_node.value] = EnvVar(name_node.word, given.word if given else None, item.span)
    return env


def _resources(node: Mapping, visit: Visit) -> Iterator[Mapping]:
    for parent in (node, *reversed(visit.parents)):
        found = parent.map("resources")
        if found is not None:
            yield found
            return


def _hints(node: Mapping, visit: Visit) -> Iterator[Hint]:
    for resources in _resources(node, visit):
        for key, kind in (("accelerators", "skypilot-task"), ("gpu", "dstack"), ("instance_type", "aws-instance")):
            value = resources.get(key)
            if isinstance(value, Scalar) and not value.null:
                yield Hint(kind, value.value, value.word.value_span)
            elif isinstance(value, Mapping):
                names = [pair.key for _, pair in value] if kind == "skypilot-task" else [value.scalar("name")]
                for name in names:
                    if isinstance(name, Scalar):
                        yield Hint(kind, name.value, name.word.value_span)
            elif isinstance(value, Sequence):
                for item in value.items:
                    if isinstance(item, Scalar):
                        yield Hint(kind, item.value, item.word.value_span)


def _requested(node: Mapping, visit: Visit) -> Iterator[GpuRequest]:
    for resources in _resources(node, visit):
        for key in ("accelerators", "gpu"):
            pair = resources.pair(key)
            if pair is None:
                continue
            nodes = _nodes(node)
            value = pair.value
            if isinstance(value, Scalar):
                found = re.search(r":\s*(\d+)\s*$", value.value) or re.fullmatch(r"\s*(\d+)\s*", value.value)
                count = int(found.group(1)) if found else (1 if re.fullmatch(r"[\w-]+", value.value) else None)
                yield GpuRequest(key, pair.span, value.word.value_span, count, value.value, nodes=nodes)
            elif isinstance(value, Mapping):
                count_node = value.scalar("count") or next((p.value for _, p in value if isinstance(p.value, Scalar)), None)
                count = int(count_node.value) if isinstance(count_node, Scalar) and count_node.value.isdigit() else None
                yield GpuRequest(
                    key, pair.span, value.span, count, count_node.value if isinstance(count_node, Scalar) else "", nodes=nodes
                )


def _nodes(node: Mapping) -> int | None:
    found = node.scalar("num_nodes") or node.scalar("nodes")
    return int(found.value) if found is not None and found.value.isdigit() else None
