"""vLLM's own configuration file (``vllm serve --config serve.yaml``), recognised by its keys alone."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path

from lint_vllm.extract.keyed import settings_of
from lint_vllm.extract.processes import option_name, proves_vllm
from lint_vllm.extract.visit import Visit
from lint_vllm.extract.yaml_nodes import Mapping, parse
from lint_vllm.launch import Launch, Setting
from lint_vllm.source import Text

_POSITIONAL = {"model", "model-tag", "config", "middleware"}
_MOSTLY = 0.75
"""Share of the keys that must be options of vLLM; the rest are slips, or options that the tables do not know yet."""


@lru_cache(maxsize=1)
def option_names() -> frozenset[str]:
    """Every option of any release, without leading dashes (data/flags)."""
    lines = (Path(__file__).parent.parent / "data" / "flags" / "options.jsonl").read_text(encoding="utf-8").splitlines()
    return frozenset(json.loads(line)[0].lstrip("-") for line in lines if line.startswith("["))


def config_file(node: Mapping, visit: Visit) -> list[Launch]:
    """The launch of a document whose top level holds options of vLLM and hardly anything else."""
    quoted = visit.outside is not None and visit.outside.passage == "doc"
    if visit.path or quoted or len(visit.documents) != 1 or not is_config(node):
        return []
    visit.mark(node)
    first = next(pair for _, pair in node)
    context = visit.context("config file", node.span)
    return [
        Launch(
            source=visit.source,
            form="config",
            site="config file",
            command=first.key.span,
            block=node.span,
            settings=settings_of(node),
            env=context.env,
            passage=context.passage,
        )
    ]


def settings_in(text: Text) -> tuple[Setting, ...]:
    """The options of a configuration that is itself a value; none when the text is no configuration."""
    documents = parse(text).documents
    only = documents[0] if len(documents) == 1 else None
    return settings_of(only) if isinstance(only, Mapping) and is_config(only) else ()


def is_config(node: Mapping) -> bool:
    """Whether a mapping is a configuration of vLLM: enough option names, at least one that no other engine has."""
    names = [option_name(name) for name, _ in node]
    if len(names) < 2 or any("_" not in name and "-" not in name and name != name.lower() for name, _ in node):
        return False
    if not proves_vllm(names):
        return False
    known = [name for name in names if name in option_names() or name in _POSITIONAL or name.removeprefix("no-") in option_names()]
    return len(known) >= 2 and len(known) >= _MOSTLY * len(names)
