"""A fraction of a GPU is asked for where only whole ones count.

Why: `nvidia.com/gpu` is a whole number; the API server refuses 0.5, and charts that cast the value to an integer silently
ask for no GPU at all: the pod starts without one and vLLM stops at device detection.
Instead: 1, or a slice that the device plugin offers (`nvidia.com/mig-1g.10gb`, `nvidia.com/gpu.shared`).
Wrong when: the cluster's own scheduler extension reads fractions of this name.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from lint_vllm.examples import pod
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="DEP032",
    name="gpu-request-fraction",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm-project/production-stack#1047",),
    bad=(Bad(pod("Qwen/Qwen3-8B", gpus="0.5"), name="pod.yaml", mark="0.5"),),
    good=(
        Good(pod("Qwen/Qwen3-8B", gpus="1"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", gpus='"{{ .Values.gpus }}"'), name="pod.yaml"),
    ),
)
def gpu_request_fraction(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    for request in deployment.gpus if deployment is not None else ():
        try:
            amount = float(request.raw)
        except ValueError:
            continue
        if (
            not math.isfinite(amount)
            or amount == int(amount)
            or request.resource not in ("nvidia.com/gpu", "amd.com/gpu", "requestGPU")
        ):
            continue
        yield Finding(
            request.value_span,
            f"{request.raw} of a GPU cannot be asked for: the request is refused, or cut to {int(amount)} and the container has no GPU",
            fixes=(
                Fix(
                    "ask for 1 GPU", edits=(Edit(request.value_span, "1"),), applicability=Applicability.UNSAFE, cost="a whole card"
                ),
            ),
        )
