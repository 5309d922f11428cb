"""An environment variable that the release no longer reads.

Why: the setting is without effect, and only a warning in the log says so: another attention backend runs than the file says.
Instead: the argument that took its place, or nothing.
Wrong when: another program in the same environment reads the variable.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.history import env_history, successor_of
from lint_vllm.edits import add_flag, remove_env
from lint_vllm.examples import compose
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_ENV = "ipc: host\ngpus: all\nenvironment:\n  HF_HOME: /hub\n  VLLM_USE_V1: '1'"


@rule(
    code="ARG021",
    name="removed-env",
    severity=Severity.WARNING,
    since="0.1",
    sources=("data set flags/env.jsonl", "EuroEval/EuroEval#1488", "allenai/open-instruct#1564"),
    bad=(
        Bad(
            compose("Qwen/Qwen3-8B", extra=_ENV),
            name="compose.yaml",
            mark="VLLM_USE_V1",
            fixed=compose("Qwen/Qwen3-8B", extra="ipc: host\ngpus: all\nenvironment:\n  HF_HOME: /hub"),
        ),
        Bad(
            "export VLLM_ATTENTION_BACKEND=FLASHINFER\nvllm serve Qwen/Qwen3-8B\n",
            mark="VLLM_ATTENTION_BACKEND",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("export VLLM_ATTENTION_BACKEND=FLASHINFER\nvllm serve Qwen/Qwen3-8B\n", facts={"vllm_version": "0.10.2"}),
        Good("export VLLM_LOGGING_LEVEL=$LEVEL\nvllm serve Qwen/Qwen3-8B\n", facts={"vllm_version": "0.33.0"}),
    ),
)
def removed_env(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if not facts.release.sure:
        return
    for name, variable in facts.launch.env.items():
        history = env_history(name) if name.startswith("VLLM_") else None
        removed = history.removed_before(facts.release.table) if history is not None else None
        if removed is None:
            continue
        yield Finding(
            variable.name.value_span,
            f"{name} is not read since {removed}; in vLLM {facts.release.version} ({facts.release.origin}) it has no effect",
            fixes=tuple(_ways(name, args, facts)),
        )


def _ways(name: str, args: ArgumentSet, facts: Facts) -> Iterator[Fix]:
    variable = facts.launch.env[name]
    successor = successor_of(name)
    removal = remove_env(variable)
    value = variable.value
    if successor is not None and successor.flag is not None and not args.given(successor.flag):
        plain = value is not None and value.unknown is None and value.value
        here = args.launch.words and args.launch.source is variable.span.source
        added = add_flag(args, successor.flag, value.value) if plain and value is not None and here else ()
        if added and removal and successor.rename_is_safe:
            yield Fix(f"use {successor.flag} instead", edits=(*removal, *added), applicability=Applicability.SAFE)
            return
        yield Fix(f"use {successor.flag} instead: {successor.words}")
    yield Fix(
        "delete it: it does nothing",
        edits=removal,
        applicability=Applicability.SAFE if removal else Applicability.DISPLAY,
    )
