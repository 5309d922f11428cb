"""Config maps that the kustomization beside a file generates from files, ``.env`` files and literals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from lint_vllm.extract.compose import assignment, env_file_values
from lint_vllm.extract.context import Follower
from lint_vllm.extract.visit import Visit
from lint_vllm.extract.yaml_nodes import Mapping, Scalar, parse
from lint_vllm.frozen import dataclass
from lint_vllm.launch import EnvVar, Mount
from lint_vllm.source import Text

_NAMES = ("kustomization.yaml", "kustomization.yml", "Kustomization")


@dataclass(frozen=True, slots=True)
class GeneratedMap:
    """One ``configMapGenerator``: its variables, and the file behind each key, relative to the linted file."""

    env: dict[str, EnvVar] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)


def generated_map(visit: Visit, name: str | None) -> GeneratedMap:
    """The generated config map of this name; an empty one when there is none."""
    memo: dict[str, GeneratedMap] | None = visit.page.memo.get("generated maps")
    if memo is None:
        memo = dict(_generated(visit.follow)) if visit.follow is not None else {}
        visit.page.memo["generated maps"] = memo
    return memo.get(name or "", GeneratedMap())


def mounted_files(visit: Visit, mounts: tuple[Mount, ...]) -> tuple[tuple[str, str], ...]:
    """(path in the container, path relative to the linted file) of what generated config maps bring into a container."""
    maps = [(m.target.rstrip("/"), generated_map(visit, m.source)) for m in mounts if m.kind == "configMap"]
    return tuple((f"{target}/{key}", path) for target, found in maps for key, path in found.files.items())


def _generated(follow: Follower) -> Iterator[tuple[str, GeneratedMap]]:
    source = next((found for name in _NAMES if (found := follow.read(name)) is not None), None)
    documents = parse(Text.of(source)).documents if source is not None else []
    for document in documents:
        for item in document.items("configMapGenerator") if isinstance(document, Mapping) else ():
            if isinstance(item, Mapping) and (name := item.string("name")) is not None:
                yield name, _map(item, follow)


def _map(item: Mapping, follow: Follower) -> GeneratedMap:
    found = GeneratedMap()
    single = item.string("env")
    for path in (*_strings(item, "envs"), *((single,) if single else ())):
        source = follow.read(path)
        for name, word in env_file_values(source).items() if source is not None else ():
            found.env[name] = EnvVar(word, word, word.span, "configmap")
    for node in item.items("literals"):
        if isinstance(node, Scalar) and "=" in node.value:
            variable = assignment(node.word)
            found.env[variable.name.value] = variable
    for entry in _strings(item, "files"):
        key, equals, path = entry.partition("=")
        found.files[key if equals else entry.rsplit("/", 1)[-1]] = path if equals else entry
    return found


def _strings(item: Mapping, key: str) -> list[str]:
    return [node.value for node in item.items(key) if isinstance(node, Scalar)]
