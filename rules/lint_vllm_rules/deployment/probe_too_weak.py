"""Readiness asks only whether the server lives.

Why: /health answers before a model is chosen by the client; with LoRA adapters or several served names a pod can be healthy
without the model that clients name.
Instead: a readiness probe that asks /v1/models for the served name.
Wrong when: one model is served under one name, which is usual; the rule runs in the strict profile only.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import pod
from lint_vllm.judgement import first_line
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Severity, rule


@rule(
    code="DEP023",
    name="probe-too-weak",
    severity=Severity.INFO,
    since="0.1",
    strict=True,
    sources=("llm-d/llm-d#330",),
    bad=(Bad(pod("Qwen/Qwen3-8B", "--enable-lora"), name="pod.yaml", profile="strict"),),
    good=(
        Good(pod("Qwen/Qwen3-8B"), name="pod.yaml", profile="strict"),
        Good(pod("$(MODEL)", probes=False), name="pod.yaml", profile="strict"),
    ),
)
def probe_too_weak(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "pod" or not (args.given("enable_lora") or args.given("lora_modules")):
        return
    for probe in deployment.probes:
        if probe.kind == "readiness" and probe.path == "/health":
            yield Finding(first_line(probe.span), "readiness asks /health only: the pod is ready before its adapters are served")
