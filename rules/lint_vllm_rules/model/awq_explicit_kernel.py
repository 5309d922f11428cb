"""Naming awq or gptq keeps the faster kernel out.

Why: until 0.23 (awq) and 0.21 (gptq) the flag forces the plain kernel, where vLLM would pick Marlin by itself on a card of compute
capability 8.0 or later (7.5 from 0.14). Later releases know one method for both.
Instead: leave the flag out, or name `awq_marlin` or `gptq_marlin`.
Wrong when: the plain kernel was chosen on purpose, for a layout that Marlin does not take.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.budget.verify import kernel_of
from lint_vllm.edits import remove_argument
from lint_vllm.model_report import capability_of, model_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_OLD = {"vllm_version": "0.10.0", "gpu": "NVIDIA L40S"}
_ONE_METHOD_SINCE = {"awq": "0.24.0", "gptq": "0.22.0"}


@rule(
    code="MDL032",
    name="awq-explicit-kernel",
    severity=Severity.INFO,
    since="0.1",
    sources=(
        "vllm==0.8.5 model_executor/layers/quantization/awq_marlin.py override_quantization_method",
        "vllm-project/vllm#13462",
    ),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization awq --port 8001\n",
            mark="awq",
            fixed="vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --port 8001\n",
            facts=_OLD,
        ),
        Bad(
            "from vllm import LLM\n\nllm = LLM('Qwen/Qwen2.5-7B-Instruct-AWQ', quantization='awq')\n",
            name="run.py",
            mark="awq",
            facts=_OLD,
        ),
    ),
    good=(
        Good(
            "vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization awq\n", facts={"vllm_version": "0.33.0", "gpu": "NVIDIA L40S"}
        ),
        Good("vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization awq\n", facts={"vllm_version": "0.10.0", "gpu": "Tesla T4"}),
        Good('vllm serve Qwen/Qwen2.5-7B-Instruct-AWQ --quantization "$METHOD"\n', facts=_OLD),
    ),
)
def awq_explicit_kernel(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model, capability = args.get("quantization"), model_of(facts), capability_of(facts)
    if argument is None or argument.value_span is None or argument.value not in _ONE_METHOD_SINCE or model is None:
        return
    method = str(argument.value)
    stored = model.quantization
    if (
        stored is None
        or stored.method != method
        or stored.bits != 4
        or not model.quantization_stated
        or capability is None
        or not facts.release.sure
    ):
        return
    if facts.release.at_least(_ONE_METHOD_SINCE[method]) or (stored.group_size or 128) not in (32, 64, 128):
        return
    faster = kernel_of(None, method, capability, facts.release.version)
    if faster == method or facts.budget.outcome == "arg_error":
        return
    edits = remove_argument(argument)
    yield Finding(
        argument.value_span,
        f"--quantization {method} forces the plain kernel: without it vLLM {facts.release.version} runs this checkpoint in {faster}",
        fixes=(
            Fix(
                f"leave the flag out: vLLM picks {faster}",
                edits,
                Applicability.SAFE if edits and model.exact else Applicability.UNSAFE,
                verified=facts.rebudget({"quantization": None}).outcome != "arg_error",
            ),
        ),
    )
