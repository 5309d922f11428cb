"""The image has no entry point that would take these arguments.

Why: vLLM's own server images start the server; others (vllm-omni, hardware vendors' builds) run the words after the image as a
command. An option is no program: the container stops at once with "executable file not found".
Instead: the whole command, `vllm serve MODEL ...`.
Wrong when: a derived image of the same name sets an entry point.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import compose
from lint_vllm.facts.images import image_facts
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_OMNI = "vllm/vllm-omni:v0.22.0"


@rule(
    code="DEP051",
    name="entrypoint-missing",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/vllm-omni#3834",),
    bad=(
        Bad(compose("--model=Qwen/Qwen2.5-Omni-7B", image=_OMNI), name="compose.yaml", mark="--model"),
        Bad(f"docker run --gpus all --ipc=host {_OMNI} --model Qwen/Qwen2.5-Omni-7B\n", mark="--model"),
    ),
    good=(
        Good(compose("vllm", "serve", "Qwen/Qwen2.5-Omni-7B", image=_OMNI), name="compose.yaml"),
        Good(compose("--model=Qwen/Qwen3-8B"), name="compose.yaml"),
        Good(compose("--model=Qwen/Qwen3-8B", image="${IMAGE:?}"), name="compose.yaml"),
    ),
)
def entrypoint_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    launch, known = facts.launch, image_facts(facts.launch.image)
    if known is None or known.entrypoint != "command" or launch.form != "image" or not launch.words:
        return
    if launch.deployment is not None and launch.deployment.command is not None:
        return
    first = launch.words[0]
    name = first.value.split("=")[0]
    if first.unknown is not None or not name.startswith("--"):
        return
    span = first.value_span
    yield Finding(
        type(span)(span.source, span.start, span.start + len(name)) if span.text.startswith(name) else span,
        f"{known.id} images run their arguments as a command: `{name}` is no program, the container stops at once",
        fixes=(Fix("write the whole command: vllm serve MODEL ..."),),
    )
