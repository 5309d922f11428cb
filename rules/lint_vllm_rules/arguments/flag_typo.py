"""A flag that no vLLM release knows.

Why: the argument parser refuses the whole command line, so the server does not start.
Instead: the flag that was meant; `vllm serve --help=all` lists them.
Wrong when: a plug-in or a fork of vLLM adds the flag.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.judgement import softened
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
    rule,
)


class Limits(Options):
    max_distance: int = 2


_BUILD_OF_ITS_OWN = 3
"""So many flags of no release in one launch are no slips: a fork or a plug-in reads them."""


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
        Bad(
            "model: Qwen/Qwen3-8B\nmax-model-len: 8192\ngpu-memory-utilization: 0.9\ntensor-paralel-size: 1\n",
            name="serve.yaml",
            mark="tensor-paralel-size",
            fixed="model: Qwen/Qwen3-8B\nmax-model-len: 8192\ngpu-memory-utilization: 0.9\ntensor-parallel-size: 1\n",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 8192 --tensor_parallel_size 1\n"),
        Good("vllm serve Qwen/Qwen3-8B --gpu-memory-util 0.9\n"),
        Good('vllm serve Qwen/Qwen3-8B "$EXTRA"\n'),
    ),
)
def flag_typo(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    far = sum(p.is_error and p.kind == "unknown" and not _is_close(p, limits) for p in args.problems)
    for problem in args.problems:
        if not problem.is_error or args.form == "python" or cause_of(problem, args) not in ("typo", "ambiguous"):
            continue
        if problem.kind == "ambiguous":
            yield Finding(
                problem.span, f"{problem.message}: argument parsing refuses the launch", severity=softened(facts, Severity.ERROR)
            )
            continue
        near = problem.suggestions[0] if problem.suggestions else None
        close = _is_close(problem, limits)
        if not close and problem.setting is not None and args.launch.form in ("chart", "env", "other"):
            continue  # a key of the program that holds the options, which need not hand it on
        message = f"vLLM has no flag {_wrong(problem)}; argument parsing refuses the launch"
        if facts.release.certainty == "newer":
            severity, message = Severity.INFO, f"no release up to {facts.release.table} has a flag {_wrong(problem)}"
        else:
            alone = args.launch.form == "config"  # somebody else may read a file of options that no command names
            severity = Severity.ERROR if close or (facts.release.sure and not alone) else Severity.WARNING
            if not close and not facts.release.sure and far >= _BUILD_OF_ITS_OWN:
                severity, message = Severity.INFO, f"no published vLLM has a flag {_wrong(problem)}"
        fixes = (_rename(problem, near, close and _unique(problem, limits)),) if near is not None else ()
        yield Finding(problem.span, message, fixes=fixes, severity=severity)


def _wrong(problem: Problem) -> str:
    """The flag as written; a word with another dash in front is none to the parser."""
    return problem.flag or problem.value or ""


def _is_close(problem: Problem, limits: Limits) -> bool:
    """Whether a real flag is so near that it must be meant."""
    near = problem.suggestions[0] if problem.suggestions else None
    return near is not None and _distance(_bare(_wrong(problem)), _bare(near)) <= limits.max_distance


def _rename(problem: Problem, flag: str, safe: bool) -> Fix:
    edits = _edits(problem, flag)
    applicability = Applicability.SAFE if safe and edits else Applicability.UNSAFE
    return Fix(f"write {flag}", edits, applicability)


def _edits(problem: Problem, flag: str) -> tuple[Edit, ...]:
    """The name rewritten in place, with dashes on a command line and without them as a key of a file."""
    written, wrong = problem.span.text, _wrong(problem)
    if written == wrong:
        return (Edit(problem.span, flag),)
    return (Edit(problem.span, _bare(flag)),) if written == wrong.lstrip("-") else ()


def _unique(problem: Problem, limits: Limits) -> bool:
    """Whether only one known flag is that near."""
    wanted = _bare(_wrong(problem))
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
