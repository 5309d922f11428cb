"""The image has no entry point that would take the arguments.

Why: some images with vLLM inside expect a whole command; arguments alone (`--model ...`) are then run as a program, and the
container stops with "executable file not found" before anything else.
Instead: write the command: `vllm serve MODEL ...`.
Wrong when: a derived image of the same name adds an entry point.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import compose
from lint_vllm.facts.images import image_facts
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="DEP051",
    name="entrypoint-missing",
    severity=Severity.WARNING,
    since="0.1",
    sources=("data set images.json", "vllm-project/vllm-omni#1364"),
    bad=(
        Bad(
            compose("--model=Qwen/Qwen3-8B", image="nvcr.io/nvidia/vllm:25.09-py3"),
            name="compose.yaml",
            mark="--model=Qwen/Qwen3-8B",
        ),
    ),
    good=(
        Good(compose("vllm", "serve", "Qwen/Qwen3-8B", image="nvcr.io/nvidia/vllm:25.09-py3"), name="compose.yaml"),
        Good(compose("--model=Qwen/Qwen3-8B"), name="compose.yaml"),
        Good(compose("--model=Qwen/Qwen3-8B", image="${IMAGE:?}"), name="compose.yaml"),
    ),
)
def entrypoint_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    launch = facts.launch
    known = image_facts(launch.image)
    if known is None or known.entrypoint != "command" or launch.form != "image" or not launch.words:
        return
    if launch.deployment is not None and launch.deployment.command is not None:
        return
    first = launch.words[0]
    if first.unknown is not None or not first.value.startswith("--"):
        return
    yield Finding(
        first.value_span,
        f"this image runs its arguments as a command: `{first.value.split('=')[0]}` is not a program, the container stops at once",
        fixes=(Fix("write the command: vllm serve MODEL ..."),),
    )
