"""A GGUF file is given as the model.

Why: the built-in GGUF loader left vLLM in 0.24: a `.gguf` file is no model folder and loading fails. Before, it took some
architectures, one file, and needed the original tokenizer.
Instead: the safetensors checkpoint, or an AWQ, GPTQ or FP8 one; llama.cpp for GGUF files.
Wrong when: the GGUF plug-in of vLLM is installed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.examples import compose
from lint_vllm.model_report import model_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_FILE = re.compile(r"\.gguf\b", re.IGNORECASE)
_REPOSITORY = re.compile(r"[-_.]gguf(?:\Z|:|/)", re.IGNORECASE)


@rule(
    code="MDL030",
    name="gguf-input",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.24.0 model_executor/layers/quantization/__init__.py", "vllm-project/vllm#33229", "vllm-project/vllm#23321"),
    bad=(
        Bad(
            compose("--model=/models/llama-3.1-8b.Q4_K_M.gguf", "--tokenizer=meta-llama/Llama-3.1-8B-Instruct"),
            name="compose.yaml",
            mark="/models/llama-3.1-8b.Q4_K_M.gguf",
        ),
        Bad("vllm serve unsloth/Qwen3-8B-GGUF:Q4_K_M\n", mark="unsloth/Qwen3-8B-GGUF:Q4_K_M", facts={"vllm_version": "0.33.0"}),
        Bad("vllm serve ./qwen.gguf\n", mark="./qwen.gguf", facts={"vllm_version": "0.10.0"}),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B-AWQ\n", facts={"vllm_version": "0.33.0"}),
        Good('vllm serve "$MODEL"\n', facts={"vllm_version": "0.33.0"}),
        Good("vllm serve ./qwen.gguf --tokenizer Qwen/Qwen3-8B\n", facts={"vllm_version": "0.10.0"}),
    ),
)
def gguf_input(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    name = args.model
    if not isinstance(name, str) or not (_FILE.search(name) or _REPOSITORY.search(name)):
        return
    gone = facts.release.at_least("0.24.0")
    if not gone and args.given("tokenizer"):
        return
    if gone:
        message = (
            f"{name} is a GGUF checkpoint: the loader left vLLM in 0.24, {facts.release.version} fails when the model is configured"
        )
    else:
        message = f"{name} is a GGUF checkpoint without --tokenizer: vLLM converts its vocabulary, slowly and not always rightly"
    severity = Severity.WARNING
    if gone and (facts.release.sure or facts.release.certainty == "assumed"):
        severity = Severity.ERROR if facts.release.sure else Severity.WARNING
    yield Finding(
        model_place(args),
        message,
        fixes=(
            Fix("serve the safetensors checkpoint, or an AWQ, GPTQ or FP8 one", applicability=Applicability.DISPLAY),
            Fix("serve this file with llama.cpp", applicability=Applicability.DISPLAY),
        ),
        severity=severity,
    )
