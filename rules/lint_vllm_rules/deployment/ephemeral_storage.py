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
from lint_vllm.judgement import checkpoint_bytes
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
    cache = _cache_mount(facts)
    if size is None or cache is None or cache.kind != "emptyDir":
        return
    weights = f"{size.likely / GIB:.0f} GiB of weights"
    bound = cache.size_bytes
    if bound is not None and cache.size_span is not None and bound < size.low:
        yield Finding(
            cache.size_span,
            f"{weights} do not fit an emptyDir of {cache.size}: the pod is evicted while it downloads",
            fixes=(Fix("raise sizeLimit above the weights"),),
        )
    elif cache.size is None and size.likely > limits.min_gib * GIB and deployment.ephemeral_storage is None:
        yield Finding(
            _value(cache.definition or cache.span),
            f"{weights} go into an emptyDir without a size: they fill the node's disk, and every restart downloads again",
            fixes=(Fix("use a PersistentVolumeClaim for the hub cache"), Fix("set a sizeLimit above the weights")),
        )


def _value(span: Span) -> Span:
    """The value of ``emptyDir: {}`` alone, where it stands on one line."""
    match = re.fullmatch(r"[\w-]+:[ \t]*(\S+)", span.text)
    return Span(span.source, span.start + match.start(1), span.end) if match else span


def _cache_mount(facts: Facts) -> Mount | None:
    """The volume that holds the hub cache, if any."""
    deployment = facts.launch.deployment
    home = facts.launch.env.get("HF_HOME") or facts.launch.env.get("HF_HUB_CACHE")
    if home is not None and (home.value is None or home.value.unknown is not None):
        return None
    folder = home.value.value if home is not None and home.value is not None else "/root/.cache/huggingface"
    covering = [
        m for m in (deployment.mounts if deployment is not None else ()) if f"{folder}/".startswith(m.target.rstrip("/") + "/")
    ]
    return max(covering, key=lambda m: len(m.target), default=None)
