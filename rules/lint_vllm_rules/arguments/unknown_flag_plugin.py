"""A flag of a plug-in that does not fit the engine.

Why: plug-ins add options to vLLM's command line only when they load, and a plug-in of another minor release does not: the
parser then refuses the flag.
Instead: the plug-in of the same minor release as vLLM.
Wrong when: the plug-in supports several minors.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of, plugin_package, written_option
from lint_vllm.facts import version_key
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Label, Severity, Span, rule


@rule(
    code="ARG003",
    name="unknown-flag-plugin",
    severity=Severity.WARNING,
    since="0.1",
    docs=True,
    sources=("vllm-project/vllm-omni#1364",),
    bad=(
        Bad(
            'FROM vllm/vllm-openai:v0.15.1\nRUN pip install vllm-omni==0.14.0\nCMD ["Qwen/Qwen-Image", "--omni"]\n',
            name="Dockerfile",
            mark="--omni",
        ),
    ),
    good=(
        Good(
            "docker run --gpus all vllm/vllm-omni:v0.16.0 vllm serve Tongyi-MAI/Z-Image-Turbo --omni --vae-use-tiling\n",
        ),
        Good(
            'FROM vllm/vllm-openai:v0.15.1\nRUN pip install vllm-omni==0.15.0\nCMD ["Qwen/Qwen-Image", "--omni"]\n',
            name="Dockerfile",
        ),
        Good(
            'FROM vllm/vllm-openai:v0.15.1\nARG VERSION\nRUN pip install vllm-omni==$VERSION\nCMD ["m", "--omni"]\n',
            name="Dockerfile",
        ),
    ),
)
def unknown_flag_plugin(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        if not problem.is_error or cause_of(problem, args) != "plugin":
            continue
        word = written_option(problem)
        flag = (word.value if word is not None else problem.flag or "").split("=")[0]
        package = plugin_package(flag)
        if package is None:
            continue
        text = args.launch.source.text
        pin = re.search(rf"{re.escape(package)}\s*==\s*v?(\d[\w.]*)", text)
        mentioned = re.search(rf"{re.escape(package)}\b", text)
        image = args.launch.image
        if pin is None:
            if mentioned or (image is not None and package in image.reference) or not facts.release.sure:
                continue
            yield Finding(
                problem.span,
                f"{flag} belongs to the plug-in {package}, which nothing here installs: argument parsing refuses the launch",
                fixes=(Fix(f"install {package} of the same minor release as vLLM {facts.release.version}"),),
            )
        elif version_key(pin[1])[:2] != version_key(facts.release.version)[:2] and facts.release.sure:
            yield Finding(
                problem.span,
                f"{flag} belongs to {package} {pin[1]}, which does not load in vLLM {facts.release.version}: argument parsing refuses it",
                fixes=(Fix(f"install {package} {'.'.join(map(str, version_key(facts.release.version)[:2]))}"),),
                related=(Label(Span(args.launch.source, pin.start(), pin.end()), "the plug-in's release"),),
            )
