"""A false in a --config file has no effect.

Why: `vllm serve --config` passes a switch only when it is true. `enable-prefix-caching: false` is dropped without a word, and
prefix caching stays on. The api_server module honours it from 0.28 on.
Instead: the negative key as true: `no-enable-prefix-caching: true`.
Wrong when: the option is off by default anyway.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.arguments.history import negative_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, rule


@rule(
    code="ARG012",
    name="config-false-dropped",
    severity=Severity.WARNING,
    since="0.1",
    sources=("vllm==0.33.0 utils/argparse_utils.py", "vllm-project/vllm#51401"),
    bad=(
        Bad(
            "model: Qwen/Qwen3-8B\nmax-model-len: 8192\nenable-prefix-caching: false\n",
            name="serve.yaml",
            mark="enable-prefix-caching",
            fixed="model: Qwen/Qwen3-8B\nmax-model-len: 8192\nno-enable-prefix-caching: true\n",
            facts={"vllm_version": "0.33.0"},
        ),
    ),
    good=(
        Good("model: Qwen/Qwen3-8B\nmax-model-len: 8192\nno-enable-prefix-caching: true\n", name="serve.yaml"),
        Good("model: Qwen/Qwen3-8B\nmax-model-len: 8192\nenforce-eager: false\n", name="serve.yaml"),
        Good("model: Qwen/Qwen3-8B\nmax-model-len: 8192\nenable-prefix-caching: {{ caching }}\n", name="serve.yaml"),
    ),
)
def config_false_dropped(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for problem in args.problems:
        setting = problem.setting
        if problem.kind != "ignored" or setting is None or setting.value is None or setting.literal is not False:
            continue
        if not args.default_is_on(setting.flag.replace("-", "_")):
            continue
        negative = negative_of(f"--{setting.flag}", facts.release.table)
        key, value = setting.name.editable, setting.value.editable
        edits: tuple[Edit, ...] = ()
        if negative is not None and key is not None and value is not None:
            spelled = negative.lstrip("-").replace("-", "_") if "_" in key.text else negative.lstrip("-")
            edits = (Edit(key, spelled), Edit(value, "true"))
        yield Finding(
            setting.name.value_span,
            f"vllm serve --config drops {setting.flag}: false, and vLLM {facts.release.version} keeps its default: on",
            fixes=(
                Fix(
                    f"write {(negative or '--no-' + setting.flag).lstrip('-')}: true",
                    edits=edits,
                    applicability=Applicability.SAFE if edits else Applicability.DISPLAY,
                ),
            ),
        )
