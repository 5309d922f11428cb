"""The image was not built for this card.

Why: an image holds machine code for the compute capabilities it was compiled for. On another card the first kernel fails with "no
kernel image is available for execution".
Instead: a tag that is built for the card (RTX 50: CUDA 12.8 builds, 0.9.2 or later), or for old cards an older tag.
Wrong when: the image was rebuilt under the same name.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.facts.images import built_for, image_facts
from lint_vllm.model_report import capability_of, model_place, nvidia_card, shown
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_OLD = "docker run --gpus all --ipc=host vllm/vllm-openai:v0.8.5 --model Qwen/Qwen2.5-7B-Instruct\n"


@rule(
    code="HW002",
    name="arch-not-in-build",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm-project/vllm docker/versions.json", "gpustack/gpustack#2097", "vllm-project/vllm#18835"),
    bad=(
        Bad(_OLD, mark="vllm/vllm-openai:v0.8.5", facts={"gpu": "NVIDIA GeForce RTX 5090"}),
        Bad(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n    command: Qwen/Qwen3-0.6B --dtype half\n",
            name="compose.yaml",
            mark="vllm/vllm-openai:v0.33.0",
            facts={"gpu": "Tesla V100-SXM2-32GB"},
        ),
        Bad("vllm serve Qwen/Qwen2.5-7B-Instruct\n", facts={"gpu": "NVIDIA GeForce RTX 5090", "vllm_version": "0.8.5"}),
    ),
    good=(
        Good(_OLD.replace("0.8.5", "0.33.0"), facts={"gpu": "NVIDIA GeForce RTX 5090"}),
        Good(_OLD.replace("vllm-openai:v0.8.5", 'vllm-openai:"$TAG"'), facts={"gpu": "NVIDIA GeForce RTX 5090"}),
        Good(_OLD),
    ),
)
def arch_not_in_build(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    image, card, known = facts.launch.image, nvidia_card(facts), image_facts(facts.launch.image)
    if image is None:
        yield from _wheel(args, facts)
    if image is None or card is None or card.capability is None or known is None or known.device != "cuda":
        return
    if card.members or card.capability < (7, 0) or known.runs_on(card.capability) is not False:
        return
    built = ", ".join(shown(a) for a in known.archs)
    cuda = f" (CUDA {known.cuda})" if known.cuda else ""
    newer = card.capability > max(known.archs)
    yield Finding(
        image.span,
        f"{image.reference}{cuda} is built for compute capabilities {built}; {card.name} has {shown(card.capability)}: the first kernel fails",
        fixes=(
            Fix(
                "use a later tag, whose build has this card" if newer else "use an earlier tag that was built for this card",
                applicability=Applicability.DISPLAY,
            ),
        ),
        severity=Severity.ERROR if known.official else Severity.WARNING,
    )


def _wheel(args: ArgumentSet, facts: Facts) -> Iterator[Finding]:
    """The same for the wheel of a stated release; somebody may have compiled it for the card."""
    capability, built = capability_of(facts), built_for(facts.release.version)
    if (
        capability is None
        or capability < (7, 0)
        or not built
        or facts.release.certainty != "stated"
        or args.launch.wrapper is not None
    ):
        return
    if any(major == capability[0] and minor <= capability[1] for major, minor in built):
        return
    span = facts.release.span
    yield Finding(
        span if span is not None and span.source is args.launch.source else model_place(args),
        f"the wheel of vLLM {facts.release.version} is built for compute capabilities {', '.join(shown(a) for a in built)}; the card has "
        f"{shown(capability)}: the first kernel fails",
        fixes=(Fix("use a release whose wheel is built for the card, or compile it", applicability=Applicability.DISPLAY),),
        severity=Severity.WARNING,
    )
