"""A flag that no vLLM release knows.

Why: the argument parser refuses the whole command line, so the server does not start.
Instead: the flag that was meant; `vllm serve --help=all` lists them.
Wrong when: a plug-in or a fork of vLLM adds the flag.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import (
    Applicability,
    ArgumentSet,
    Bad,
    Edit,
    Facts,
    Finding,
    Fix,
    Good,
    Options,
    Problem,
    Severity,
    Span,
    rule,
)


class Limits(Options):
    max_distance: int = 2


@rule(
    code="ARG001",
    name="flag-typo",
    severity=Severity.ERROR,
    since="0.1",
    options=Limits,
    docs=True,
    sources=("vllm==0.33.0 utils/argparse_utils.py FlexibleArgumentParser",),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --max-model-length 8192\n",
            mark="--max-model-length",
        ),
        Bad(
            "vllm serve Qwen/Qwen3-8B --tensor-paralel-size 2\n",
            mark="--tensor-paralel-size",
            fixed="vllm serve Qwen/Qwen3-8B --tensor-parallel-size 2\n",
        ),
        Bad(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n"
            '    command: ["--model", "Qwen/Qwen3-8B", "--max-num-seq=4", "--enforce-eagr"]\n',
            name="compose.yaml",
            mark="--enforce-eagr",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 8192 --tensor_parallel_size 1\n"),
        Good("vllm serve Qwen/Qwen3-8B --gpu-memory-util 0.9\n"),
        Good('vllm serve Qwen/Qwen3-8B "$EXTRA"\n'),
    ),
)
def flag_typo(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    for problem in args.problems:
        if problem.kind != "unknown" or problem.flag is None or problem.introduced_in or problem.removed_in:
            continue
        near = problem.suggestions[0] if problem.suggestions else None
        close = near is not None and _distance(_bare(problem.flag), _bare(near)) <= limits.max_distance
        message = f"vLLM has no flag {problem.flag}; argument parsing refuses the launch"
        if facts.release.certainty == "newer":
            severity, message = Severity.INFO, f"no release up to {facts.release.table} has a flag {problem.flag}"
        else:
            severity = Severity.ERROR if close or facts.release.sure else Severity.WARNING
        fixes = (_rename(problem, near, close and _unique(problem, limits)),) if near is not None else ()
        yield Finding(problem.span, message, fixes=fixes, severity=severity)


def _rename(problem: Problem, flag: str, safe: bool) -> Fix:
    place = _name_place(problem)
    return Fix(
        f"write {flag}",
        edits=(Edit(place, flag),) if place is not None else (),
        applicability=Applicability.SAFE if safe and place is not None else Applicability.UNSAFE,
    )


def _name_place(problem: Problem) -> Span | None:
    """Where the name alone stands, when it stands there literally."""
    if problem.flag is None or not problem.words:
        return None
    name = problem.words[0].content[: len(problem.flag)]
    return name.span if name.value == problem.flag and name.verbatim() else None


def _unique(problem: Problem, limits: Limits) -> bool:
    """Whether only one known flag is that near."""
    wanted = _bare(problem.flag or "")
    return sum(_distance(wanted, _bare(flag)) <= limits.max_distance for flag in problem.suggestions) == 1


def _bare(flag: str) -> str:
    return flag.lstrip("-").replace("_", "-")


def _distance(a: str, b: str) -> int:
    """Edits (insert, delete, replace) between two names."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]
