"""vLLM does not serve this architecture.

Why: the class that `config.json` names is in no registry of the release, and transformers' generic backend takes decoder-only models
only. The start is refused when the model is configured.
Instead: another checkpoint, another server, or for a model that vLLM dropped the last release that had it.
Wrong when: a plug-in registers the class, or the repository's own code is compatible with the generic backend.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lint_vllm.facts import version_key
from lint_vllm.facts.served import architecture_of, knows_type, served_span
from lint_vllm.model_report import model_of, model_place, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_T5 = """{"architectures": ["T5ForConditionalGeneration"], "model_type": "t5", "d_model": 1024, "d_ff": 2816, "d_kv": 64,
 "num_layers": 24, "num_heads": 16, "vocab_size": 32128, "is_encoder_decoder": true}
"""


@rule(
    code="MDL021",
    name="arch-unsupported",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 model_executor/models/registry.py _raise_for_unsupported", "vllm-project/vllm#10481"),
    bad=(
        Bad("vllm serve ./flan\n", mark="./flan", files={"flan/config.json": _T5}, facts={"vllm_version": "0.33.0"}),
        Bad(
            "from vllm import LLM\n\nllm = LLM('./flan')\n",
            name="run.py",
            mark="./flan",
            files={"flan/config.json": _T5},
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B\n", facts={"vllm_version": "0.33.0"}),
        Good('vllm serve "$MODEL"\n', facts={"vllm_version": "0.33.0"}),
        Good("vllm serve openai/whisper-large-v3\n", facts={"vllm_version": "0.33.0"}),
    ),
)
def arch_unsupported(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model = model_of(facts)
    if model is None or not model.exact or args.given("hf_overrides") or args.given("model_impl"):
        return
    architecture, release = architecture_of(model), facts.release.version
    if architecture is None or len(model.architectures) > 1:
        return
    span = served_span(architecture)
    if span is not None:
        gone = span.until
        if gone is None or version_key(release) < version_key(gone):
            return
        if not model.config.get("is_encoder_decoder") and knows_type(model.model_type, release):
            return
        yield Finding(
            model_place(args),
            f"{architecture} left vLLM in {gone}; {release} does not serve {model.id}",
            fixes=(Fix(f"stay on the last release before {gone}", applicability=Applicability.DISPLAY),),
            severity=sure(facts, model, Severity.WARNING),
        )
        return
    if facts.release.certainty == "newer" or args.value("trust_remote_code") is True or not model.architectures:
        return
    if isinstance(model.config.get("auto_map"), Mapping):  # the repository's own code may serve
        return
    runs_anyway = knows_type(model.model_type, release) and not model.config.get("is_encoder_decoder")
    if runs_anyway or not model.config.get("model_type"):
        return
    yield Finding(
        model_place(args),
        f"vLLM has no {architecture} ({model.id}): the start is refused when the model is configured",
        fixes=(Fix("serve another checkpoint, or another server for this one", applicability=Applicability.DISPLAY),),
        severity=sure(facts, model, Severity.WARNING, dated=False),
    )
