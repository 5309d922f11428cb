"""The number of cache blocks is set by hand.

Why: the override replaces what profiling found, so the share of `--gpu-memory-utilization` no longer bounds the cache: too many
blocks die of memory when the cache is allocated or under load, too few waste the card. It exists for tests of preemption.
Instead: leave it out; to fix the size use `--kv-cache-memory-bytes`.
Wrong when: a test wants exactly this.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG050",
    name="num-gpu-blocks-override",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 v1/core/kv_cache_planning.py", "vllm-project/vllm#19023"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --num-gpu-blocks-override 40000 --port 8000\n",
            mark="--num-gpu-blocks-override",
            fixed="vllm serve Qwen/Qwen3-8B --port 8000\n",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --kv-cache-memory-bytes 4G\n"),
        Good('vllm serve Qwen/Qwen3-8B "$OVERRIDE"\n'),
    ),
)
def num_gpu_blocks_override(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("num_gpu_blocks_override")
    if argument is None or argument.value is None:
        return
    edits = remove_argument(argument)
    yield Finding(
        argument.name_span,
        "the number of cache blocks is set by hand: it replaces what profiling finds, and the share no longer bounds the cache",
        fixes=(
            Fix(
                "leave it out: profiling finds the number",
                edits=edits,
                applicability=Applicability.SAFE if edits else Applicability.DISPLAY,
            ),
        ),
    )
