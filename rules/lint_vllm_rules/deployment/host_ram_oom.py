"""The container's memory limit is below what the server keeps in host memory.

Why: weights offloaded to the host (`--cpu-offload-gb`, per GPU), a host KV cache (`--kv-offloading-size`) and memory-backed
volumes all count against the container's limit. Above it the kernel kills the process while weights are loaded.
Instead: a limit above their sum, with some GiB for the process itself.
Wrong when: never seen; the sum is a lower bound.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB
from lint_vllm.examples import pod
from lint_vllm.judgement import ranks_per_replica
from lint_vllm.launch import EnvVar
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Label, Severity, rule


@rule(
    code="DEP083",
    name="host-ram-oom",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 config/offload.py", "vllm-project/vllm#586"),
    bad=(
        Bad(
            pod("Qwen/Qwen2.5-32B-Instruct", "--cpu-offload-gb=40").replace(
                "nvidia.com/gpu: 1", "nvidia.com/gpu: 1\n              memory: 24Gi"
            ),
            name="pod.yaml",
            mark="40",
        ),
    ),
    good=(
        Good(
            pod("Qwen/Qwen2.5-32B-Instruct", "--cpu-offload-gb=40").replace(
                "nvidia.com/gpu: 1", "nvidia.com/gpu: 1\n              memory: 96Gi"
            ),
            name="pod.yaml",
        ),
        Good(pod("Qwen/Qwen2.5-32B-Instruct", "--cpu-offload-gb=$(OFFLOAD)"), name="pod.yaml"),
    ),
)
def host_ram_oom(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    limit = deployment.memory_limit if deployment is not None else None
    if limit is None or limit.bytes is None:
        return
    parts: list[tuple[str, float]] = []
    argument = args.get("cpu_offload_gb")
    ranks = ranks_per_replica(args) or 1
    if argument is not None and isinstance(argument.value, (int, float)) and argument.value > 0:
        parts.append(
            (
                f"{argument.value:g} GiB of weights on each of {ranks} GPUs" if ranks > 1 else f"{argument.value:g} GiB of weights",
                float(argument.value) * ranks,
            )
        )
    for dest, said in (("kv_offloading_size", "host KV cache"), ("swap_space", "swap space a GPU")):
        other = args.get(dest)
        if other is not None and isinstance(other.value, (int, float)) and other.value > 0:
            argument = argument or other
            parts.append((f"{other.value:g} GiB of {said}", float(other.value) * (ranks if dest == "swap_space" else 1)))
    place = (argument.value_span or argument.name_span) if argument is not None else None
    for name, said, every in (
        ("LMCACHE_MAX_LOCAL_CPU_SIZE", "host KV cache of LMCache", True),
        ("VLLM_CPU_KVCACHE_SPACE", "KV cache of the CPU backend", False),
    ):
        variable = facts.launch.env.get(name)
        amount = _number(variable)
        if variable is not None and amount:
            place = place or variable.name.value_span
            parts.append((f"{amount:g} GiB of {said}", amount * (ranks if every else 1)))
    needed = sum(size for _, size in parts)
    if place is None or not parts or needed * GIB <= limit.bytes:
        return
    yield Finding(
        place,
        f"{' and '.join(said for said, _ in parts)} stay in host memory, the container may use {limit.raw}: it is killed while loading",
        fixes=(Fix(f"raise the memory limit above {needed:.0f} GiB"),),
        related=(Label(limit.span, "the limit"),),
    )


def _number(variable: EnvVar | None) -> float | None:
    value = variable.value if variable is not None else None
    if value is None or value.unknown is not None:
        return None
    try:
        return float(value.value)
    except ValueError:
        return None
