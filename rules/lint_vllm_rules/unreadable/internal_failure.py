"""lint-vllm itself, or one of its rules, failed on a launch or a file.

Why: a fault of the program; what it would have found there is missing, and a silent run would look clean. The rest is judged.
Instead: report it with the launch (LINT_VLLM_TRACEBACK=1 shows the place); `--ignore SRC900`, or the rule it names, until then.
Wrong when: never: the message names the fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Facts, Finding, Good, Options, Severity, rule


@rule(
    code="SRC900",
    name="internal-failure",
    severity=Severity.WARNING,
    since="0.1",
    bad=(),
    good=(Good("vllm serve Qwen/Qwen3-8B\n"), Good('vllm serve "$MODEL"\n')),
)
def internal_failure(args: ArgumentSet, facts: Facts, options: Options) -> Iterator[Finding]:
    """The engine reports these."""
    yield from ()
