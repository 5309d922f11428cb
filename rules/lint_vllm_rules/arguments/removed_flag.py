"""A flag that the release no longer has.

Why: the argument parser refuses the whole command line ("unrecognized arguments"), so the server does not start.
Instead: what replaced it, if anything did; pure no-ops are deleted.
Wrong when: the image holds another release than its tag says. 0.33 accepts some old names again as inverse spellings, and
those are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.arguments.history import successor_of
from lint_vllm.edits import remove_argument, remove_words
from lint_vllm.judgement import softened
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Problem, Severity, rule


@rule(
    code="ARG020",
    name="removed-flag",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("data set flags/options.jsonl", "gpustack/gpustack#3991", "vllm-project/recipes#856"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --disable-log-requests --port 8000\n",
            mark="--disable-log-requests",
            fixed="vllm serve Qwen/Qwen3-8B --port 8000\n",
            facts={"vllm_version": "0.19.1"},
        ),
        Bad("vllm serve Qwen/Qwen3-Embedding-8B --task embed\n", mark="--task", facts={"vllm_version": "0.13.0"}),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --disable-log-requests\n", facts={"vllm_version": "0.33.0"}),
        Good("vllm serve Qwen/Qwen3-8B --swap-space 4\n", facts={"vllm_version": "0.9.0"}),
        Good('vllm serve Qwen/Qwen3-8B "$OPTIONS"\n', facts={"vllm_version": "0.33.0"}),
    ),
)
def removed_flag(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.form == "python":
        return
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "removed":
            continue
        flag = problem.known_flag or problem.flag or problem.span.text
        gone = f" in {problem.removed_in}" if problem.removed_in else ""
        yield Finding(
            problem.span,
            f"{flag} was removed{gone}; vLLM {facts.release.version} ({facts.release.origin}) refuses it at argument parsing",
            fixes=tuple(_ways(problem, flag)),
            severity=softened(facts, Severity.ERROR),
        )


def _ways(problem: Problem, flag: str) -> Iterator[Fix]:
    successor = successor_of(flag)
    if successor is None:
        yield Fix("leave it out" if problem.successor is None else problem.successor)
        return
    if successor.rename_is_safe and successor.flag is not None and (edits := _rename(problem, successor.flag)):
        yield Fix(f"write {successor.flag}", edits=edits, applicability=Applicability.SAFE)
    elif successor.delete_is_safe and (edits := _removal(problem)):
        yield Fix(f"leave it out: {successor.words}", edits=edits, applicability=Applicability.SAFE)
    else:
        yield Fix(successor.words, edits=(), applicability=Applicability.DISPLAY)


def _removal(problem: Problem) -> tuple[Edit, ...]:
    if problem.argument is not None and (edits := remove_argument(problem.argument)):
        return edits
    return remove_words(problem.words) if problem.words else ()


def _rename(problem: Problem, flag: str) -> tuple[Edit, ...]:
    written = problem.span.text
    if written.startswith("--"):
        return (Edit(problem.span, flag),)
    return (Edit(problem.span, flag.lstrip("-")),) if "-" in written or written.isalpha() else ()
