"""A multimodal limit on a text model.

Why: up to 0.10.0 `--limit-mm-per-prompt` on a model without images, audio or video is refused when the model is configured. Later
releases ignore it.
Instead: leave the flag out.
Wrong when: the checkpoint is a multimodal one that goes by the name of a text model.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.facts.served import architecture_of, takes_media
from lint_vllm.model_report import model_of, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_OLD = {"vllm_version": "0.9.2"}
_FLAG = "--limit-mm-per-prompt '{\"image\":2}'"


@rule(
    code="MDL042",
    name="mm-flag-on-text-model",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.9.2 config.py ModelConfig.__post_init__", "zai-org/GLM-4#788", "vllm-project/vllm#17801"),
    bad=(
        Bad(
            f"vllm serve Qwen/Qwen2.5-14B-Instruct {_FLAG} --port 8001\n",
            mark="--limit-mm-per-prompt",
            fixed="vllm serve Qwen/Qwen2.5-14B-Instruct --port 8001\n",
            facts=_OLD,
        ),
        Bad(
            "from vllm import LLM\n\nllm = LLM('Qwen/Qwen2.5-14B-Instruct', limit_mm_per_prompt={'image': 2})\n",
            name="run.py",
            mark="limit_mm_per_prompt",
            facts=_OLD,
        ),
    ),
    good=(
        Good(f"vllm serve Qwen/Qwen2.5-VL-7B-Instruct {_FLAG}\n", facts=_OLD),
        Good(f"vllm serve Qwen/Qwen2.5-14B-Instruct {_FLAG}\n", facts={"vllm_version": "0.10.2"}),
        Good(f'vllm serve "$MODEL" {_FLAG}\n', facts=_OLD),
    ),
)
def mm_flag_on_text_model(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model = args.get("limit_mm_per_prompt"), model_of(facts)
    if argument is None or not argument.value or not argument.known or model is None or facts.release.at_least("0.10.1"):
        return
    architecture = architecture_of(model)
    if architecture is None or model.multimodal or takes_media(architecture) or not architecture.endswith("ForCausalLM"):
        return
    edits = remove_argument(argument)
    severity = sure(facts, model)
    yield Finding(
        argument.name_span,
        f"{model.id} takes text only: vLLM {facts.release.version} refuses --limit-mm-per-prompt when it configures the model",
        fixes=(
            Fix("leave the flag out", edits, Applicability.SAFE if edits and model.exact else Applicability.DISPLAY, verified=True),
        ),
        severity=severity,
    )
