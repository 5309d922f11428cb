"""A wrapper drops an explicit false.

Why: programs that turn keys into options write a switch only when it is true. A false then vanishes, and vLLM's default, which
may be true, holds.
Instead: the option's `no-` form as a true value, or extra arguments: `--no-enable-prefix-caching`.
Wrong when: the wrapper knows the `--no-` forms.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_DEFAULT_ON = ("enable-prefix-caching", "enable-chunked-prefill", "async-scheduling")
_KNOWN_TO_DROP = ("production-stack",)


@rule(
    code="ARG011",
    name="bool-false-dropped",
    severity=Severity.INFO,
    since="0.1",
    sources=("areal-project/AReaL#1688",),
    bad=(
        Bad(
            "servingEngineSpec:\n  modelSpec:\n    - name: q\n      repository: vllm/vllm-openai\n      tag: v0.33.0\n      modelURL: Qwen/Qwen3-8B\n"
            "      requestGPU: 1\n      vllmConfig:\n        enablePrefixCaching: false\n",
            name="values.yaml",
            mark="enablePrefixCaching",
        ),
    ),
    good=(
        Good(
            "servingEngineSpec:\n  modelSpec:\n    - name: q\n      repository: vllm/vllm-openai\n      tag: v0.33.0\n      modelURL: Qwen/Qwen3-8B\n"
            '      requestGPU: 1\n      vllmConfig:\n        extraArgs: ["--no-enable-prefix-caching"]\n',
            name="values.yaml",
        ),
        Good('vllm serve Qwen/Qwen3-8B "$OPTIONS"\n'),
    ),
)
def bool_false_dropped(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    if args.launch.wrapper not in _KNOWN_TO_DROP:
        return
    words = {w.value.split("=")[0] for w in args.launch.words}
    for setting in args.launch.settings:
        if setting.flag in _DEFAULT_ON and setting.literal is False and f"--no-{setting.flag}" not in words:
            yield Finding(
                setting.name.value_span,
                f"{args.launch.wrapper} writes a switch only for true: false is dropped, and vLLM's default decides",
                fixes=(Fix(f"pass --no-{setting.flag} among the extra arguments"),),
            )
