"""Kubernetes Services that stand in the file of a launch or in another one of its folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from lint_vllm.facts import Facts
from lint_vllm.facts.repository import Repository
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Deployment, Word
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Text

_KIND = pattern(r"""^\s*(?:- )?["']?kind["']?:[ \t]*["']?(?:Service|InferencePool)\b""", re.MULTILINE)
_KUSTOMIZATIONS = {"kustomization.yaml", "kustomization.yml", "Kustomization"}
_RENAMES = pattern(r"^name(?:Prefix|Suffix):[ \t]*\S", re.MULTILINE)
MAX_FOLDER_FILES = 40
"""A folder with more manifests holds several applications."""


@dataclass(frozen=True, slots=True)
class Service:
    """``selector`` is ``None`` where it is not plain text."""

    name: Word
    namespace: str | None
    selector: Mapping[str, str] | None
    kind: str = "Service"
    """``InferencePool``: the gateway's own way to send requests to pods."""

    def reaches(self, deployment: Deployment) -> bool:
        """Whether the pod may lie in the namespace of the Service."""
        return self.namespace is None or deployment.namespace in (None, self.namespace)

    def selects(self, deployment: Deployment) -> bool:
        """Whether the Service sends requests to the pod, as far as both say."""
        if not self.reaches(deployment) or not self.selector:
            return False
        return bool(deployment.labels) and self.selector.items() <= deployment.labels.items()


def services_beside(facts: Facts) -> tuple[Service, ...]:
    """The Services of the file, then those of its folder; none for files that no Kubernetes object holds."""
    deployment, source = facts.launch.deployment, facts.launch.source
    if deployment is None or deployment.kind != "pod" or deployment.resource_kind is None:
        return ()
    return facts.repository.remember("services", lambda: (*_services_in(source), *_in_folder(facts, source)))


def renamed(facts: Facts) -> bool:
    """Whether a kustomization of the folder, or an overlay beside it, gives objects other names."""
    return facts.repository.remember("renamed", lambda: _renamed(facts.repository))


def _renamed(repository: Repository) -> bool:
    here = repository.folder
    if not _KUSTOMIZATIONS & set(repository.names(here)):
        return False
    around = [
        here.parent,
        *(here.parent / name for name in repository.folders(here.parent)),
        *(here / n for n in repository.folders(here)),
    ]
    for folder in (here, *around):
        for name in _KUSTOMIZATIONS & set(repository.names(folder)):
            text = repository.text(folder / name)
            if text is not None and _RENAMES.search(text):
                return True
    return False


def _in_folder(facts: Facts, source: SourceFile) -> Iterator[Service]:
    repository = facts.repository
    names = [name for name in repository.names() if name.endswith((".yaml", ".yml"))]
    if len(names) > MAX_FOLDER_FILES:
        return
    for name in names:
        path = repository.folder / name
        text = repository.text(path)
        if text is None or os.path.realpath(source.path) == str(path) or _KIND.search(text) is None:
            continue
        found = repository.read(name)
        if found is not None:
            yield from _services_in(found)


def _services_in(source: SourceFile) -> tuple[Service, ...]:
    if _KIND.search(source.text) is None:
        return ()
    from lint_vllm.extract.yaml_nodes import Mapping as Node
    from lint_vllm.extract.yaml_nodes import Scalar, parse

    found: list[Service] = []
    for document in parse(Text.of(source)).documents:
        if not isinstance(document, Node):
            continue
        for item in document.items("items") if document.string("kind") == "List" else [document]:
            kind = item.string("kind") if isinstance(item, Node) else None
            if not isinstance(item, Node) or kind not in ("Service", "InferencePool"):
                continue
            if kind == "Service" and (item.string("apiVersion") or "v1") != "v1":
                continue
            name = item.scalar("metadata", "name")
            if name is None:
                continue
            pairs = list(item.map("spec", "selector", "matchLabels") or item.map("spec", "selector") or ())
            plain = {key: p.value.value for key, p in pairs if isinstance(p.value, Scalar) and not p.value.templated}
            selector = plain if len(plain) == len(pairs) else None
            found.append(Service(name.word, item.string("metadata", "namespace"), selector, kind))
    return tuple(found)
