"""--config=FILE is accepted and not read.

Why: only `--config FILE` (two words) is looked for; with the equals sign the parser takes the option and nothing reads the
file: every setting in it is silently missing.
Instead: `--config FILE`.
Wrong when: never; measured on 0.20.2, 0.27.1 and 0.33.0.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import Applicability, ArgumentSet, Bad, Edit, Facts, Finding, Fix, Good, Severity, Span, rule


@rule(
    code="ARG042",
    name="config-form-ignored",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm==0.33.0 utils/argparse_utils.py FlexibleArgumentParser",),
    bad=(
        Bad(
            "vllm serve Qwen/Qwen3-8B --config=serve.yaml\n",
            mark="--config=serve.yaml",
            fixed="vllm serve Qwen/Qwen3-8B --config serve.yaml\n",
        ),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-8B --config serve.yaml\n"),
        Good('vllm serve Qwen/Qwen3-8B --config "$FILE"\n'),
    ),
)
def config_form_ignored(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    for word in args.launch.words:
        if word.unknown is None and word.value.startswith("--config=") and len(word.value) > len("--config="):
            at = word.span.text.find("--config=")
            equals = word.span.start + at + len("--config")
            edits: tuple[Edit, ...] = ()
            if at == 0 and not word.quote:
                line = word.span.source.line_text(word.span.line)[: word.span.column - 1]
                edits = () if line.lstrip().startswith("- ") else (Edit(Span(word.span.source, equals, equals + 1), " "),)
            yield Finding(
                word.value_span,
                "--config=FILE is accepted, but the file is never read: all its settings are missing",
                fixes=(
                    Fix(
                        f"write --config {word.value.removeprefix('--config=')} (two words)",
                        edits=edits,
                        applicability=Applicability.SAFE if edits else Applicability.DISPLAY,
                    ),
                ),
            )
