"""The context is far longer than the workload needs.

Why: `--max-model-len` sets what one request may take of the cache, and what the engine must keep room for. Twice the need or more
halves the requests that are sure to run together, and lets one stray prompt crowd out the others.
Instead: the longest prompt plus output that is needed (p99), with some room.
Wrong when: the stated need is out of date.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import add_flag, replace_value
from lint_vllm.memory_report import gib, place_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Label, Options, Severity, rule


class Limits(Options):
    min_factor: float = 2.0


@rule(
    code="MEM061",
    name="context-larger-than-needed",
    severity=Severity.WARNING,
    since="0.1",
    options=Limits,
    sources=("vllm==0.33.0 v1/core/kv_cache_planning.py",),
    bad=(
        Bad(
            "# lint-vllm: context=4096\nvllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768\n",
            mark="32768",
            facts={"gpu": "RTX 4090", "gpu_count": "1", "vllm_version": "0.33.0"},
        ),
        Bad(
            "# lint-vllm: context=4096\nmodel: Qwen/Qwen2.5-7B-Instruct\nmax-model-len: 32768\nmax-num-seqs: 64\n",
            name="serve.yaml",
            mark="32768",
        ),
    ),
    good=(
        Good("# lint-vllm: context=4096\nvllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 6144\n", facts={"gpu": "RTX 4090"}),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768\n", facts={"gpu": "RTX 4090"}),
        Good('# lint-vllm: context=4096\nvllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len "$LEN"\n', facts={"gpu": "RTX 4090"}),
    ),
)
def context_larger_than_needed(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    need = facts.workload.context_tokens
    argument, budget = args.get("max_model_len"), facts.budget
    length = argument.value if argument is not None else budget.derived_max_model_len
    if need is None or not isinstance(length, int) or isinstance(length, bool) or length < limits.min_factor * need.value:
        return
    if argument is None and not args.complete:
        return
    target = -(-int(need.value * 1.25) // 1024) * 1024
    after = facts.rebudget({"max_model_len": target})
    gains = []
    if budget.bytes_per_sequence and after.bytes_per_sequence:
        gains.append(f"a sequence could reserve {gib(budget.bytes_per_sequence - after.bytes_per_sequence)} of KV cache less")
    if budget.max_concurrency is not None and after.max_concurrency is not None and budget.outcome == "starts":
        gains.append(
            f"{after.max_concurrency.likely:.0f} full-length sequences would fit instead of {budget.max_concurrency.likely:.1f}"
        )
    edits = replace_value(argument, str(target)) if argument is not None else add_flag(args, "--max-model-len", str(target))
    derived = "" if argument is not None else " (the model's own limit)"
    yield Finding(
        place_of(args, "max_model_len"),
        f"max-model-len is {length:,}{derived}, {length / need.value:.0f} times the stated need of {need.value:,} tokens ({need.origin})"
        + (f": at {target:,} {' and '.join(gains)}" if gains else ""),
        fixes=(
            Fix(
                f"set --max-model-len {target}",
                edits,
                Applicability.UNSAFE,
                f"requests above {target:,} tokens are refused",
                verified=after.outcome == "starts",
            ),
        ),
        related=(Label(need.span, "the need is stated here"),) if need.span is not None else (),
    )
