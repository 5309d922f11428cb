"""Engines of one card start at the same moment.

Why: each measures free memory while the other allocates. The one that profiles second sees less, and its KV pool comes out
smaller, or its start is refused, depending on the order.
Instead: let the second wait for the first to be healthy (`depends_on: condition: service_healthy`), or fix the pools with
`--kv-cache-memory-bytes`.
Wrong when: something outside the file staggers the starts.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import compose
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Severity, rule

_ENGINE = """  {name}:
    image: vllm/vllm-openai:v0.33.0
    ipc: host
    command: ["Qwen/Qwen2.5-1.5B-Instruct", "--gpu-memory-utilization", "0.4"]
{extra}    deploy:
      resources:
        reservations:
          devices:
            - device_ids: ["0"]
              capabilities: [gpu]
"""


@rule(
    code="DEP031",
    name="gpu-shared-race",
    severity=Severity.INFO,
    since="0.1",
    strict=True,
    sources=("vllm-project/vllm#9198",),
    bad=(
        Bad(
            "services:\n" + _ENGINE.format(name="a", extra="") + _ENGINE.format(name="b", extra=""),
            name="compose.yaml",
            profile="strict",
        ),
    ),
    good=(
        Good(
            "services:\n"
            + _ENGINE.format(name="a", extra="")
            + _ENGINE.format(name="b", extra="    depends_on:\n      a:\n        condition: service_healthy\n"),
            name="compose.yaml",
            profile="strict",
        ),
        Good(compose("${MODEL:?}"), name="compose.yaml", profile="strict"),
    ),
)
def gpu_shared_race(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or deployment.kind != "compose" or deployment.waits_for_health:
        return
    own = {d for r in deployment.gpus for d in r.device_ids}
    for sibling in facts.siblings_in_scope:
        other = sibling.facts.launch.deployment
        if other is None or sibling.facts.launch.command.start > facts.launch.command.start or other.waits_for_health:
            continue
        if own & {d for r in other.gpus for d in r.device_ids}:
            yield Finding(
                facts.launch.command,
                "two engines of one card start at the same moment: each measures memory while the other allocates",
            )
            return
