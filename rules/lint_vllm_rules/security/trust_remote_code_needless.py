"""--trust-remote-code on a model that needs none.

Why: the flag lets Python code of the model's repository run in the server. vLLM and transformers bring all that this model needs, so
the flag only widens what a changed repository could do.
Instead: leave it out.
Wrong when: a fork or a local copy under this name ships code of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.edits import remove_argument
from lint_vllm.facts.served import architecture_of, brings_code, knows_type, served_span
from lint_vllm.model_report import model_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_NEW = {"vllm_version": "0.33.0"}


@rule(
    code="SEC004",
    name="trust-remote-code-needless",
    severity=Severity.INFO,
    since="0.1",
    sources=("vllm==0.33.0 transformers_utils/config.py _CONFIG_REGISTRY", "vllm-project/vllm#28910", "zai-org/GLM-V#204"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --trust-remote-code --port 8001\n",
            mark="--trust-remote-code",
            fixed="vllm serve Qwen/Qwen3-8B --port 8001\n",
            facts=_NEW,
        ),
        Bad(
            "from vllm import LLM\n\nllm = LLM('Qwen/Qwen3-8B', trust_remote_code=True)\n",
            name="run.py",
            mark="trust_remote_code",
            facts=_NEW,
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --port 8001\n", facts=_NEW),
        Good('vllm serve "$MODEL" --trust-remote-code\n', facts=_NEW),
        Good("vllm serve OpenGVLab/InternVL2-8B --trust-remote-code\n", facts=_NEW),
    ),
)
def trust_remote_code_needless(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model = args.get("trust_remote_code"), model_of(facts)
    if argument is None or argument.value is not True or model is None or not model.exact or argument.conditional:
        return
    architecture, release = architecture_of(model), facts.release.version
    span = served_span(architecture) if architecture is not None else None
    if span is None or not span.holds(release) or knows_type(model.model_type, release) is not True:
        return
    if brings_code(model) is not None or model.config.get("auto_map") or args.given("speculative_config"):
        return
    edits = remove_argument(argument)
    yield Finding(
        argument.name_span,
        f"vLLM {release} and its transformers bring all that {model.id} needs: the flag only allows code of the repository to run",
        fixes=(Fix("leave the flag out", edits, Applicability.SAFE if edits else Applicability.DISPLAY, verified=True),),
    )
