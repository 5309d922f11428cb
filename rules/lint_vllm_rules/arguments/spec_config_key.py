"""A wrong or missing key in the speculative configuration.

Why: keys are checked when the configuration object is built: an unknown key is refused there, and without
`num_speculative_tokens` the draft has no length unless its own configuration gives one.
Instead: the release's keys; `method`, `model` and `num_speculative_tokens` are the usual three.
Wrong when: the draft model declares its own number of tokens.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lint_vllm.arguments.history import key_history, valid_keys
from lint_vllm.arguments.json_place import key_place
from lint_vllm.arguments.nearest import distance, nearest
from lint_vllm.judgement import softened
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule

_DECLARES_LENGTH = ("mtp", "suffix")
_SLIP = 2
"""Edits up to which a name is a slip of the pen."""


@rule(
    code="ARG032",
    name="spec-config-key",
    severity=Severity.ERROR,
    since="0.1",
    sources=("vllm==0.33.0 config/speculative.py SpeculativeConfig", "vllm-project/vllm#44566"),
    bad=(
        Bad(
            'vllm serve Qwen/Qwen3-8B --speculative-config \'{"method":"ngram","num_spec_tokens":3}\'\n',
            mark="num_spec_tokens",
            facts={"vllm_version": "0.24.0"},
        ),
        Bad(
            'vllm serve Qwen/Qwen3-8B --speculative-config \'{"method":"eagle3","model":"org/head"}\'\n',
            facts={"vllm_version": "0.24.0"},
        ),
    ),
    good=(
        Good(
            'vllm serve Qwen/Qwen3-8B --speculative-config \'{"method":"ngram","num_speculative_tokens":3}\'\n',
            facts={"vllm_version": "0.24.0"},
        ),
        Good('vllm serve Qwen/Qwen3-8B --speculative-config "$SPEC"\n', facts={"vllm_version": "0.24.0"}),
    ),
)
def spec_config_key(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    argument = args.get("speculative_config")
    if argument is None or not isinstance(argument.value, dict) or not argument.value:
        return
    known = valid_keys("SpeculativeConfig", facts.release.table)
    given = argument.value
    wrong = [key for key in given if known and key not in known]
    for key in wrong:
        history = key_history("SpeculativeConfig", key)
        came = history.introduced_after(facts.release.table) if history is not None else None
        gone = history.removed_before(facts.release.table) if history is not None else None
        when = f", first in {came}" if came else f", gone since {gone}" if gone else ""
        near = nearest(key, sorted(known))
        place = key_place(argument, key)
        yield Finding(
            place or argument.value_span or argument.name_span,
            f"speculative configuration has no key {key!r} in vLLM {facts.release.version}{when}: refused when the engine is configured",
            fixes=tuple(_renamed(key, n, place, given) for n in near[:1]),
            severity=softened(facts, Severity.ERROR),
        )
    method = str(given.get("method") or "")
    if not wrong and "num_speculative_tokens" not in given and not method.endswith(_DECLARES_LENGTH):
        if given.get("model") is None and not method:
            return
        yield Finding(
            argument.name_span,
            "num_speculative_tokens is missing: the draft does not declare a length of its own, and the configuration is refused",
            fixes=(Fix("add num_speculative_tokens, 2 to 5 for most drafts"),),
            severity=softened(facts, Severity.ERROR),
        )


def _renamed(key: str, near: str, place: Span | None, given: Mapping[str, object]) -> Fix:
    exact = place is not None and place.text == key and near not in given
    edits = (Edit(place, near),) if exact and place is not None else ()
    meant = bool(edits) and distance(key, near, _SLIP) <= _SLIP
    applicability = Applicability.SAFE if meant else Applicability.UNSAFE if edits else Applicability.DISPLAY
    return Fix(f"write {near!r}", edits, applicability)
