"""A docker option stands after the image name.

Why: `docker run` takes its options before the image; what follows is passed to vLLM, which does not know `--gpus` or `--ipc`:
argument parsing fails, and the container has no GPU either.
Instead: options first, then the image, then vLLM's arguments.
Wrong when: the image's entry point is a wrapper that understands the option.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.arguments.causes import DOCKER_SWITCHES, DOCKER_WITH_VALUE
from lint_vllm.diagnostic import Edit
from lint_vllm.edits import remove_words
from lint_vllm.judgement import official_image
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, Span, rule

_VALUES = {"-e": re.compile(r"[A-Za-z_]\w*="), "-v": re.compile(r"[^:]+:/"), "-p": re.compile(r"[\d.:]+:\d+$")}


@rule(
    code="DEP053",
    name="docker-flag-after-image",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("llm-d/llm-d-inference-sim#533",),
    bad=(
        Bad(
            "docker run --ipc=host vllm/vllm-openai:v0.33.0 --gpus all --model Qwen/Qwen3-8B\n",
            mark="--gpus",
        ),
    ),
    good=(
        Good("docker run --ipc=host --gpus all vllm/vllm-openai:v0.33.0 --model Qwen/Qwen3-8B\n"),
        Good('docker run --ipc=host --gpus all vllm/vllm-openai:v0.33.0 --model "$MODEL"\n'),
    ),
)
def docker_flag_after_image(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    launch = facts.launch
    if launch.form != "image" or launch.image is None or launch.deployment is None or launch.deployment.kind != "docker-run":
        return
    unknown = {p.span.start for p in args.problems if p.kind in ("unknown", "removed", "stray")}
    words = launch.words
    for at, word in enumerate(words):
        name = word.value.split("=")[0]
        following = words[at + 1].value if at + 1 < len(words) else ""
        misread = name in _VALUES and _VALUES[name].match(following) is not None  # a prefix of a long option for vLLM
        if not misread and (word.span.start not in unknown or not (name in DOCKER_WITH_VALUE or name in DOCKER_SWITCHES)):
            continue
        takes = name in DOCKER_WITH_VALUE and "=" not in word.value and at + 1 < len(words)
        moved = words[at : at + 2] if takes else words[at : at + 1]
        removal = remove_words(moved)
        before = Span(launch.source, launch.image.span.start, launch.image.span.start)
        edits = (Edit(before, " ".join(w.span.text for w in moved) + " "), *removal) if removal else ()
        yield Finding(
            Span(word.span.source, word.value_span.start, word.value_span.start + len(name)),
            f"{name} is an option of docker run, but it stands after the image and goes to vLLM, which does not know it",
            fixes=(
                Fix(
                    "move it before the image",
                    edits=edits,
                    applicability=Applicability.SAFE if official_image(facts) else Applicability.UNSAFE,
                ),
            ),
        )
