"""The liveness probe kills the server before the model is loaded.

Why: vLLM answers /health only after weights are loaded, memory is profiled and graphs are captured. A liveness probe that
gives up earlier restarts the container, which starts to load again: a crash loop that never ends.
Instead: a startupProbe whose failureThreshold x periodSeconds covers the load (600 to 1800 s); liveness then starts after it.
Wrong when: weights come from a very fast local disk or from memory.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.quantity import GIB
from lint_vllm.examples import pod
from lint_vllm.judgement import checkpoint_bytes, first_line, from_local_disk, load_seconds
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Options, Severity, rule

_LIVENESS = "livenessProbe:\n  httpGet: {path: /health, port: 8000}\n  initialDelaySeconds: 60\n"


class Limits(Options):
    min_seconds: float = 60.0
    """Expected even of a model that is not known."""


@rule(
    code="DEP020",
    name="probe-too-short",
    severity=Severity.ERROR,
    since="0.1",
    options=Limits,
    sources=("opendatahub-io/kserve#1161",),
    bad=(
        Bad(
            pod("Qwen/Qwen2.5-72B-Instruct", "--tensor-parallel-size=4", gpus="4", probes=False, container=_LIVENESS),
            name="pod.yaml",
        ),
    ),
    good=(
        Good(pod("Qwen/Qwen2.5-72B-Instruct", gpus="4", container=_LIVENESS), name="pod.yaml"),
        Good(pod("$(MODEL)", gpus="4", probes=False, container=_LIVENESS), name="pod.yaml"),
    ),
)
def probe_too_short(args: ArgumentSet, facts: Facts, limits: Limits) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "pod":
        return
    startup = next((p for p in deployment.probes if p.kind == "startup"), None)
    liveness = next((p for p in deployment.probes if p.kind == "liveness"), None)
    probe = startup or liveness
    if probe is None or probe.incomplete:
        return
    patience = probe.initial_delay + probe.failure_threshold * probe.period
    needed, size = load_seconds(facts), checkpoint_bytes(facts)
    if needed is None or size is None:
        if patience >= limits.min_seconds:
            return
        severity, reason = Severity.WARNING, f"loading usually takes more than {limits.min_seconds:g} s"
    elif patience < needed.low:
        severity, reason = Severity.ERROR, f"{size.likely / GIB:.0f} GiB of weights take at least {needed.low:.0f} s to load"
    elif patience < needed.likely:
        place = "the local disk" if from_local_disk(facts) else "a network volume"
        severity, reason = Severity.WARNING, f"{size.likely / GIB:.0f} GiB from {place} take about {needed.likely:.0f} s"
    else:
        return
    kind = "startup" if startup is not None else "liveness"
    yield Finding(
        first_line(probe.span),
        f"the {kind} probe restarts the container after {probe.initial_delay:g} + {probe.failure_threshold} x {probe.period:g} = "
        f"{patience:g} s; {reason}: it never gets to serving",
        fixes=(Fix("add a startupProbe with failureThreshold 180 and periodSeconds 10", applicability=Applicability.DISPLAY),),
        severity=severity,
    )
