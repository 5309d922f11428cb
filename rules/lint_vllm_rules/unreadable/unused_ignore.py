"""An ignore comment silences nothing.

Why: it outlived the finding it was written for, and would hide the next one.
Instead: remove it; `--fix` does.
Wrong when: the finding depends on facts of another machine; state them in settings.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Options, Severity, rule


@rule(
    code="SRC002",
    name="unused-ignore",
    severity=Severity.WARNING,
    since="0.1",
    bad=(
        Bad(
            "# Qwen\nset -eu\n# lint-vllm: ignore[MEM022] measured\nvllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.9\n",
            mark="ignore[MEM022] measured",
            fixed="# Qwen\nset -eu\nvllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.9\n",
        ),
    ),
    good=(
        Good("set -eu\n# lint-vllm: ignore[MEM022] measured\nvllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.98\n"),
        Good('set -eu\n# lint-vllm: gpu=L4\nvllm serve "$MODEL"\n'),
    ),
)
def unused_ignore(args: ArgumentSet, facts: Facts, options: Options) -> Iterator[Finding]:
    """The engine reports these, after all other rules have spoken."""
    yield from ()
