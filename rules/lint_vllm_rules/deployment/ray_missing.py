"""The Ray backend is asked for in an image without Ray.

Why: ray left vLLM's requirements between 0.17.1 and 0.18.1, and the official image no longer carries it. With
`--distributed-executor-backend ray` start-up stops when the executor is created, before weights are loaded.
Instead: leave the flag out on one node (mp is the default); over several nodes use `--nnodes`, or install ray in the image.
Wrong when: something installs ray before the server starts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.examples import pod
from lint_vllm.judgement import official_image, uses_image_entry_point
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_INSTALLS = re.compile(r"\b(?:install|add|sync)\b[^\n]*\bray\b|requirements[\w.-]*\.txt")


@rule(
    code="DEP090",
    name="ray-missing",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.18.1 requirements/cuda.txt", "NVIDIA-NeMo/Skills#1480"),
    bad=(Bad(pod("Qwen/Qwen3-8B", "--distributed-executor-backend=ray"), name="pod.yaml", mark="ray"),),
    good=(
        Good(pod("Qwen/Qwen3-8B", "--distributed-executor-backend=mp"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", "--distributed-executor-backend=ray", image="vllm/vllm-openai:v0.11.0"), name="pod.yaml"),
        Good(pod("Qwen/Qwen3-8B", "--distributed-executor-backend=$(BACKEND)"), name="pod.yaml"),
    ),
)
def ray_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("distributed_executor_backend")
    if argument is None or argument.value != "ray" or not official_image(facts) or not facts.release.at_least("0.18.1"):
        return
    if not facts.release.sure or facts.launch.deployment is None or _INSTALLS.search(facts.launch.source.text):
        return
    if not uses_image_entry_point(facts) and facts.launch.deployment.kind == "dockerfile":
        return  # layers below may bring it
    yield Finding(
        argument.value_span or argument.name_span,
        f"the image of vLLM {facts.release.version} has no ray: start-up stops when the executor is created",
        fixes=(
            Fix(
                "leave the flag out: one node needs no Ray",
                edits=remove_argument(argument),
                applicability=Applicability.UNSAFE,
                cost="ranks on this node only",
            ),
            Fix("install ray in a derived image"),
        ),
    )
