"""Shared memory is too small for several ranks.

Why: ranks exchange messages and NCCL its buffers through /dev/shm. A container has 64 MiB unless it is told otherwise; with
two ranks or more start-up dies with a bus error or "no space left on device" when communication is set up.
Instead: `ipc: host` or `shm_size: 16g` (docker, compose); an `emptyDir` with `medium: Memory` at /dev/shm (Kubernetes).
Wrong when: the cards talk over NVLink only and the release keeps its message queue elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB
from lint_vllm.examples import compose, pod
from lint_vllm.facts.images import image_facts
from lint_vllm.judgement import first_line, is_container, local_replicas, ranks_per_replica, spans_nodes
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Options, Severity, rule


class Limits(Options):
    min_shm_gib: float = 1.0


@rule(
    code="DEP010",
    name="shm-too-small",
    severity=Severity.ERROR,
    since="0.1",
    options=Limits,
    sources=("vllm-project/vllm#6574",),
    bad=(
        Bad(compose("Qwen/Qwen3-32B", "--tensor-parallel-size=2", extra="gpus: all"), name="compose.yaml"),
        Bad("docker run --gpus all vllm/vllm-openai:v0.33.0 Qwen/Qwen3-32B -tp 2\n"),
        Bad(pod("Qwen/Qwen3-32B", "--tensor-parallel-size=2", gpus="2"), name="pod.yaml"),
    ),
    good=(
        Good(compose("Qwen/Qwen3-32B", "--tensor-parallel-size=2"), name="compose.yaml"),
        Good(compose("Qwen/Qwen3-32B", "--tensor-parallel-size=2", extra="gpus: all\nshm_size: 16g"), name="compose.yaml"),
        Good(compose("Qwen/Qwen3-32B", "--tensor-parallel-size=${TP:?}", extra="gpus: all"), name="compose.yaml"),
        Good(compose("Qwen/Qwen3-8B", extra="gpus: all"), name="compose.yaml"),
        Good(pod("Qwen/Qwen3-32B", "--tensor-parallel-size=2", "--distributed-executor-backend=ray", gpus="1"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-32B", "--tensor-parallel-size=2").replace("nvidia.com/gpu", "huawei.com/Ascend910"), name="pod.yaml"),
    ),
)
def shm_too_small(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    ranks, replicas = ranks_per_replica(args), local_replicas(args)
    if deployment is None or not is_container(deployment) or ranks is None or ranks * (replicas or 1) < 2:
        return
    if facts.launch.form == "other" or spans_nodes(args, facts) or _no_gpu(facts):
        return
    if deployment.ipc is not None or any(m.target.rstrip("/") == "/dev/shm" for m in deployment.mounts):
        return
    if deployment.kind == "pod" and (
        not deployment.complete or not deployment.mounts_complete or deployment.resource_kind not in _AS_WRITTEN
    ):
        return
    size = deployment.shm_size
    if size is None:
        if deployment.kind == "docker-run" and any("option" in reason for reason in facts.launch.unresolved):
            return
        yield Finding(
            first_line(deployment.span),
            f"{ranks} ranks share the default 64 MiB of /dev/shm: start-up dies when communication is set up",
            fixes=(Fix(_ADVICE[deployment.kind], applicability=Applicability.UNSAFE),),
        )
    elif size.bytes is not None and size.bytes < limits.min_shm_gib * GIB:
        yield Finding(
            size.span,
            f"{ranks} ranks share {size.raw} of /dev/shm, less than {limits.min_shm_gib:g} GiB: communication may fail at start-up",
            severity=Severity.WARNING,
        )


_ADVICE = {
    "docker-run": "add --ipc=host (or --shm-size 16g)",
    "compose": "add `ipc: host` (or `shm_size: 16g`)",
    "pod": "mount an emptyDir with `medium: Memory` at /dev/shm",
}
_AS_WRITTEN = (
    *(None, "Pod", "Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"),
    *("LeaderWorkerSet", "InferenceService", "ServingRuntime", "ClusterServingRuntime"),
)
"""Kinds whose pods get the volumes that are written. Operators of others (KubeRay, Dynamo, llm-d) mount /dev/shm themselves."""


def _no_gpu(facts: Facts) -> bool:
    """Whether the ranks run on another device, whose communication is another one too, or on devices claimed elsewhere."""
    deployment, image = facts.launch.deployment, image_facts(facts.launch.image)
    if image is not None and image.device not in (None, "cuda", "rocm"):
        return True
    requests = deployment.gpus if deployment is not None else ()
    return (deployment is not None and deployment.device_claims is not None) or any(
        "/" in r.resource and not r.resource.startswith(("nvidia.com/", "amd.com/")) for r in requests
    )
