"""Data-parallel replicas times their ranks exceed the GPUs.

Why: each data-parallel replica on this machine needs its own tensor x pipeline GPUs and holds a full copy of the dense
weights; the replica that finds no device dies, and the server with it.
Instead: lower `--data-parallel-size`, or spread the replicas (`--data-parallel-size-local`, Ray).
Wrong when: other nodes join without a flag that says so.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import pod
from lint_vllm.judgement import known_card_count, local_replicas, ranks_per_replica, spans_nodes
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Known, Severity, rule


@rule(
    code="DEP002",
    name="dp-world-size",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/parallel.py ParallelConfig", "vllm-project/vllm#17863"),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B -tp 2 --data-parallel-size 4\n", mark="4", facts={"gpu": "H100", "gpu_count": "4"}),
        Bad(pod("Qwen/Qwen3-8B", "--data-parallel-size=2", gpus="1"), name="pod.yaml", mark="2"),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B -tp 2 --data-parallel-size 2\n", facts={"gpu": "H100", "gpu_count": "4"}),
        Good('vllm serve Qwen/Qwen3-8B -tp 2 --data-parallel-size "$N"\n', facts={"gpu": "H100", "gpu_count": "4"}),
        Good("vllm serve m -dp 8 --data-parallel-size-local 4\n", facts={"gpu": "H100", "gpu_count": "4"}),
    ),
)
def dp_world_size(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    ranks, replicas, cards = ranks_per_replica(args), local_replicas(args), known_card_count(facts)
    if ranks is None or replicas is None or cards is None or replicas <= 1 or spans_nodes(args, facts):
        return
    if ranks > cards or ranks * replicas <= cards:
        return
    argument = args.get("data_parallel_size_local") or args.get("data_parallel_size")
    deployment = facts.launch.deployment
    if argument is None or (deployment is not None and deployment.device_claims is not None):
        return
    origin = facts.gpu_count.origin if isinstance(facts.gpu_count, Known) else ""
    yield Finding(
        argument.value_span or argument.name_span,
        f"{replicas} data-parallel replicas x {ranks} GPUs each need {ranks * replicas} GPUs, {cards} "
        f"{'is' if cards == 1 else 'are'} there ({origin}): start-up fails when a replica finds no device",
    )
