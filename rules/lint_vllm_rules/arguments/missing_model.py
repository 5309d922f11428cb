"""No model is given.

Why: without a model vLLM serves its default (a tiny test model), or, when a served name is given, refuses to start.
Instead: the model as the first word: `vllm serve MODEL ...`.
Wrong when: a configuration file that cannot be read here names it.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.causes import cause_of, swallowing_name
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG004",
    name="missing-model",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 entrypoints/cli/serve.py",),
    bad=(Bad("vllm serve --max-model-len 8192 --port 8000\n", mark="vllm serve"),),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 8192\n"),
        Good("vllm serve --served-model-name chat Qwen/Qwen3-8B\n"),
        Good('vllm serve "$@"\n'),
        Good("vllm serve --config serve.yaml\n"),
    ),
)
def missing_model(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if (
        args.launch.form not in ("vllm serve", "api_server", "image")
        or not args.complete
        or args.given("config")
        or args.launch.wrapper
    ):
        return
    if args.given("model") or args.model_span is not None or swallowing_name(args) is not None:
        return
    if any(p.kind == "ignored" and p.flag == "model_tag" for p in args.problems):
        return
    causes = {cause_of(p, args) for p in args.problems if p.is_error}
    if "missing_model" in causes:
        yield Finding(
            args.launch.command, "no model is given: argument parsing refuses the launch", fixes=(Fix("name the model first"),)
        )
        return
    if causes:
        return
    if args.launch.unresolved or not args.arguments:
        return
    yield Finding(
        args.launch.command,
        f"no model is given: vLLM {facts.release.version} serves {args.model}, its test default",
        fixes=(Fix("name the model first: vllm serve MODEL"),),
        severity=Severity.WARNING,
    )
