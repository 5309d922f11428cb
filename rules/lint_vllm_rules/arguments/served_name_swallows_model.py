"""--served-model-name takes the model as one more name.

Why: the option takes every word up to the next flag. A model that stands after it is one of its names, no model is left, and
the launch is refused.
Instead: the model first: `vllm serve MODEL --served-model-name ...`.
Wrong when: never; the parser of every release reads it so.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import swallowing_name
from lint_vllm.edits import remove_words
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule


@rule(
    code="ARG006",
    name="served-name-swallows-model",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 entrypoints/cli/serve.py",),
    bad=(
        Bad("vllm serve --served-model-name chat Qwen/Qwen3-8B\n", mark="--served-model-name"),
        Bad(
            "vllm serve --served-model-name chat Qwen/Qwen3-8B\n",
            mark="--served-model-name",
            facts={"vllm_version": "0.16.0"},
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --served-model-name chat assistant\n"),
        Good('vllm serve --served-model-name chat --model "$MODEL"\n'),
    ),
)
def served_name_swallows_model(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    name = swallowing_name(args)
    if name is None:
        return
    last = name.words[-1]
    removal = remove_words([last]) if last.unknown is None else ()
    start = args.launch.words[0].span.start if args.launch.words else None
    edits: tuple[Edit, ...] = ()
    if removal and start is not None:
        edits = (Edit(Span(args.launch.source, start, start), last.span.text + " "), *removal)
    what = f"vLLM {facts.release.version} serves {args.model}, its test default" if args.model else "the launch is refused"
    yield Finding(
        name.name_span,
        f"--served-model-name takes all {len(name.words)} words after it, {last.value} too: no model is left and {what}",
        fixes=(Fix(f"give the model first: vllm serve {last.value} ...", edits=edits, applicability=Applicability.UNSAFE),),
    )
