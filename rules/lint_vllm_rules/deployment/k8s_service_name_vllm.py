"""A Kubernetes Service called `vllm` sets VLLM_PORT in every pod.

Why: Kubernetes gives each pod of the namespace variables of its Services: a Service called `vllm` yields
`VLLM_PORT=tcp://10.0.0.1:8000`. vLLM reads VLLM_PORT as a number and stops at start-up.
Instead: another name for the Service, or `enableServiceLinks: false` in the pod.
Wrong when: the pod runs in another namespace than the Service.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import pod
from lint_vllm.examples import service as service_named
from lint_vllm.facts.services import renamed, services_beside
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="DEP040",
    name="k8s-service-name-vllm",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm-project/vllm#34199", "defilantech/LLMKube#358"),
    bad=(Bad(pod("Qwen/Qwen3-8B", after=service_named("vllm")), name="pod.yaml", mark="vllm"),),
    good=(
        Good(pod("Qwen/Qwen3-8B", after=service_named("qwen-api")), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", spec="enableServiceLinks: false", after=service_named("vllm")), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", after=service_named("{{ .Release.Name }}")), name="pod.yaml"),
    ),
)
def k8s_service_name_vllm(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "pod" or "VLLM_PORT" in facts.launch.env:
        return
    links = deployment.service_links
    if links is not None and (links.unknown is not None or links.value.lower() == "false"):
        return
    for service in services_beside(facts):
        name = service.name
        if name.value != "vllm" or name.unknown is not None or not service.reaches(deployment) or service.kind != "Service":
            continue
        if renamed(facts):
            return
        point = deployment.edit_points.get("pod_spec")
        edits: tuple[Edit, ...] = ()
        if links is not None and links.editable is not None:
            edits = (Edit(links.editable, "false"),)
        elif point is not None:
            column = point.column - 1
            edits = (Edit(point, f"enableServiceLinks: false\n{' ' * column}"),)
        yield Finding(
            name.value_span,
            "a Service called vllm sets VLLM_PORT=tcp://... in the pods of its namespace: vLLM reads that as a port number and stops at start-up",
            fixes=(
                Fix(
                    "switch service variables off in the pod: enableServiceLinks: false",
                    edits=edits,
                    applicability=Applicability.UNSAFE,
                    cost="no variables of other Services",
                ),
                Fix("rename the Service"),
            ),
        )
        return
