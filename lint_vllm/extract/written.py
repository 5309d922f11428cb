"""Files that a script writes itself (``cat > run.sh <<EOF``): read as what their name says."""

from __future__ import annotations

import re

from lint_vllm.extract.context import MAX_DEPTH, Context
from lint_vllm.extract.passages import launches_in_pieces
from lint_vllm.extract.shell_values import Pieces, Script
from lint_vllm.launch import Launch


def launches_in_written(name: str, pieces: Pieces, context: Context) -> list[Launch]:
    """The launches in text that will stand in a file of this name."""
    if context.depth > MAX_DEPTH or not pieces:
        return []
    script = Script.of_pieces(pieces, pieces[0].text[:0])
    from lint_vllm.extract.registry import kind_of

    kind = kind_of(re.sub(r"\$\{?\w+\}?", "x", name), script.value[:400].lstrip())
    if kind is None and re.search(r"(?:^|[;&|])\s*(?:exec\s+)?(?:vllm\s+serve|python3?\s+-m\s+vllm\.)", script.value, re.MULTILINE):
        kind = "shell"
    if kind == "shell" or (kind is None and re.match(r"#!.*\b(?:ba|da|z)?sh\b", script.value.lstrip()[:80])):
        from lint_vllm.extract.shell import run_script

        return run_script(script, context)
    return launches_in_pieces(kind, pieces, context) if kind is not None else []
