"""--quantization names another method than the checkpoint's.

Why: the checkpoint's `quantization_config` says how its weights are stored. A different method on the command line is refused when
the model is configured; kernels of the same format (awq and awq_marlin) count as one.
Instead: leave the flag out: the method is read from the checkpoint.
Wrong when: the path holds another checkpoint than the catalogue's.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.verify import contradicts
from lint_vllm.edits import remove_argument
from lint_vllm.facts.release_facts import method_removed_in
from lint_vllm.facts.served import floor
from lint_vllm.model_report import model_of, sure
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_NEW = {"vllm_version": "0.33.0"}


@rule(
    code="MDL031",
    name="quant-mismatch",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/model.py _verify_quantization", "vllm-project/vllm#3331", "vllm-project/vllm#5842"),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization gptq --port 8001\n",
            mark="gptq",
            fixed="vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --port 8001\n",
            facts=_NEW,
        ),
        Bad(
            "model: Qwen/Qwen2.5-32B-Instruct-GPTQ-Int4\nquantization: fp8\nmax-model-len: 16384\nport: 8000\n",
            name="vllm.yaml",
            mark="fp8",
            fixed="model: Qwen/Qwen2.5-32B-Instruct-GPTQ-Int4\nmax-model-len: 16384\nport: 8000\n",
            facts=_NEW,
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization awq_marlin\n", facts=_NEW),
        Good('vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization "$METHOD"\n', facts=_NEW),
        Good("vllm serve Qwen/Qwen3-8B --quantization fp8\n", facts=_NEW),
    ),
)
def quant_mismatch(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model = args.get("quantization"), model_of(facts)
    if argument is None or argument.value_span is None or not isinstance(argument.value, str) or argument.conditional:
        return
    stored = model.quantization.method if model is not None and model.quantization is not None else None
    asked = argument.value.lower()
    if model is None or stored is None or not model.quantization_stated or args.given("hf_overrides"):
        return
    gone = method_removed_in(asked)
    if gone is not None and facts.release.at_least(gone):
        return
    if floor(asked, facts.release.version) is None or not contradicts(asked, stored):
        return
    edits = remove_argument(argument)
    severity = sure(facts, model, dated=False)
    safe = bool(edits) and severity is Severity.ERROR
    yield Finding(
        argument.value_span,
        f"{model.id} is quantized with {stored}, --quantization asks for {asked}: vLLM refuses it when it configures the model",
        fixes=(
            Fix(
                "leave the flag out: the method is read from the checkpoint",
                edits,
                Applicability.SAFE if safe else Applicability.UNSAFE if edits else Applicability.DISPLAY,
                verified=facts.rebudget({"quantization": None}).outcome != "arg_error",
            ),
        ),
        severity=severity,
    )
