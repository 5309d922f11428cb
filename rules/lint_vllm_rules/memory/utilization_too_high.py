"""GPU memory utilization leaves no head-room.

Why: the share is reserved when the server starts. What lies outside it (the CUDA context, communication buffers, late
allocations of libraries, a display) has to fit into the rest; where it does not, the start is refused for want of free
memory, or the server dies under load.
Instead: 0.90 to 0.95. To gain cache, shorten the context, quantize it (`--kv-cache-dtype fp8`) or serve fewer sequences.
Wrong when: the card is larger than 100 GiB and nothing else runs on it: 3 % is then several GiB.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import (
    Applicability,
    ArgumentSet,
    Bad,
    Edit,
    Facts,
    Finding,
    Fix,
    Good,
    Known,
    Options,
    Severity,
    rule,
)

GIB = 2**30


class Limits(Options):
    max_utilization: float = 0.95


@rule(
    code="MEM022",
    name="utilization-too-high",
    severity=Severity.WARNING,
    since="0.1",
    options=Limits,
    sources=("vllm==0.33.0 v1/worker/utils.py request_memory", "Alex8791-cyber/cognithor#318"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.98\n",
            mark="0.98",
            fixed="vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.95\n",
            facts={"gpu": "RTX 4090", "vllm_version": "0.33.0"},
        ),
        Bad(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n"
            "    command: --model Qwen/Qwen3-8B --gpu-memory-utilization=0.99\n",
            name="compose.yaml",
            mark="0.99",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.95\n"),
        Good('vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization "$UTIL"\n'),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.99 --kv-cache-memory-bytes 4G\n"),
    ),
)
def utilization_too_high(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    argument = args.get("gpu_memory_utilization")
    if argument is None or argument.value_span is None or not isinstance(argument.value, float):
        return
    if args.value("kv_cache_memory_bytes") is not None:  # vLLM then ignores the share
        return
    share = argument.value
    card = facts.gpu.value if isinstance(facts.gpu, Known) else None
    ceiling = card.ceiling if card is not None else None
    limit = limits.max_utilization if ceiling is None else min(limits.max_utilization, ceiling.low)
    if not limit < share <= 1:
        return
    if card is None:
        message = f"--gpu-memory-utilization {share:g} leaves only {1 - share:.0%} of the card for everything outside the share"
    else:
        left = card.total.likely * (1 - share) / GIB
        message = f"--gpu-memory-utilization {share:g} leaves {left:.2f} GiB of {card.name} ({card.total.gib()}) outside the share"
    notes = []
    if card is not None and ceiling is not None and share > ceiling.likely:
        notes.append(f"an idle {card.name} has about {ceiling.likely:.3f} of its memory free at start: start-up refuses more")
    yield Finding(argument.value_span, message, fixes=tuple(_lower(args, facts, limit)), notes=tuple(notes))


def _lower(args: ArgumentSet, facts: Facts, limit: float) -> Iterator[Fix]:
    argument = args.get("gpu_memory_utilization")
    place = argument.editable if argument is not None else None
    target = f"{int(limit * 100) / 100:g}"
    budget = facts.rebudget({"gpu_memory_utilization": float(target)})
    demand = budget.demand
    holds = budget.outcome == "starts" and (demand is None or demand.fits.likely >= demand.sequences)
    yield Fix(
        f"lower the share to {target}",
        edits=(Edit(place, target),) if place is not None else (),
        applicability=Applicability.SAFE if holds and place is not None else Applicability.UNSAFE,
        cost="a smaller KV pool",
        verified=holds,
    )
