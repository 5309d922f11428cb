"""Flags that contradict each other.

Why: vLLM refuses some pairs when it parses or configures, and of others one is silently without effect.
Instead: one of the two.
Wrong when: a wrapper drops one before vLLM sees it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.judgement import softened
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Label, Severity, rule

_OWN_RULES = ("enable_auto_tool_choice", "max_num_batched_tokens", "max_num_seqs", "max_lora_rank")

# (a, b, what happens): both given; the first has no effect.
_SILENT = (
    (
        "gpu_memory_utilization",
        "kv_cache_memory_bytes",
        "with --kv-cache-memory-bytes the share only bounds the start check, not the pool",
    ),
    ("cudagraph_capture_sizes", "enforce_eager", "eager mode captures no graphs: the sizes have no effect"),
    ("max_cudagraph_capture_size", "enforce_eager", "eager mode captures no graphs: the size has no effect"),
)


@rule(
    code="ARG071",
    name="flag-conflict",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 v1/worker/gpu_worker.py determine_available_memory", "vllm==0.33.0 config/vllm.py"),
    bad=(Bad("vllm serve Qwen/Qwen3-8B --enforce-eager --max-cudagraph-capture-size 64\n", mark="--max-cudagraph-capture-size"),),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-cudagraph-capture-size 64\n"),
        Good('vllm serve Qwen/Qwen3-8B "$EAGER" --max-cudagraph-capture-size 64\n'),
    ),
)
def flag_conflict(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in (*args.problems, *args.late_problems):
        dest = problem.argument.dest if problem.argument is not None else (problem.known_flag or "").lstrip("-").replace("-", "_")
        if problem.is_error and cause_of(problem, args) == "conflict" and dest not in _OWN_RULES:
            yield Finding(
                problem.span,
                f"vLLM {facts.release.version} refuses this: {problem.message}",
                related=(Label(problem.related, "against this"),) if problem.related is not None else (),
                severity=softened(facts, Severity.ERROR),
            )
    for first, second, what in _SILENT:
        one, two = args.get(first), args.get(second)
        if one is None or two is None or two.value in (None, False) or one.conditional or two.conditional or not two.known:
            continue
        yield Finding(
            one.name_span,
            what,
            fixes=(Fix(f"leave one of {one.flag} and {two.flag} out"),),
            related=(Label(two.name_span, "together with this"),),
            severity=Severity.INFO if first == "gpu_memory_utilization" else None,
        )
