"""The driver is older than the image's CUDA needs.

Why: a CUDA build runs on drivers of its major version or later (CUDA 12: 525, CUDA 13: 580). On an older driver the container does
not start, or CUDA says that the driver is insufficient.
Instead: a driver of the series, or a tag that is built with an older CUDA.
Wrong when: a data-centre card runs with the forward-compatibility package, or the file installs another driver later.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lint_vllm.facts import version_key
from lint_vllm.facts.driver import stated_driver
from lint_vllm.facts.images import image_facts
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_BOOT = (
    "#!/bin/bash\napt-get install -y nvidia-driver-535-server docker.io\n"
    "docker run --gpus all --ipc=host vllm/vllm-openai:v0.33.0 Qwen/Qwen3-4B\n"
)


@rule(
    code="HW010",
    name="driver-too-old",
    severity=Severity.WARNING,
    since="0.1",
    sources=("CUDA Toolkit release notes, tables 2 and 3", "vllm-project/vllm#5510", "vllm-project/vllm#5635"),
    bad=(
        Bad(_BOOT, mark="535"),
        Bad(
            "x-node:\n  driver_version: 550.54.15\nservices:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n"
            "    command: Qwen/Qwen3-4B\n",
            name="compose.yaml",
            mark="550.54.15",
        ),
    ),
    good=(
        Good(_BOOT.replace("535", "580")),
        Good(_BOOT.replace("535", "$DRIVER")),
        Good(_BOOT.replace("v0.33.0", "v0.9.2")),
    ),
)
def driver_too_old(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    known, driver = image_facts(facts.launch.image), stated_driver(args.launch.source)
    floating = known is not None and known.official and known.moving and known.cuda is None
    if floating and facts.launch.image is not None:  # today's release
        known = image_facts(replace(facts.launch.image, tag=f"v{facts.release.version}"))
    if known is None or known.driver is None or driver is None or driver.span is None or args.launch.passage == "doc":
        return
    least = known.driver[0]
    if version_key(driver.value) >= version_key(least)[: len(version_key(driver.value))]:
        return
    image = facts.launch.image
    yield Finding(
        driver.span,
        f"driver {driver.value} is older than {least}, which the CUDA {known.cuda} build of {image.reference if image else 'the image'} needs: "
        "the container does not start",
        fixes=(
            Fix(f"install driver {least.split('.')[0]} or later", applicability=Applicability.DISPLAY),
            Fix("pin a tag that is built with an older CUDA", applicability=Applicability.DISPLAY),
        ),
        severity=Severity.INFO if floating else None,
    )
