"""A false in a --config file has no effect.

Why: `vllm serve --config` passes a switch only when it is true. `enable-prefix-caching: false` is dropped without a word, and
prefix caching stays on. The api_server module honours it from 0.28 on.
Instead: the negative key as true: `no-enable-prefix-caching: true`.
Wrong when: the option is off by default anyway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lint_vllm.arguments.history import negative_of
from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule

_DECIDED_ON = ("enable_prefix_caching", "enable_chunked_prefill", "async_scheduling")
"""Unset means that vLLM decides: on wherever the model supports it."""


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
        written = re.match(r"(?P<key>[\w-]+)(?P<gap>\s*:\s*)(?P<value>\S+)\Z", problem.span.text)
        if problem.kind != "ignored" or problem.value != "false" or written is None or problem.flag is None:
            continue
        dest = problem.flag.lstrip("-").replace("-", "_")
        if args.defaults.get(dest) is not True and dest not in _DECIDED_ON:
            continue
        source, start = problem.span.source, problem.span.start
        key = Span(source, start, start + len(written["key"]))
        value = Span(source, start + written.start("value"), problem.span.end)
        negative = negative_of(problem.flag, facts.release.table)
        spelled = (negative or f"--no-{problem.flag.lstrip('-')}").lstrip("-")
        if "_" in written["key"]:
            spelled = spelled.replace("-", "_")
        yield Finding(
            key,
            f"vllm serve --config drops {problem.flag.lstrip('-')}: false, and vLLM {facts.release.version} keeps it on",
            fixes=(
                Fix(
                    f"write {spelled}: true",
                    edits=(Edit(key, spelled), Edit(value, "true")) if negative is not None else (),
                    applicability=Applicability.SAFE if negative is not None else Applicability.DISPLAY,
                ),
            ),
        )
