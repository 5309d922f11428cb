"""A Service sends requests to a pod that is still loading.

Why: without a readiness or startup probe Kubernetes calls the pod ready as soon as its process runs. vLLM listens only
after minutes of loading; until then clients get connection errors, and a rolling update takes the old pod away too early.
Instead: a readinessProbe (and startupProbe) on /health.
Wrong when: a controller or chart adds the probes.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import pod, service
from lint_vllm.facts.services import services_beside
from lint_vllm.judgement import first_line
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_CORE = ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Pod")


@rule(
    code="DEP022",
    name="probe-missing",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/aibrix#2264",),
    bad=(Bad(pod("Qwen/Qwen3-8B", probes=False, after=service("llm")), name="pod.yaml"),),
    good=(
        Good(pod("Qwen/Qwen3-8B", after=service("llm")), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", probes=False), name="pod.yaml"),
        Good(pod("$(MODEL)", probes=True, after=service("llm")), name="pod.yaml"),
    ),
)
def probe_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "pod" or deployment.resource_kind not in _CORE:
        return
    if any(p.kind in ("readiness", "startup") for p in deployment.probes):
        return
    selected = any(service.selects(deployment) for service in services_beside(facts))
    if not selected and (not deployment.services or deployment.labels):
        return
    yield Finding(
        first_line(deployment.span),
        "no readiness or startup probe: the Service sends requests while the model is still loading",
        fixes=(Fix("add a readinessProbe and a startupProbe on /health"),),
    )
