"""The draft model has another vocabulary.

Why: a draft model proposes tokens by their number. From 0.15 vLLM compares the vocabulary sizes of draft and target and refuses the
start when they differ.
Instead: a draft of the same family and tokenizer, or a method without a draft model (ngram, the model's own MTP).
Wrong when: the checkpoint's `vocab_size` differs from the catalogue's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lint_vllm.model_report import model_of, sure, value_place
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Facts, Finding, Fix, Good, Known, Severity, rule

_NEW = {"vllm_version": "0.33.0"}
_DRAFT = '{"method": "draft_model", "model": "Qwen/Qwen3-0.6B", "num_speculative_tokens": 4}'


@rule(
    code="MDL061",
    name="draft-vocabulary",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/speculative.py verify_equal_vocab_size_if_draft_model",),
    bad=(
        Bad(f"vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config '{_DRAFT}'\n", facts=_NEW),
        Bad(
            f"from vllm import LLM\n\nllm = LLM('meta-llama/Llama-3.1-8B-Instruct', speculative_config={_DRAFT})\n",
            name="run.py",
            facts=_NEW,
        ),
    ),
    good=(
        Good(f"vllm serve Qwen/Qwen3-8B --speculative-config '{_DRAFT}'\n", facts=_NEW),
        Good('vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config "$SPEC"\n', facts=_NEW),
        Good(
            "vllm serve meta-llama/Llama-3.1-8B-Instruct --speculative-config "
            '\'{"method": "draft_model", "model": "acme/tiny", "num_speculative_tokens": 4}\'\n',
            facts=_NEW,
        ),
    ),
)
def draft_vocabulary(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    model, config = model_of(facts), args.value("speculative_config")
    if model is None or not isinstance(config, Mapping) or not facts.release.at_least("0.15.0"):
        return
    name, method = config.get("model"), config.get("method")
    if method != "draft_model" or not isinstance(name, str):
        return
    draft = facts.find_model(name)
    if not isinstance(draft, Known) or not draft.value.exact or not draft.value.vocab_size or not model.vocab_size:
        return
    theirs, ours = draft.value.vocab_size, model.vocab_size
    if theirs == ours:
        return
    yield Finding(
        value_place(args, "speculative_config"),
        f"the draft {name} has a vocabulary of {theirs:,}, {model.id} one of {ours:,}: the start is refused when speculation is configured",
        fixes=(Fix("use a draft of the same family, or a method without a draft model", applicability=Applicability.DISPLAY),),
        severity=sure(facts, model),
    )
