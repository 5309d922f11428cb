"""A switch is given a value.

Why: switches take none. `--enable-x=True` is refused; `--enable-x true` leaves a stray word, which is refused too, or, where
no model is given yet, becomes the model.
Instead: the bare switch for true, its `--no-` form for false.
Wrong when: releases up to 0.8.0 for `--enable-chunked-prefill`, which then took True or False.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.arguments.history import negative_of, once_took_value
from lint_vllm.edits import remove_words
from lint_vllm.judgement import softened
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Problem, Severity, rule

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off")


@rule(
    code="ARG010",
    name="bool-flag-value",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 utils/argparse_utils.py", "vllm-project/vllm#7768"),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --enable-prefix-caching=True\n", mark="True"),
        Bad("vllm serve Qwen/Qwen3-8B --trust-remote-code false --port 8000\n", mark="false"),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --no-enable-prefix-caching\n"),
        Good('vllm serve Qwen/Qwen3-8B --enable-prefix-caching "$MORE"\n'),
        Good("vllm serve Qwen/Qwen3-8B --enable-chunked-prefill=false\n", facts={"vllm_version": "0.7.3"}),
    ),
)
def bool_flag_value(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "switch_value" or problem.known_flag is None:
            continue
        value = problem.value or ""
        yield Finding(
            problem.span,
            f"{problem.known_flag} is a switch and takes no value: argument parsing refuses {value!r}",
            fixes=tuple(_rewrite(problem, facts, value)),
            severity=softened(facts, Severity.ERROR) if once_took_value(problem.known_flag) else Severity.ERROR,
        )


def _rewrite(problem: Problem, facts: Facts, value: str) -> Iterator[Fix]:
    flag = problem.known_flag or ""
    meant = value.strip("\"'").lower()
    target = flag if meant in _TRUE else negative_of(flag, facts.release.table) if meant in _FALSE else None
    if target is None:
        return
    places = [w.span for w in problem.words]
    edits: tuple[Edit, ...] = ()
    if places:
        whole = places[0].to(places[-1])
        between = "".join(whole.text.split("\n")) if "\n" not in whole.text else None
        if between is not None and whole.text.strip("\"'").startswith("--"):
            quote = whole.text[0] if whole.text[:1] in "\"'" else ""
            edits = (Edit(whole, f"{quote}{target}{quote}"),)
        elif len(problem.words) == 2:  # two items of a list, or of two lines
            name, given = problem.words
            removal = remove_words([given])
            if target == name.value:
                edits = removal
            elif removal and name.editable is not None:
                edits = (Edit(name.editable, target), *removal)
    yield Fix(
        f"write {target}",
        edits=edits,
        applicability=Applicability.SAFE if edits and facts.release.sure else Applicability.UNSAFE,
    )
