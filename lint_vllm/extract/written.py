"""Files that a script writes itself (``cat > run.sh <<EOF``): read as what their name says."""

from __future__ import annotations

import re

from lint_vllm.extract.context import MAX_DEPTH, Context
from lint_vllm.extract.shell_values import Script
from lint_vllm.launch import Launch


def launches_in_written(name: str, script: Script, context: Context) -> list[Launch]:
    """The launches in text that will stand in a file of this name."""
    if context.depth > MAX_DEPTH:
        return []
    lower = name.lower().rsplit("/", 1)[-1]
    head = script.value[:200].lstrip()
    if lower.endswith((".sh", ".bash", ".sbatch", ".slurm")) or re.match(r"#!.*\b(?:ba|da|z)?sh\b", head):
        from lint_vllm.extract.shell import run_script

        return run_script(script, context)
    if lower.endswith((".service", ".container")):
        from lint_vllm.extract.systemd import launches_in_unit

        return launches_in_unit(script.text, context)
    return []
