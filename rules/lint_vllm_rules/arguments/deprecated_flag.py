"""A flag that a coming release will drop.

Why: it still works, and is marked deprecated; after the next upgrade the parser refuses it.
Instead: its successor.
Wrong when: you stay on this release.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.history import flag_history, successor_of
from lint_vllm.arguments.tables import release_key
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG022",
    name="deprecated-flag",
    severity=Severity.INFO,
    since="0.1",
    docs=True,
    sources=("data set flags/options.jsonl",),
    bad=(Bad("vllm serve Qwen/Qwen3-Embedding-8B --task embed\n", mark="--task", facts={"vllm_version": "0.11.0"}),),
    good=(
        Good("vllm serve Qwen/Qwen3-Embedding-8B --task embed\n", facts={"vllm_version": "0.9.2"}),
        Good('vllm serve Qwen/Qwen3-8B "$OPTIONS"\n', facts={"vllm_version": "0.11.0"}),
    ),
)
def deprecated_flag(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if not facts.release.sure:
        return
    seen: set[str] = set()
    for argument in args.arguments:
        history = flag_history(argument.flag)
        if history is None or history.deprecated_in is None or argument.flag in seen or not history.present(facts.release.table):
            continue
        if release_key(history.deprecated_in) > release_key(facts.release.table):
            continue
        seen.add(argument.flag)
        successor = successor_of(argument.flag)
        gone = history.removed
        after = f" and gone in {gone}" if gone is not None else ""
        yield Finding(
            argument.name_span,
            f"{argument.flag} is deprecated since {history.deprecated_in}{after}; vLLM {facts.release.version} still takes it",
            fixes=(Fix(successor.words),) if successor is not None else (),
        )
