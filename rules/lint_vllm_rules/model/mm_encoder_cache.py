"""A small token batch limits the size of images.

Why: vLLM keeps the encoder's output in a cache of `--max-num-batched-tokens` tokens (or the largest item it expects, where that is
more). For models of native resolution a real page can be larger than expected, and the request is refused with HTTP 400.
Instead: raise `--max-num-batched-tokens`, or cap the pixels with `--mm-processor-kwargs`.
Wrong when: all images are small.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lint_vllm.model_report import model_of, plain_number
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_NATIVE = ("glm_ocr", "glm4v", "glm4v_moe", "paddleocr_vl", "dots_ocr")
_PAGE = 6144
"""Tokens of a page at about 300 dpi with 28-pixel patches (6,042 in the thread)."""


@rule(
    code="MDL041",
    name="mm-encoder-cache",
    severity=Severity.INFO,
    since="0.1",
    sources=(
        "vllm==0.33.0 v1/core/encoder_cache_manager.py compute_mm_encoder_budget",
        "vllm-project/vllm#34040",
        "zai-org/GLM-OCR#67",
    ),
    bad=(
        Bad("vllm serve zai-org/GLM-4.5V --max-num-batched-tokens 4096\n", mark="4096", facts={"vllm_version": "0.15.1"}),
        Bad(
            "from vllm import LLM\n\nllm = LLM('zai-org/GLM-4.5V', max_num_batched_tokens=4096)\n",
            name="ocr.py",
            mark="4096",
            facts={"vllm_version": "0.15.1"},
        ),
    ),
    good=(
        Good("vllm serve zai-org/GLM-4.5V --max-num-batched-tokens 16384\n", facts={"vllm_version": "0.15.1"}),
        Good('vllm serve zai-org/GLM-4.5V --max-num-batched-tokens "$TOKENS"\n', facts={"vllm_version": "0.15.1"}),
        Good(
            "vllm serve zai-org/GLM-4.5V --max-num-batched-tokens 4096 --mm-processor-kwargs '{\"max_pixels\": 1003520}'\n",
            facts={"vllm_version": "0.15.1"},
        ),
    ),
)
def mm_encoder_cache(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument, model = args.get("max_num_batched_tokens"), model_of(facts)
    if argument is None or argument.value_span is None or model is None or model.model_type not in _NATIVE:
        return
    tokens, limits = plain_number(argument.value), args.value("limit_mm_per_prompt")
    if tokens is None or tokens >= _PAGE or args.given("mm_processor_kwargs") or args.value("language_model_only") is True:
        return
    if (isinstance(limits, Mapping) and limits.get("image") == 0) or not facts.release.at_least("0.11.0"):
        return
    yield Finding(
        argument.value_span,
        f"an image of more than {tokens:,} tokens does not fit the encoder cache and is refused while serving; a page scanned at 300 dpi "
        f"takes about {_PAGE:,}",
        fixes=(
            Fix(
                "raise --max-num-batched-tokens to 8192 or more", applicability=Applicability.DISPLAY, cost="memory for activations"
            ),
            Fix("cap the pixels with --mm-processor-kwargs", applicability=Applicability.DISPLAY, cost="detail"),
        ),
    )
