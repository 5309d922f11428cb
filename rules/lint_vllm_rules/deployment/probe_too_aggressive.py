"""One slow answer restarts the server.

Why: under load /health can take seconds. A liveness probe that gives up after a single failure restarts a server that needs
minutes to load, while its clients wait.
Instead: a failureThreshold of 3 or more and a timeout of some seconds.
Wrong when: restarts are cheap, as for a tiny model.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import pod
from lint_vllm.judgement import first_line
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule

_LIVENESS = "livenessProbe:\n  httpGet: {path: /health, port: 8000}\n  failureThreshold: %s\n"


@rule(
    code="DEP021",
    name="probe-too-aggressive",
    severity=Severity.WARNING,
    since="0.1",
    sources=("ai-dynamo/dynamo#2124",),
    bad=(Bad(pod("Qwen/Qwen3-8B", container=_LIVENESS % 1), name="pod.yaml", mark="1"),),
    good=(
        Good(pod("Qwen/Qwen3-8B", container=_LIVENESS % 4), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", container=_LIVENESS % "{{ .Values.threshold }}"), name="pod.yaml"),
    ),
)
def probe_too_aggressive(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "pod":
        return
    for probe in deployment.probes:
        threshold = probe.fields.get("failureThreshold")
        if probe.kind != "liveness" or threshold is None or threshold.unknown is not None or probe.failure_threshold > 1:
            continue
        place = threshold.editable
        yield Finding(
            threshold.value_span or first_line(probe.span),
            f"one answer later than {probe.timeout:g} s restarts the server, which then loads the model again",
            fixes=(
                Fix(
                    "tolerate 3 failures",
                    edits=(Edit(place, "3"),) if place is not None else (),
                    applicability=Applicability.UNSAFE,
                    cost=f"a dead server is noticed {2 * probe.period:g} s later",
                ),
            ),
        )
