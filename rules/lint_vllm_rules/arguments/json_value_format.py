"""Another notation stands where the release wants JSON.

Why: `--limit-mm-per-prompt image=2` was read until 0.8.4; since then the value has to be JSON, and argument parsing refuses
anything else.
Instead: `'{"image":2}'`, or `--limit-mm-per-prompt.image 2`.
Wrong when: the release is older than 0.8.5.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.examples import compose
from lint_vllm.judgement import softened
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Problem, Severity, rule


@rule(
    code="ARG031",
    name="json-value-format",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm-project/vllm#21615", "vllm-project/vllm#39687", "flagos-ai/FlagScale#1075"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-VL-7B-Instruct --limit-mm-per-prompt image=2\n",
            mark="image=2",
            fixed="vllm serve Qwen/Qwen2.5-VL-7B-Instruct --limit-mm-per-prompt '{\"image\":2}'\n",
            facts={"vllm_version": "0.10.0"},
        ),
        Bad(
            compose("--model", "Qwen/Qwen2.5-VL-7B-Instruct", "--limit-mm-per-prompt", "image=2"),
            name="compose.yaml",
            mark="image=2",
            fixed=compose("--model", "Qwen/Qwen2.5-VL-7B-Instruct", "--limit-mm-per-prompt", "'{\"image\":2}'"),
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-VL-7B-Instruct --limit-mm-per-prompt image=2\n", facts={"vllm_version": "0.7.3"}),
        Good('vllm serve m --limit-mm-per-prompt "image=$N"\n', facts={"vllm_version": "0.10.0"}),
    ),
)
def json_value_format(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "json_form":
            continue
        value = problem.value or ""
        wanted = _as_json(value)
        yield Finding(
            problem.span,
            f"{problem.known_flag or problem.flag} wants JSON; vLLM {facts.release.version} ({facts.release.origin}) refuses {value!r} at argument parsing",
            fixes=(
                Fix(
                    f"write '{wanted}'" if wanted else "write JSON",
                    edits=_edit(problem, wanted),
                    applicability=Applicability.SAFE if _edit(problem, wanted) else Applicability.DISPLAY,
                ),
            ),
            severity=softened(facts, Severity.ERROR),
        )


def _as_json(value: str) -> str | None:
    """``image=2,audio=1`` as JSON; ``None`` where it is not of that form."""
    pairs = [part.partition("=") for part in value.split(",")]
    if not all(equals and key.strip() and text.strip() for key, equals, text in pairs):
        return None
    try:
        return json.dumps({key.strip(): int(text) for key, _, text in pairs}, separators=(",", ":"))
    except ValueError:
        return None


def _edit(problem: Problem, wanted: str | None) -> tuple[Edit, ...]:
    """A bare shell word, or a YAML item of its own, can be quoted in place; other carriers quote differently."""
    if wanted is None or len(problem.words) != 2:
        return ()
    word = problem.words[1]
    if word.quote or word.span.text != word.value:
        return ()
    whole = word.span.source.line_text(word.span.line)
    line, rest = whole[: word.span.column - 1], whole[word.span.end_column - 1 :].strip()
    item = line.strip() == "-" and (not rest or rest.startswith("#"))
    shell = line.strip() and not line.lstrip().startswith("- ") and "'" not in line and '"' not in line
    return (Edit(word.span, f"'{wanted}'"),) if item or shell else ()
