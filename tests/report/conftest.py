"""A run made by hand, with everything a report has to show."""

from __future__ import annotations

import pytest

from lint_vllm.command_line import launch_from_command
from lint_vllm.diagnostic import Applicability, Diagnostic, Edit, Finding, Fix, Label, Severity, Suppression
from lint_vllm.redaction import Redactor
from lint_vllm.result import JudgedLaunch, Run
from lint_vllm.source import SourceFile

SCRIPT = "\tvllm serve 模型 --gpu-memory-utilization 0.98 \\\n  --api-key sk-private-0123456789 \x1b[2J\n"


@pytest.fixture
def run() -> Run:
    source = SourceFile.of(SCRIPT, "dir/a b.sh")
    share = source.span(SCRIPT.index("0.98"), SCRIPT.index("0.98") + 4)
    key = source.span(SCRIPT.index("sk-"), SCRIPT.index(" \x1b"))
    url = "https://lint-vllm.readthedocs.io/rules/#mem022"
    lower = Fix("lower it to 0.95", (Edit(share, "0.95"),), Applicability.SAFE, "a smaller pool", True)
    remove = Fix("remove the key", (Edit(key, ""),), Applicability.UNSAFE)
    diagnostics = (
        Diagnostic(
            "MEM022",
            "utilization-too-high",
            Severity.WARNING,
            Finding(share, "0.98 leaves 0.47 GiB", (lower,), (Label(key, "key sk-private-0123456789"),), ("weights: 14.2 GiB",)),
            url,
        ),
        Diagnostic(
            "SEC003",
            "api-key-plaintext",
            Severity.ERROR,
            Finding(key, "the key sk-private-0123456789 is\nwritten: 100% <bad> & ]]>", (remove,)),
            url,
        ),
        Diagnostic("ARG001", "flag-typo", Severity.INFO, Finding(share, "x"), url, Suppression("comment", "known")),
        Diagnostic("DEP044", "floating-tag", Severity.INFO, Finding(source.span(0, len(SCRIPT)), "y", (Fix("pin it"),)), url),
    )
    launch = launch_from_command(["vllm", "serve", "m", "--api-key", "sk-private-0123456789"])
    redactor = Redactor()
    redactor.learn([launch])
    launches = (
        JudgedLaunch(launch, True, False, ("GPU unknown",)),
        JudgedLaunch(launch, True, True),
    )
    return Run(3, launches, diagnostics, redactor)
