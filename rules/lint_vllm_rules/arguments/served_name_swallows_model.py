"""--served-model-name takes the model as one more name.

Why: the option takes every word up to the next flag. A model that stands after it is one of its names, no model is left, and
the launch is refused.
Instead: the model first: `vllm serve MODEL --served-model-name ...`.
Wrong when: never; the parser of every release reads it so.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.edits import remove_words
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule


@rule(
    code="ARG006",
    name="served-name-swallows-model",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 entrypoints/cli/serve.py",),
    bad=(Bad("vllm serve --served-model-name chat Qwen/Qwen3-8B\n", mark="--served-model-name"),),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --served-model-name chat assistant\n"),
        Good('vllm serve --served-model-name chat --model "$MODEL"\n'),
    ),
)
def served_name_swallows_model(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    name = args.get("served_model_name")
    if name is None or len(name.words) < 2 or args.given("config") or not args.complete:
        return
    if any(s.flag == "model" for s in args.launch.settings):  # a chart puts the model in front
        return
    if not any(p.is_error and cause_of(p, args) in ("swallowed_model", "missing_model") for p in args.problems):
        return
    last = name.words[-1]
    removal = remove_words([last]) if last.unknown is None else ()
    start = args.launch.words[0].span.start if args.launch.words else None
    edits: tuple[Edit, ...] = ()
    if removal and start is not None:
        edits = (Edit(Span(args.launch.source, start, start), last.span.text + " "), *removal)
    yield Finding(
        name.name_span,
        f"--served-model-name takes all {len(name.words)} words after it, {last.value} too: no model is left and the launch is refused",
        fixes=(Fix(f"give the model first: vllm serve {last.value} ...", edits=edits, applicability=Applicability.UNSAFE),),
    )
