"""A flag that the release no longer has.

Why: the argument parser refuses the whole command line ("unrecognized arguments"), so the server does not start.
Instead: what replaced it, if anything did; pure no-ops are deleted.
Wrong when: the image holds another release than its tag says. 0.33 accepts some old names again as inverse spellings, and
those are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.arguments.history import Successor, successor_of, valid_keys
from lint_vllm.arguments.tables import load, table_release
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
        Bad(
            "vllm serve Qwen/Qwen3-Embedding-8B --task embed\n",
            mark="--task",
            fixed="vllm serve Qwen/Qwen3-Embedding-8B --runner pooling\n",
            facts={"vllm_version": "0.13.0"},
        ),
        Bad("vllm serve Qwen/Qwen3-8B --task reward\n", mark="--task", facts={"vllm_version": "0.13.0"}),
        Bad(
            "vllm serve Qwen/Qwen3-8B --guided-decoding-backend=xgrammar\n",
            mark="--guided-decoding-backend",
            fixed="vllm serve Qwen/Qwen3-8B --structured-outputs-config.backend=xgrammar\n",
            facts={"vllm_version": "0.33.0"},
        ),
        Bad(
            "vllm serve Qwen/Qwen3-8B --cuda-graph-sizes 64\n",
            mark="--cuda-graph-sizes",
            fixed="vllm serve Qwen/Qwen3-8B --max-cudagraph-capture-size 64\n",
            facts={"vllm_version": "0.33.0"},
        ),
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
            fixes=tuple(_ways(args, problem, flag)),
            severity=softened(facts, Severity.ERROR),
        )


def _ways(args: ArgumentSet, problem: Problem, flag: str) -> Iterator[Fix]:
    successor = successor_of(flag)
    if successor is None:
        yield Fix("leave it out" if problem.successor is None else problem.successor)
        return
    rewritten = _rewritten(args, problem, successor)
    if rewritten is not None and (edits := _replaced(problem, *rewritten)):
        yield Fix(f"write {' '.join(rewritten)}", edits=edits, applicability=Applicability.SAFE)
    elif (
        successor.rename_is_safe
        and successor.single is None
        and successor.flag is not None
        and (edits := _rename(problem, successor.flag))
    ):
        yield Fix(f"write {successor.flag}", edits=edits, applicability=Applicability.SAFE)
    elif successor.delete_is_safe and (edits := _removal(problem)):
        yield Fix(f"leave it out: {successor.words}", edits=edits, applicability=Applicability.SAFE)
    else:
        yield Fix(successor.words, edits=(), applicability=Applicability.DISPLAY)


def _removal(problem: Problem) -> tuple[Edit, ...]:
    if problem.argument is not None and (edits := remove_argument(problem.argument)):
        return edits
    return remove_words(problem.words) if problem.words else ()


def _rewritten(args: ArgumentSet, problem: Problem, successor: Successor) -> tuple[str, ...] | None:
    """The words that mean the same: the new flag with the values; ``None`` where there is no such translation."""
    if successor.flag is None or not problem.words or problem.words[0].unknown is not None:
        return None
    _, joined, value = problem.words[0].value.partition("=")
    values = [value] if joined else [word.value for word in problem.words[1:]]
    if not values or any(word.unknown is not None for word in problem.words):
        return None
    release = table_release(args.release.value)[0]
    option = load(release).by_flag.get(successor.flag)
    if option is None:
        return None
    if successor.key is not None:
        names = valid_keys(option.config_class or "", release) or valid_keys(_CLASSES.get(successor.flag, ""), release)
        plain = len(values) == 1 and not values[0].startswith(("[", "{"))
        # a JSON value and dotted keys do not add up: the last one wins
        written = any(a.flag == successor.flag and "." not in a.spelled for a in args.arguments)
        return (f"{successor.flag}.{successor.key}", *values) if plain and successor.key in names and not written else None
    if args.given(successor.flag) or (successor.single is not None and args.given(successor.single)):
        return None
    if successor.values:
        translated = successor.values.get(values[0]) if len(values) == 1 else None
        return (successor.flag, translated) if translated is not None else None
    if successor.single is not None and successor.rename_is_safe:
        return (successor.single if len(values) == 1 else successor.flag, *values)
    return None


_CLASSES = {"--speculative-config": "SpeculativeConfig"}
"""Classes of options whose own type does not name it."""


def _replaced(problem: Problem, flag: str, *values: str) -> tuple[Edit, ...]:
    """The option's name rewritten, and each value that changes, at their exact places."""
    word = problem.words[0]
    place = word.editable
    if place is None:
        return ()
    if "=" in word.value:
        return (Edit(place, f"{flag}={values[0]}"),)
    edits = [Edit(place, flag)]
    for value, before in zip(values, problem.words[1:], strict=True):
        if value != before.value:
            if before.editable is None:
                return ()
            edits.append(Edit(before.editable, value))
    return tuple(edits)


def _rename(problem: Problem, flag: str) -> tuple[Edit, ...]:
    written = problem.span.text
    if written.startswith("--"):
        return (Edit(problem.span, flag),)
    return (Edit(problem.span, flag.lstrip("-")),) if "-" in written or written.isalpha() else ()
