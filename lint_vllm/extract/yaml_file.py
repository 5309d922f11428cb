"""A YAML file of any kind: every mapping is shown to the recognisers, every script to the shell reader.

The order matters: what knows the format best comes first and marks what it has read.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING

from lint_vllm.extract.context import MAX_DEPTH, Context, Extraction, Follower, Unreadable
from lint_vllm.extract.registry import TELLTALE, WRAPPINGS
from lint_vllm.extract.visit import Recogniser, Visit, children
from lint_vllm.extract.yaml_nodes import Mapping, Node, Page, Scalar, Sequence, parse
from lint_vllm.launch import Launch
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_NODES = 200_000
"""Nodes of one file that are looked at."""


def extract(source: SourceFile, follow: Follower | None) -> Extraction:
    """The launches of a YAML file."""
    page = parse(Text.of(source))
    page.values = TemplateValues(page, follow)
    walk = _Walk(page, follow)
    launches = walk.launches()
    if page.problems:
        launches = [_incomplete(launch) for launch in launches]
    problems = () if _is_template(source.path, page) else tuple(page.problems)
    if walk.unread is not None:
        problems += (
            Unreadable(walk.unread, f"the file has more than {MAX_NODES:,} values; this one and later ones were not read"),
        )
    return Extraction(tuple(_unique(launches)), problems)


def _is_template(path: str, page: Page) -> bool:
    """Whether a file is a template by its name, and so need not be YAML before it is filled in."""
    named = PurePosixPath(path.replace("\\", "/"))
    return bool(page.masked.regions) and (named.suffix in WRAPPINGS or "templates" in named.parts)


def _incomplete(launch: Launch) -> Launch:
    """A launch of a file of which a part could not be read."""
    if launch.deployment is None:
        return launch
    return replace(launch, deployment=replace(launch.deployment, complete=False, env_complete=False, mounts_complete=False))


class TemplateValues:
    """What the tags of a template stand for: the chart's ``values.yaml``, a play's ``vars``, a role's defaults."""

    def __init__(self, page: Page, follow: Follower | None) -> None:
        self.page = page
        self.follow = follow
        self.folders = page.source.path.replace("\\", "/").split("/")[:-1]

    def __call__(self, path: str, of_chart: bool) -> Scalar | None:
        steps = path.split(".")
        pools = (self._chart,) if of_chart else self._variables
        return next((found for pool in pools if (found := pool.scalar(*steps)) is not None), None)

    @cached_property
    def _chart(self) -> Mapping:
        return self._read(self._up_from("templates") + "values.yaml")

    @cached_property
    def _variables(self) -> tuple[Mapping, ...]:
        own = [node for document in self.page.documents for node in _variable_maps(document, 0)]
        role = next((name for name in ("templates", "tasks", "handlers") if name in self.folders), None)
        if role is not None:
            own += [self._read(f"{self._up_from(role)}{name}/main.yml") for name in ("vars", "defaults")]
        return tuple(own)

    def _up_from(self, folder: str) -> str:
        return "../" * (self.folders[::-1].index(folder) + 1) if folder in self.folders else ""

    def _read(self, path: str) -> Mapping:
        source = self.follow.read(path) if self.follow is not None and path.startswith("../") else None
        documents = parse(Text.of(source)).documents if source is not None else []
        return next((d for d in documents if isinstance(d, Mapping)), Mapping(self.page, 0, 0))


def _variable_maps(node: Node, depth: int) -> Iterable[Mapping]:
    """The ``vars`` of plays, blocks and tasks."""
    if isinstance(node, Sequence) and depth < 6:
        for item in node.items[:200]:
            yield from _variable_maps(item, depth + 1)
    elif isinstance(node, Mapping) and depth < 6:
        if (own := node.map("vars")) is not None:
            yield own
        for key in ("tasks", "block", "pre_tasks", "post_tasks"):
            if (inner := node.get(key)) is not None:
                yield from _variable_maps(inner, depth + 1)


def launches_in_yaml(text: Text, context: Context, documents: tuple[Node, ...] = ()) -> list[Launch]:
    """The launches of YAML that is itself a value: in a config map, an annotation, a heredoc.

    ``documents``: those of the YAML file around it, where there is one.
    """
    if context.depth >= MAX_DEPTH:
        return []
    return _Walk(parse(text), context.follow, context, documents).launches()


def _unique(launches: Iterable[Launch]) -> list[Launch]:
    """Each launch once; a script that two containers run with other values is two."""
    seen: dict[tuple[str, int, int, tuple[str, ...]], Launch] = {}
    for launch in launches:
        values = tuple(word.value for word in launch.words)
        seen.setdefault((launch.path, launch.command.start, launch.command.end, values), launch)
    return list(seen.values())


def _recognisers() -> tuple[Recogniser, ...]:
    from lint_vllm.extract.compose import compose
    from lint_vllm.extract.helm import charts
    from lint_vllm.extract.keyed import keyed
    from lint_vllm.extract.kubernetes import json_patch, lone_container, named_service, pods, task_container
    from lint_vllm.extract.vllm_config import config_file
    from lint_vllm.extract.workflows import tasks

    return (compose, pods, *charts, lone_container, task_container, named_service, json_patch, config_file, tasks, keyed)


class _Walk:
    """Every node of every document once, from the outside in."""

    def __init__(
        self, page: Page, follow: Follower | None, outside: Context | None = None, documents: tuple[Node, ...] = ()
    ) -> None:
        self.page = page
        self.visit = Visit(page, follow, outside=outside, depth=outside.depth if outside else 0, outer_documents=documents)
        self.recognisers = _recognisers()
        self.visited: set[tuple[int, int, type]] = set()
        self.found: list[Launch] = []
        self.unread: Span | None = None
        """The first value that was passed over because the file holds too many."""
        self.worth = [found.start() for found in _WORTH.finditer(page.origin.value)]

    def launches(self) -> list[Launch]:
        documents = [d for d in self.page.documents if not _is_test_suite(d)]
        documents.sort(key=lambda d: isinstance(d, Mapping) and d.string("kind") == "ConfigMap")
        for document in documents:
            self._node(document, self.visit)
        return self.found

    def _node(self, node: Node, visit: Visit) -> None:
        key = (id(node.page), node.start, type(node))
        if key in self.visited or visit.seen(node):
            return
        if len(self.visited) > MAX_NODES:
            self.unread = self.unread or node.span
            return
        self.visited.add(key)
        if isinstance(node, Scalar):
            self._scalar(node, visit)
            return
        first = bisect.bisect_left(self.worth, node.start)
        if first == len(self.worth) or self.worth[first] >= node.end:
            return  # nothing below says vLLM, nor comes from elsewhere
        if isinstance(node, Mapping):
            for recognise in self.recognisers:
                self.found += recognise(node, visit)
                if visit.seen(node):
                    return
        elif isinstance(node, Sequence) and self._is_command(node, visit):
            return
        for child, inner in children(node, visit):
            self._node(child, inner)

    def _is_command(self, node: Sequence, visit: Visit) -> bool:
        """A list of words under a key that says command, outside any container."""
        if not visit.path or not _SCRIPT_KEY.search(str(visit.path[-1])) or not all(isinstance(i, Scalar) for i in node.items):
            return False
        words = [i.word for i in node.items if isinstance(i, Scalar)]
        if not words or any(" " in w.value.strip() for w in words[:1]) or not _LAUNCH.search(" ".join(w.value for w in words[:40])):
            return False
        from lint_vllm.extract.command import recognise

        launches = recognise(words, visit.context(block=node.span))
        self.found += launches
        return bool(launches)

    def _scalar(self, node: Scalar, visit: Visit) -> None:
        if len(node.raw) < 12 or not _LAUNCH.search(node.raw) or visit.depth >= MAX_DEPTH:
            return
        reader = reader_of(node, visit)
        if reader is not None:
            from lint_vllm.extract.workflows import command_of, environment_around

            parent = visit.parents[-1] if visit.parents else None
            pair = parent.pair(str(visit.path[-1])) if parent is not None and visit.path else None
            block = pair.span if pair is not None and pair.value is node else node.span
            context = visit.context(block=block)
            if reader is _shell and parent is not None:
                context = replace(context, env=MappingProxyType(environment_around(parent, visit)))
            self.found += reader(command_of(node) if reader is _shell else node.word.content, context)


def _is_test_suite(document: Node) -> bool:
    """A suite of helm-unittest: values that a test sets, no deployment."""
    return isinstance(document, Mapping) and "tests" in document and ("suite" in document or "templates" in document)


_WORTH = pattern(TELLTALE.pattern.decode() + r"|--[a-z]|kv[-_]?transfer|speculative|(?<=[\s,\[{:-])\*[\w-]", re.IGNORECASE)
"""The signs of a launch: names, options; and aliases, since what they stand for lies elsewhere."""
_LAUNCH = pattern(r"vllm|gpu[-_]memory[-_]util|max[-_]model[-_]len|tensor[-_]parallel|engine_kwargs|model_loading_config", re.I)
_SCRIPT_KEY = pattern(
    r"^(?:.*[._-])?(?:run|script|scripts|command|commands|cmd|cmds|args|arguments|entrypoint|exec|execstart|shell|bash|sh|start|launch|serve"
    r"|setup|startup|entry|install|server_cmd(?:_template)?|before_script|after_script|user[_-]?data|startup[_-]script)$"
    r"|(?:command|cmd|script|entrypoint|user_?data)s?$|\.(?:sh|bash|slurm|sbatch)$",
    re.I,
)
_PROSE_KEY = pattern(
    r"^(?:description|summary|title|help|message|msg|notes?|readme|placeholder|label|text|body|comment|doc|docs)$", re.I
)


def reader_of(node: Scalar, visit: Visit) -> Callable[[Text, Context], list[Launch]] | None:
    """Who reads a scalar: by the key it stands under, else by how it starts. ``None`` for prose and plain values."""
    key = next((str(step) for step in reversed(visit.path) if isinstance(step, str)), "")
    head = node.raw.lstrip()[:300]
    if "```" in node.raw:
        return _markdown
    if _PROSE_KEY.match(key):
        return None
    if re.search(r"\.py$", key) or (head.startswith("#!") and "python" in head.split("\n", 1)[0]):
        return _python
    if re.search(r"\.ya?ml(?:\.tpl)?$", key) or (node.style[:1] == "|" and _YAML_START.match(head) and "\n" in node.raw.strip()):
        return partial(launches_in_yaml, documents=visit.all_documents)
    if _SCRIPT_KEY.search(key) or head.startswith("#!"):
        return _shell
    return None


_YAML_START = pattern(r"(?:---\s*\n|(?:#[^\n]*\n)*\s*(?:- (?=op:|path:))?[A-Za-z_][\w.-]*:(?:[ \t]*\n|[ \t]+\S))")


def _shell(text: Text, context: Context) -> list[Launch]:
    from lint_vllm.extract.shell import launches_in_script

    return launches_in_script(text, context)


def _python(text: Text, context: Context) -> list[Launch]:
    from lint_vllm.extract.python import launches_in_python

    return launches_in_python(text, context)


def _markdown(text: Text, context: Context) -> list[Launch]:
    from lint_vllm.extract.markdown import launches_in_document

    return list(launches_in_document(text, context).launches)
