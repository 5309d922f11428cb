"""LoRA adapters that a launch names, and their ranks as far as they lie in the repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.facts import Facts
from lint_vllm.facts.models import mounts_of
from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern

_REQUEST = pattern(r"LoRARequest\(\s*(?P<args>[^()]{1,500})\)")
_CONSTANT = pattern(r"""^(?P<name>[A-Za-z_]\w*)\s*(?::[^=\n]+)?=\s*(?P<quote>["'])(?P<text>[^"'\\\n]*)(?P=quote)""", re.MULTILINE)
_TEXT = pattern(r"""(?P<quote>["'])(?P<text>(?:(?!(?P=quote))[^\\\n])*)(?P=quote)""")


@dataclass(frozen=True, slots=True)
class Adapter:
    """``rank`` is the largest of the adapter: ``r``, or a layer's own in ``rank_pattern``."""

    path: str
    rank: int


def adapters(args: ArgumentSet, facts: Facts) -> tuple[Adapter, ...]:
    """Adapters with a known rank."""
    mounts = mounts_of(facts.launch)
    found: list[Adapter] = []
    for path in dict.fromkeys((*_named(args), *_requested(facts))):
        config = facts.repository.adapter_config(path, mounts)
        rank = _rank(config) if config is not None else None
        if rank is not None:
            found.append(Adapter(path, rank))
    return tuple(found)


def _named(args: ArgumentSet) -> Iterator[str]:
    """Paths of ``--lora-modules``: ``name=path``, or JSON objects."""
    value = args.value("lora_modules")
    for item in value if isinstance(value, (list, tuple)) else [value]:
        entry: object = item
        if isinstance(item, str) and item.lstrip().startswith("{"):
            try:
                entry = json.loads(item)
            except ValueError:
                continue
        if isinstance(entry, Mapping):
            entry = entry.get("path")
        elif isinstance(entry, str):
            entry = entry.partition("=")[2]
        if isinstance(entry, str) and entry:
            yield entry


def _requested(facts: Facts) -> Iterator[str]:
    """Paths of ``LoRARequest("name", 1, "path")`` in the Python file of the launch."""
    if facts.launch.form != "python":
        return
    text = facts.launch.source.text
    constants: dict[str, str] | None = None
    for call in _REQUEST.finditer(text):
        parts = [part.strip() for part in call["args"].split(",")]
        named = [p.partition("=")[2].strip() for p in parts if p.startswith(("lora_path", "lora_local_path"))]
        path = named[0] if named else parts[2] if len(parts) > 2 else ""
        literal = _TEXT.fullmatch(path)
        if literal is not None:
            yield literal["text"]
        elif path.isidentifier():
            if constants is None:
                constants = {m["name"]: m["text"] for m in _CONSTANT.finditer(text)}
            if path in constants:
                yield constants[path]


def _rank(config: Mapping[str, Any]) -> int | None:
    ranks = [config.get("r")]
    pattern = config.get("rank_pattern")
    if isinstance(pattern, Mapping):
        ranks += list(pattern.values())
    numbers = [r for r in ranks if isinstance(r, int) and not isinstance(r, bool) and r > 0]
    return max(numbers, default=None)
