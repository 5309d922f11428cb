"""JSON files: task definitions of ECS, SageMaker, Vertex AI, Azure ML; dev containers; Kubernetes objects; benchmark plans."""

from __future__ import annotations

import re

from lint_vllm.extract.context import Context, Extraction, Follower, Unreadable
from lint_vllm.extract.json_text import parse_json
from lint_vllm.extract.structure import Map, Tree, launches_in
from lint_vllm.launch import Deployment
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile, Span, Text

MAX_CHARACTERS = 1_000_000
"""A larger file holds data, no deployment."""
_TOLD = pattern(r"vllm|option_|option\.", re.IGNORECASE)


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    if not _TOLD.search(source.text):
        return Extraction()
    if len(source.text) > MAX_CHARACTERS:
        reason = f"the file has more than {MAX_CHARACTERS:,} characters and was not read"
        return Extraction(problems=(Unreadable(source.span(0, 0), reason),))
    document = parse_json(Text.of(source))
    root = document.root
    if root is None:
        return Extraction((), document.problems)
    context = Context(source, follow=follow, deployment=Deployment("other", Span(source, 0, 0)))
    launches = () if _is_kubernetes(root) else tuple(launches_in(root, context))
    if launches:
        return Extraction(launches, document.problems)
    from lint_vllm.extract.yaml_file import extract as extract_yaml

    if isinstance(root, Map) and root.get("$schema") is not None and root.get("properties") is not None:
        return Extraction()  # a schema describes options, it sets none
    found = extract_yaml(source, follow).launches  # JSON is YAML: Kubernetes objects, compose, charts
    template = "{{" in source.text or "{%" in source.text
    kept = tuple(x for x in found if x.form != "chart" or any(s.flag == "model" for s in x.settings))
    return Extraction(kept, () if template else document.problems)


def _is_kubernetes(root: Tree) -> bool:
    return isinstance(root, Map) and root.get("apiVersion") is not None and root.get("kind") is not None
