"""The positional model is ignored by the api_server module.

Why: `python -m vllm.entrypoints.openai.api_server MODEL` accepts the word and does not read it: the module's default model is
served, under another name than clients expect.
Instead: `--model MODEL`, or `vllm serve MODEL`.
Wrong when: never; measured on the module's own parser.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of
from lint_vllm.facts.images import image_facts
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG007",
    name="model-word-ignored",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 entrypoints/openai/cli_args.py make_arg_parser",),
    bad=(
        Bad(
            "python -m vllm.entrypoints.openai.api_server Qwen/Qwen3-8B --port 8000\n",
            mark="Qwen/Qwen3-8B",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("python -m vllm.entrypoints.openai.api_server --model Qwen/Qwen3-8B\n"),
        Good("vllm serve Qwen/Qwen3-8B\n"),
        Good('python -m vllm.entrypoints.openai.api_server "$@"\n'),
    ),
)
def model_word_ignored(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.form != "api_server" or args.launch.doubled_entrypoint:  # the doubled words have their own rule
        return
    image = image_facts(args.launch.image)
    if args.launch.form == "image" and (image is None or image.entrypoint != "api_server"):
        return
    for problem in args.problems:
        if problem.kind != "ignored" or not problem.words or problem.flag != "model_tag":
            continue
        word = problem.words[0]
        if word.unknown is not None or args.given("model") or cause_of(problem, args) == "joined":
            continue
        bare = not word.quote and args.launch.form != "image"
        yield Finding(
            word.value_span,
            f"the api_server module does not read a positional model: {args.model or 'its default'} would be served instead",
            fixes=(
                Fix(
                    f"write --model {word.value}",
                    edits=(Edit(word.span, f"--model {word.span.text}"),) if bare else (),
                    applicability=Applicability.SAFE if bare else Applicability.DISPLAY,
                    verified=True,
                ),
            ),
        )
