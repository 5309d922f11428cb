"""A gated model is to be downloaded without a token.

Why: gated repositories answer 401 without the token of an account that accepted their licence: loading stops before the
first weight.
Instead: HF_TOKEN from a secret.
Wrong when: the volume already holds the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.examples import compose
from lint_vllm.judgement import is_container
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Known, Severity, rule

_TOKENS = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HUGGINGFACE_HUB_TOKEN",
    "HF_TOKEN_PATH",
    "HF_HUB_OFFLINE",
    "TRANSFORMERS_OFFLINE",
    "VLLM_USE_MODELSCOPE",
    "HF_ENDPOINT",
)
_CHART_TOKEN = re.compile(r"\bhf_?token|pvcStorage|\bpvc|extraVolumes|envFrom", re.IGNORECASE)
_FILLED_ELSEWHERE = ("bind", "hostPath", "pvc", "secret", "configMap", "other")


@rule(
    code="DEP080",
    name="hf-token-missing",
    severity=Severity.WARNING,
    since="0.1",
    sources=("tenstorrent/tt-inference-server#37", "xorbitsai/inference#433"),
    bad=(Bad(compose("meta-llama/Llama-3.1-8B-Instruct"), name="compose.yaml", mark="meta-llama/Llama-3.1-8B-Instruct"),),
    good=(
        Good(
            compose("meta-llama/Llama-3.1-8B-Instruct", extra="ipc: host\ngpus: all\nenvironment:\n  HF_TOKEN: ${HF_TOKEN:?}"),
            name="compose.yaml",
        ),
        Good(compose("${MODEL:?}"), name="compose.yaml"),
        Good(compose("Qwen/Qwen3-8B"), name="compose.yaml"),
    ),
)
def hf_token_missing(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    deployment = facts.launch.deployment
    if deployment is None or not isinstance(facts.model, Known) or args.model_span is None:
        return
    if not is_container(deployment) and (
        facts.launch.wrapper != "production-stack" or _CHART_TOKEN.search(facts.launch.block.text)
    ):
        return
    model = facts.model.value
    if not model.exact or model.gated is not True or args.given("hf_token") or not deployment.env_complete:
        return
    if any(name in facts.launch.env for name in _TOKENS) or any(m.kind in _FILLED_ELSEWHERE for m in deployment.mounts):
        return
    if any("option" in reason for reason in facts.launch.unresolved):
        return
    yield Finding(
        args.model_span,
        f"{model.id} is gated and nothing gives the container a token: the download answers 401 before weights are loaded",
        fixes=(Fix("pass HF_TOKEN from a secret"),),
    )
