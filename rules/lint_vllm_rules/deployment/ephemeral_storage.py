"""The download of the model goes to the node's disk without bounds.

Why: a hub cache in an `emptyDir` without a size, or in the container's own layer, fills the node's disk. The kubelet evicts
the pod (and its neighbours) for disk pressure, and each restart downloads again. With a size below the weights the pod is
evicted while it loads.
Instead: a PersistentVolumeClaim, or an emptyDir with a sizeLimit above the weights.
Wrong when: nodes have a large local disk for this purpose.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB
from lint_vllm.examples import pod
from lint_vllm.judgement import checkpoint_bytes, first_line
from lint_vllm.launch import Mount
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Options, Severity, Span, rule

_CACHE = "volumeMounts:\n  - name: hub\n    mountPath: /root/.cache/huggingface\n"


class Limits(Options):
    min_gib: float = 40.0
    """Smaller checkpoints fit the disk of most nodes."""


@rule(
    code="DEP082",
    name="ephemeral-storage",
    severity=Severity.WARNING,
    since="0.1",
    options=Limits,
    sources=("defilantech/LLMKube#1452", "llm-d-incubation/llm-d-fast-model-actuation#623"),
    bad=(
        Bad(
            pod(
                "Qwen/Qwen2.5-72B-Instruct",
                "--tensor-parallel-size=4",
                gpus="4",
                spec="volumes:\n  - name: hub\n    emptyDir: {}\n",
                container=_CACHE,
            ),
            name="pod.yaml",
            mark="{}",
        ),
    ),
    good=(
        Good(
            pod(
                "Qwen/Qwen2.5-72B-Instruct",
                gpus="4",
                spec="volumes:\n  - name: hub\n    persistentVolumeClaim: {claimName: hub}\n",
                container=_CACHE,
            ),
            name="pod.yaml",
        ),
        Good(pod("Qwen/Qwen3-8B"), name="pod.yaml"),
        Good(pod("$(MODEL)", spec="volumes:\n  - name: hub\n    emptyDir: {}\n", container=_CACHE), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-0.6B", spec="volumes:\n  - name: hub\n    emptyDir: {}\n", container=_CACHE), name="pod.yaml"),
    ),
)
def ephemeral_storage(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if (
        deployment is None
        or deployment.kind != "pod"
        or not isinstance(args.model, str)
        or args.model.startswith(("/", "s3:", "gs:"))
    ):
        return
    size = checkpoint_bytes(facts)
    cache = _cache_mount(args, facts)
    if size is None or (cache is not None and cache.kind != "emptyDir"):
        return
    weights = f"{size.likely / GIB:.0f} GiB of weights"
    bound, layer = cache.size_bytes if cache is not None else None, deployment.ephemeral_storage
    if bound is not None and cache is not None and cache.size_span is not None and bound < size.low:
        yield Finding(
            cache.size_span,
            f"{weights} do not fit an emptyDir of {cache.size}: the pod is evicted while it downloads",
            fixes=(Fix("raise sizeLimit above the weights"),),
        )
    elif layer is not None and layer.bytes is not None and layer.bytes < size.low:
        yield Finding(
            layer.span,
            f"{weights} do not fit the ephemeral-storage limit of {layer.raw}: the pod is evicted while it downloads",
            fixes=(Fix("raise the limit above the weights"), Fix("use a PersistentVolumeClaim for the hub cache")),
        )
    elif size.likely <= limits.min_gib * GIB or layer is not None:
        return
    elif cache is not None and cache.size is None:
        yield Finding(
            _value(cache.definition or cache.span),
            f"{weights} go into an emptyDir without a size: they fill the node's disk, and every restart downloads again",
            fixes=(Fix("use a PersistentVolumeClaim for the hub cache"), Fix("set a sizeLimit above the weights")),
        )
    elif cache is None and deployment.complete and deployment.mounts_complete and deployment.resource_kind in _CORE:
        yield Finding(
            first_line(deployment.span),
            f"{weights} go into the container's own layer, as no volume holds the hub cache: they fill the node's disk, and every "
            "restart downloads again",
            fixes=(Fix("mount a PersistentVolumeClaim at the hub cache"),),
            severity=Severity.WARNING if deployment.mounts else Severity.INFO,
        )


_CORE = ("Pod", "Deployment", "StatefulSet", "ReplicaSet", "Job")


def _value(span: Span) -> Span:
    """The value of ``emptyDir: {}`` alone, where it stands on one line."""
    match = re.fullmatch(r"[\w-]+:[ \t]*(\S+)", span.text)
    return Span(span.source, span.start + match.start(1), span.end) if match else span


def _cache_mount(args: ArgumentSet, facts: Facts) -> Mount | None:
    """The volume that holds the download, if any; an unnamed one where the place cannot be known."""
    deployment, env = facts.launch.deployment, facts.launch.env
    folder, given = "/root/.cache/huggingface", args.get("download_dir")
    for name, below in (("HOME", "/.cache/huggingface"), ("XDG_CACHE_HOME", "/huggingface"), ("HF_HOME", ""), ("HF_HUB_CACHE", "")):
        variable = env.get(name)
        if variable is None:
            continue
        if variable.value is None or variable.value.unknown is not None:
            return Mount("", variable.span, "other")
        folder = variable.value.value + below
    if given is not None:
        if not isinstance(given.value, str):
            return Mount("", given.name_span, "other")
        folder = given.value
    covering = [
        m for m in (deployment.mounts if deployment is not None else ()) if f"{folder}/".startswith(m.target.rstrip("/") + "/")
    ]
    return max(covering, key=lambda m: len(m.target), default=None)
