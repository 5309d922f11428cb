"""More GPUs are reserved than the server uses.

Why: vLLM uses tensor x pipeline x data parallel GPUs, one by default. The others stay reserved, paid for and idle.
Instead: raise `--tensor-parallel-size` to the number of GPUs (where it divides the heads), or reserve fewer.
Wrong when: a second process in the container uses the other GPUs.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import add_flag
from lint_vllm.examples import pod
from lint_vllm.judgement import is_container, local_replicas, ranks_per_replica, spans_nodes
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="DEP003",
    name="gpus-idle",
    severity=Severity.WARNING,
    since="0.1",
    sources=("llmos-ai/llmos#40",),
    bad=(
        Bad(pod("Qwen/Qwen3-8B", gpus="2"), name="pod.yaml", mark="2"),
        Bad("docker run --gpus 4 --ipc=host vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n", mark="4"),
    ),
    good=(
        Good(pod("Qwen/Qwen3-8B", "--tensor-parallel-size=2", gpus="2"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", "--data-parallel-size=2", gpus="2"), name="pod.yaml"),
        Good("docker run --gpus all --ipc=host vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n"),
        Good(pod("Qwen/Qwen3-8B", "--tensor-parallel-size=$(TP)", gpus="2"), name="pod.yaml"),
    ),
)
def gpus_idle(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    ranks, replicas = ranks_per_replica(args), local_replicas(args)
    if deployment is None or ranks is None or replicas is None or not args.complete:
        return
    if not is_container(deployment) and facts.launch.wrapper != "production-stack":
        return
    if spans_nodes(args, facts) or facts.siblings_in_scope or args.given("device_ids") or args.given("data_parallel_rank"):
        return
    if args.value("data_parallel_backend") == "ray":
        return
    requests = [r for r in deployment.gpus if (r.count is not None and not r.shared and r.resource in _WHOLE) or r.device_ids]
    for request in requests[:1]:
        count = request.count or len(request.device_ids)
        used = ranks * replicas
        if count <= used:
            return
        yield Finding(
            request.value_span,
            f"{count} GPUs are reserved, the server uses {used} ({ranks} a replica x {replicas})",
            fixes=tuple(_ways(args, facts, count, used)),
        )


_WHOLE = ("nvidia.com/gpu", "amd.com/gpu", "requestGPU", "--gpus", "devices")


def _ways(args: ArgumentSet, facts: Facts, count: int, used: int) -> Iterator[Fix]:
    deployment = facts.launch.deployment
    assert deployment is not None
    if used == 1 and not args.given("tensor_parallel_size"):
        budget = facts.rebudget({"tensor_parallel_size": count})
        if budget.outcome == "starts":
            yield Fix(
                f"use all: --tensor-parallel-size {count}",
                edits=add_flag(args, "--tensor-parallel-size", str(count)),
                applicability=Applicability.UNSAFE,
                cost="communication between the cards",
                verified=True,
            )
    plain = [r for r in deployment.gpus if r.count == count and r.raw == r.value_span.text]
    yield Fix(
        f"reserve {used}",
        edits=tuple(Edit(r.value_span, str(used)) for r in plain),
        applicability=Applicability.UNSAFE,
        cost="memory of the GPUs given up",
    )
