"""Names of vLLM's Python modules that a release no longer has, where a file imports them."""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator

from lint_vllm.arguments.tables import data_text, release_key
from lint_vllm.frozen import dataclass
from lint_vllm.source import SourceFile, Span


@dataclass(frozen=True, slots=True)
class RemovedName:
    """``words`` says what took its place; ``span`` is the name in the import."""

    name: str
    module: str
    removed: str
    words: str
    span: Span


def removed_imports(source: SourceFile, release: str) -> Iterator[RemovedName]:
    """Imports at the top of a file that end in ImportError; one inside ``try`` or a function may be meant for older releases."""
    for row in _rows():
        if release_key(release) < release_key(row["removed"]):
            continue
        pattern = rf"^from[ \t]+(?:vllm|{re.escape(row['module'])})[ \t]+import[ \t]+(?:\([^)]*?|[^\n]*?)\b({row['name']})\b"
        for found in re.finditer(pattern, source.text, re.MULTILINE):
            yield RemovedName(row["name"], row["module"], row["removed"], row["words"], source.span(*found.span(1)))


@functools.lru_cache(maxsize=1)
def _rows() -> list[dict[str, str]]:
    rows: list[dict[str, str]] = json.loads(data_text("names.json"))
    return rows
