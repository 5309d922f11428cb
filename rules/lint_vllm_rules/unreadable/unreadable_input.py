"""A file that mentions vLLM, or a part of it, could not be read.

Why: launches in that part are not judged; a tool that stays silent looks as if all were well.
Instead: mend the syntax, or exclude the file.
Wrong when: the file is a template in a language that is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Options, Severity, rule


@rule(
    code="SRC001",
    name="unreadable-input",
    severity=Severity.INFO,
    since="0.1",
    bad=(
        Bad(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n"
            "    command:\n      - Qwen/Qwen3-8B\n     - --max-model-len=8192\n",
            name="compose.yaml",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --max-model-len 8192\n"),
        Good("vllm serve {{ .Values.model }}\n"),
    ),
)
def unreadable_input(args: ArgumentSet, facts: Facts, options: Options) -> Iterator[Finding]:
    """The engine reports these: they belong to a file, not to a launch."""
    yield from ()
