"""JSON files: task definitions of ECS, SageMaker, Vertex AI, Azure ML; dev containers; Kubernetes objects; benchmark plans."""

from __future__ import annotations

import re

from lint_vllm.extract.context import Context, Extraction, Follower
from lint_vllm.extract.json_text import parse_json
from lint_vllm.extract.structure import Map, launches_in
from lint_vllm.launch import Deployment
from lint_vllm.source import SourceFile, Span, Text

MAX_CHARACTERS = 8_000_000
_TOLD = re.compile(r"vllm|option_|option\.", re.IGNORECASE)


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    if len(source.text) > MAX_CHARACTERS or not _TOLD.search(source.text):
        return Extraction()
    document = parse_json(Text.of(source))
    root = document.root
    if root is None:
        return Extraction((), document.problems)
    if isinstance(root, Map) and root.get("apiVersion") is not None and root.get("kind") is not None:
        from lint_vllm.extract.yaml_file import extract as extract_yaml

        return extract_yaml(source, follow)
    context = Context(source, follow=follow, deployment=Deployment("other", Span(source, 0, 0)))
    launches = launches_in(root, context)
    return Extraction(tuple(launches), document.problems if launches else ())
