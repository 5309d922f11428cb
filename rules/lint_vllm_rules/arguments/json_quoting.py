"""JSON that lost its quotes, or kept some it should not have.

Why: the shell takes double quotes away and splits at blanks, YAML and systemd have rules of their own; the flag then gets a
text that is no JSON, and argument parsing stops.
Instead: single quotes around the whole value, a YAML list item of its own, or dotted keys: `--speculative-config.method ngram`.
Wrong when: another layer of quoting is taken off before vLLM sees the value.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Problem, Severity, Span, rule


@rule(
    code="ARG030",
    name="json-quoting",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 engine/arg_utils.py", "Center-for-AI-Innovation/LLMFlux#41", "vllm-project/vllm#32755"),
    bad=(
        Bad(
            'vllm serve Qwen/Qwen3-8B --limit-mm-per-prompt {\\"image\\":2,}\n',
            facts={"vllm_version": "0.33.0"},
        ),
        Bad(
            'MODEL=Qwen/Qwen3-8B\nVLLM_ENGINE_ARGS={\n  "max_model_len": 8192,\n  "gpu_memory_utilization": 0.9\n}\n',
            name=".env",
            mark="{",
        ),
        Bad(
            "vllm serve Qwen/Qwen3-8B --hf-overrides '{max_position_embeddings: 8192}'\n",
            mark="{max_position_embeddings: 8192}",
            facts={"vllm_version": "0.20.2"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --limit-mm-per-prompt '{\"image\":2}'\n"),
        Good("vllm serve Qwen/Qwen3-8B --limit-mm-per-prompt.image 2\n"),
        Good('MODEL=Qwen/Qwen3-8B\nVLLM_ENGINE_ARGS={"max_model_len": 8192, "gpu_memory_utilization": 0.9}\n', name=".env"),
        Good('vllm serve Qwen/Qwen3-8B --limit-mm-per-prompt "$LIMITS"\n'),
    ),
)
def json_quoting(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    cut = args.launch.cut
    if cut is not None:
        yield Finding(
            cut.value_span,
            f"the value ends with its line: {cut.value!r} is no JSON, and the lines below belong to nothing",
            fixes=(Fix("write the JSON value on one line"),),
        )
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "json_quoting":
            continue
        span = _whole(_written(problem))
        flag = problem.known_flag or problem.flag
        yield Finding(
            span,
            f"{flag} gets {problem.value!r}, which is no JSON: argument parsing refuses the launch",
            fixes=(
                Fix("put single quotes around the whole JSON value, double quotes around its keys"),
                Fix(f"use dotted keys instead: {flag}.KEY VALUE"),
            ),
        )
        return


def _written(problem: Problem) -> Span:
    """Where the value stands: for a reference, where it is defined (a line of a ``.env`` file)."""
    word = problem.words[-1] if len(problem.words) > 1 else None
    return word.defined if word is not None and word.defined is not None and word.value == problem.value else problem.span


def _whole(span: Span) -> Span:
    """The value up to its closing bracket on the same line, where the shell cut it at a blank."""
    source = span.source
    line_end = source.text.find("\n", span.start)
    line = source.text[span.start : line_end if line_end >= 0 else len(source.text)]
    depth = 0
    for at, c in enumerate(line):
        depth += (c == "{") - (c == "}")
        if c == "}" and depth == 0:
            end = span.start + at + 1
            return Span(source, span.start, end) if end > span.end else span
    return span
