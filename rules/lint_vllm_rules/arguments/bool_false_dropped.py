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
        Bad(
            "vllm:\n  model: Qwen/Qwen3-8B\n  max_model_len: 8192\n  gpu_memory_utilization: 0.9\n  no_enable_prefix_caching: false\n",
            name="run.yaml",
            mark="no_enable_prefix_caching",
        ),
    ),
    good=(
        Good(
            "vllm:\n  model: Qwen/Qwen3-8B\n  max_model_len: 8192\n  gpu_memory_utilization: 0.9\n  no_enable_prefix_caching: true\n",
            name="run.yaml",
        ),
        Good(
            "servingEngineSpec:\n  modelSpec:\n    - name: q\n      repository: vllm/vllm-openai\n      tag: v0.33.0\n      modelURL: Qwen/Qwen3-8B\n"
            '      requestGPU: 1\n      vllmConfig:\n        extraArgs: ["--no-enable-prefix-caching"]\n',
            name="values.yaml",
        ),
        Good('vllm serve Qwen/Qwen3-8B "$OPTIONS"\n'),
    ),
)
def bool_false_dropped(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for setting in args.launch.settings if args.launch.form == "chart" else ():
        positive = setting.flag.removeprefix("no-")
        if setting.literal is False and positive != setting.flag and positive in _DEFAULT_ON:
            yield Finding(
                setting.name.value_span,
                f"{setting.name.value}: false writes no option at all: vLLM decides, and not for every model the same",
                fixes=(Fix(f"say what is wanted: {setting.name.value.replace('no-', '', 1).replace('no_', '', 1)}: true"),),
            )
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
