"""An abbreviated flag.

Why: the parser completes unambiguous beginnings of flags. A later release that adds a flag with the same beginning makes it
ambiguous, and the launch that worked is refused.
Instead: the full name.
Wrong when: never seen; it runs today.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule


@rule(
    code="ARG005",
    name="prefix-abbrev",
    severity=Severity.INFO,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 utils/argparse_utils.py",),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --gpu-memory-util 0.9\n",
            mark="--gpu-memory-util",
            fixed="vllm serve Qwen/Qwen3-8B --gpu-memory-utilization 0.9\n",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --gpu_memory_utilization=0.9\n"),
        Good('vllm serve Qwen/Qwen3-8B -tp 1 "$REST"\n'),
    ),
)
def prefix_abbrev(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for argument in args.arguments:
        written = argument.spelled.split("=")[0].split(".")[0]
        full = argument.flag.split(".")[0]
        bare = "--" + written[2:].replace("_", "-")
        if argument.setting is not None or not written.startswith("--") or bare == full or not full.startswith(bare):
            continue
        place = Span(argument.name_span.source, argument.name_span.start, argument.name_span.start + len(written))
        exact = place.text == written
        yield Finding(
            place if exact else argument.name_span,
            f"{written} is read as {full}; a later release may have two flags that begin so, and then refuses it",
            fixes=(
                Fix(
                    f"write {full}",
                    edits=(Edit(place, full),) if exact else (),
                    applicability=Applicability.SAFE if exact else Applicability.DISPLAY,
                    verified=True,
                ),
            ),
        )
