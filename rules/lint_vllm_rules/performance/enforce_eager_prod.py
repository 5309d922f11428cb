"""Eager mode is left on where graphs fit.

Why: `--enforce-eager` gives up CUDA graphs and compilation; decoding then waits for kernel launches and loses a third to a half
of its speed on small batches. It is a means against tight memory and for debugging.
Instead: leave it out; on a tight card capture fewer sizes (`--max-cudagraph-capture-size`).
Wrong when: the model or platform does not run compiled. The rule speaks only where the engine finds room for the graphs.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="PRF001",
    name="enforce-eager-prod",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 config/vllm.py", "flagos-ai/vllm-plugin-FL#396"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --max-model-len 16384 --enforce-eager\n",
            mark="--enforce-eager",
            facts={"gpu": "RTX 4090", "vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --max-model-len 16384\n", facts={"gpu": "RTX 4090"}),
        Good('vllm serve "$MODEL" --enforce-eager\n', facts={"gpu": "RTX 4090"}),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --enforce-eager\n"),
    ),
)
def enforce_eager_prod(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("enforce_eager")
    if argument is None or argument.value is not True or argument.conditional:
        return
    before, after = facts.budget, facts.rebudget({"enforce_eager": False})
    if before.outcome != "starts" or after.outcome != "starts" or after.kv_available is None or after.cuda_graphs is None:
        return
    if after.max_concurrency is None or after.max_concurrency.low < 1:
        return
    if after.demand is not None and after.demand.fits.low < after.demand.sequences:
        return
    yield Finding(
        argument.name_span,
        f"eager mode costs decoding speed; the graphs take {after.cuda_graphs.gib()} and the pool keeps {after.kv_available.gib()} without it",
        fixes=(
            Fix(
                "leave --enforce-eager out",
                edits=remove_argument(argument),
                applicability=Applicability.UNSAFE,
                cost="a longer start-up for compilation and capture",
                verified=True,
            ),
        ),
    )
