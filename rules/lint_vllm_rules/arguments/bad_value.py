"""A value that the release's parser refuses.

Why: wrong type, not one of the choices, or missing: argument parsing stops, the server does not start.
Instead: a value the option takes; choices are those of the release.
Wrong when: a plug-in adds choices.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.edits import replace_value
from lint_vllm.judgement import softened
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Problem, Severity, rule

_OWN_RULES = ("max_lora_rank", "quantization", "load_format", "max_num_batched_tokens", "speculative_config", "kv_cache_dtype")


@rule(
    code="ARG015",
    name="bad-value",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 engine/arg_utils.py EngineArgs.add_cli_args",),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --dtype fp16\n", mark="fp16", facts={"vllm_version": "0.33.0"}),
        Bad("vllm serve serve Qwen/Qwen3-8B\n", mark="serve"),
        Bad("vllm serve Qwen/Qwen3-8B --max-num-seqs many\n", mark="many", facts={"vllm_version": "0.33.0"}),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --dtype float16\n"),
        Good('vllm serve Qwen/Qwen3-8B --dtype "$DTYPE"\n'),
    ),
)
def bad_value(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    causes = {id(p): cause_of(p, args) for p in args.problems if p.is_error}
    only_stray = set(causes.values()) == {"stray"}
    for problem in args.problems:
        cause = causes.get(id(problem))
        dest = (problem.known_flag or "").lstrip("-").replace("-", "_")
        if (cause != "bad_value" or dest in _OWN_RULES) and not (cause == "stray" and only_stray and not _is_prose(problem, args)):
            continue
        if cause == "stray" and args.model == "serve" and args.model_span is not None:
            message = "'serve' is given twice: the second is read as the model, and the model belongs to nothing"
            yield Finding(args.model_span, message, fixes=(Fix("leave one 'serve' out"),))
            return
        yield Finding(
            problem.span,
            f"vLLM {facts.release.version} ({facts.release.origin}) refuses this at argument parsing: {problem.message}",
            fixes=tuple(_nearest(problem)),
            severity=softened(facts, Severity.ERROR),
        )
    for problem in args.late_problems:
        dest = (problem.known_flag or "").lstrip("-").replace("-", "_")
        if problem.is_error and problem.kind == "bad_value" and dest not in _OWN_RULES and cause_of(problem, args) == "bad_value":
            yield Finding(
                problem.span,
                f"vLLM {facts.release.version} ({facts.release.origin}) parses this, and refuses it when it configures itself: {problem.message}",
                severity=softened(facts, Severity.ERROR),
            )


def _is_prose(problem: Problem, args: ArgumentSet) -> bool:
    """Whether a document says in words what may follow (``other server arguments``)."""
    if args.launch.passage != "doc":
        return False
    words = [word.value.isalpha() for word in args.launch.words]
    at = next((n for n, word in enumerate(args.launch.words) if word.span == problem.span or word.value_span == problem.span), None)
    return at is not None and words[at] and any(words[max(0, at - 1) : at] + words[at + 1 : at + 2])


def _nearest(problem: Problem) -> Iterator[Fix]:
    for value in problem.suggestions[:1]:
        edits = replace_value(problem.argument, value) if problem.argument is not None else ()
        yield Fix(f"write {value}", edits=edits, applicability=Applicability.UNSAFE if edits else Applicability.DISPLAY)
