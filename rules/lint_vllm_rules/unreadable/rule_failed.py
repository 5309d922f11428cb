"""A rule failed on a launch.

Why: the rule has a fault; what it would have found is missing, the other rules are not concerned.
Instead: report it to the rule's author with the launch; `--ignore` the rule until then.
Wrong when: never: the message names the fault.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Facts, Finding, Good, Options, Severity, rule


@rule(
    code="SRC900",
    name="rule-failed",
    severity=Severity.WARNING,
    since="0.1",
    bad=(),
    good=(Good("vllm serve Qwen/Qwen3-8B\n"), Good('vllm serve "$MODEL"\n')),
)
def rule_failed(args: ArgumentSet, facts: Facts, options: Options) -> Iterator[Finding]:
    """The engine reports these."""
    yield from ()
