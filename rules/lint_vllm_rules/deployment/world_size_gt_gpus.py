"""More ranks than the container, job or machine has GPUs.

Why: tensor, pipeline and context parallel ranks each need a GPU of their own. Without Ray or `--nnodes` they all start on
this machine, and start-up stops when the device of the first missing rank is set (before weights are loaded).
Instead: ask for as many GPUs as ranks, or lower the parallel sizes; over several machines use `--nnodes` or the Ray backend.
Wrong when: a controller adds GPUs that the file does not show (dynamic resource claims, a device plugin of its own).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.examples import pod
from lint_vllm.judgement import known_card_count, ranks_per_replica, spans_nodes
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Known, Label, Severity, rule

_JOINED = re.compile(
    r"\bray\b|nnodes|node.rank|master.addr|headless|torchrun|mpirun|multi-node-serving|data.parallel.(?:address|rank)",
    re.IGNORECASE,
)


@rule(
    code="DEP001",
    name="world-size-gt-gpus",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/parallel.py ParallelConfig", "vllm-project/vllm#28873"),
    bad=(
        Bad(
            pod("Qwen/Qwen2.5-72B-Instruct", "--tensor-parallel-size=4", gpus="2"),
            name="pod.yaml",
            mark="4",
            fixed=pod("Qwen/Qwen2.5-72B-Instruct", "--tensor-parallel-size=4", gpus="4"),
        ),
        Bad("vllm serve Qwen/Qwen3-32B -tp 8\n", mark="8", facts={"gpu": "RTX 3090", "gpu_count": "4"}),
    ),
    good=(
        Good(pod("Qwen/Qwen2.5-72B-Instruct", "--tensor-parallel-size=4", gpus="4"), name="pod.yaml"),
        Good('vllm serve Qwen/Qwen3-32B -tp "$TP"\n', facts={"gpu": "RTX 3090", "gpu_count": "4"}),
        Good("vllm serve Qwen/Qwen3-32B -tp 8 --nnodes 2\n", facts={"gpu": "RTX 3090", "gpu_count": "4"}),
        Good("vllm serve Qwen/Qwen3-32B -tp 8 --distributed-executor-backend ray\n", facts={"gpu_count": "4"}),
    ),
)
def world_size_gt_gpus(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    ranks, cards = ranks_per_replica(args), known_card_count(facts)
    deployment = facts.launch.deployment
    if ranks is None or cards is None or ranks <= cards or (spans_nodes(args, facts) and not _apart(args, facts)):
        return
    if deployment is not None and deployment.device_claims is not None:
        return
    sizes = [args.get(d) for d in ("tensor_parallel_size", "pipeline_parallel_size", "prefill_context_parallel_size")]
    given = [a for a in sizes if a is not None and isinstance(a.value, int) and a.value > 1]
    if not given:
        return
    place = given[0].value_span or given[0].name_span
    product = " x ".join(f"{a.flag} {a.value}" for a in given)
    origin = facts.gpu_count.origin if isinstance(facts.gpu_count, Known) else ""
    requests = deployment.gpus if deployment is not None else ()
    yield Finding(
        place,
        f"{product} needs {ranks} GPUs, {cards} {'is' if cards == 1 else 'are'} there ({origin}): "
        "start-up fails before weights are loaded",
        fixes=tuple(_raise_request(facts, ranks)),
        related=tuple(Label(r.value_span, f"{r.raw or r.count} GPUs here") for r in requests if r.count == cards),
    )


def _apart(args: ArgumentSet, facts: Facts) -> bool:
    """Whether a launch on several nodes starts a server of its own on each: nothing in the file joins them."""
    launch, deployment = facts.launch, facts.launch.deployment
    if deployment is None or launch.wrapper is not None or (deployment.nodes or 1) < 2 or not facts.release.at_least("0.11.0"):
        return False
    if args.value("distributed_executor_backend") in ("ray", "external_launcher"):
        return False
    return _JOINED.search(launch.source.text) is None


def _raise_request(facts: Facts, ranks: int) -> Iterator[Fix]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "pod":
        return
    requests = [r for r in deployment.gpus if r.resource == "nvidia.com/gpu" and r.count is not None]
    if not requests or any(r.raw not in (r.value_span.text, "") for r in requests):
        return
    places = [(place, r.count) for r in requests for place in (r.value_span, *r.repeated) if place.text == str(r.count)]
    edits = tuple(Edit(place, place.text.replace(str(count), str(ranks))) for place, count in places)
    yield Fix(
        f"ask for {ranks} GPUs",
        edits=edits,
        applicability=Applicability.SAFE if ranks <= 8 else Applicability.UNSAFE,
        cost=f"{ranks} GPUs of one node",
    )
