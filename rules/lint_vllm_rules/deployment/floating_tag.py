"""The image tag moves.

Why: `latest`, `nightly` or no tag is another release after the next pull: flags leave, defaults move (the share went from
0.90 to 0.92, graphs moved into it), and a node that pulls later runs something else than its neighbours.
Instead: a release tag, or a digest.
Wrong when: the file is a template whose tag is set elsewhere, or a test that wants the newest.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import compose
from lint_vllm.judgement import official_image
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_MOVING = ("latest", "nightly", "main", "dev", "stable", "edge")


@rule(
    code="DEP044",
    name="floating-tag",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm-project/vllm#32755",),
    bad=(
        Bad(compose("Qwen/Qwen3-8B", image="vllm/vllm-openai:latest"), name="compose.yaml", mark="latest"),
        Bad("docker run --gpus all --ipc=host vllm/vllm-openai Qwen/Qwen3-8B\n", mark="vllm/vllm-openai"),
    ),
    good=(
        Good(compose("Qwen/Qwen3-8B"), name="compose.yaml"),
        Good(compose("Qwen/Qwen3-8B", image="vllm/vllm-openai:${VLLM_TAG:?}"), name="compose.yaml"),
    ),
)
def floating_tag(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    image = facts.launch.image
    if image is None or image.unknown is not None or image.digest is not None or not official_image(facts):
        return
    tag = image.tag
    if tag is not None and tag.lower().split("-")[0] not in _MOVING:
        return
    said = f"the tag {tag} moves" if tag is not None else "no tag means latest, which moves"
    yield Finding(
        image.tag_span or image.span,
        f"{said} with every release, and with it flags, defaults and memory needs",
        fixes=(Fix("pin the release that was tested"),),
    )
