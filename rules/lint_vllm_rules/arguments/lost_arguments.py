"""Arguments are cut off from the command.

Why: in the shell a comment line, or a blank behind the backslash, ends the command. The flags below become a command of their
own ("--port: command not found"), and the server runs without them.
Instead: move the comment above the command; nothing after the backslash.
Wrong when: never; the shell reads it so.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Label, Severity, rule


@rule(
    code="ARG041",
    name="lost-arguments",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("POSIX shell command language, token recognition",),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B \\\n  --max-model-len 8192 \\\n  # longer later\n  --port 8001\n", mark="--port"),
        Bad("vllm serve Qwen/Qwen3-8B \\ \n  --max-model-len 8192\n", mark="--max-model-len"),
    ),
    good=(
        Good("# longer later\nvllm serve Qwen/Qwen3-8B \\\n  --max-model-len 8192 \\\n  --port 8001\n"),
        Good('vllm serve "$MODEL" \\\n  --max-model-len 8192\n# done\n'),
    ),
)
def lost_arguments(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    lost = args.launch.lost
    if not lost:
        return
    first = next((w for w in lost if w.value.startswith("-")), lost[0])
    flags = [w.value.split("=")[0] for w in lost if w.value.startswith("-")]
    yield Finding(
        first.value_span if "=" not in first.value else first.content[: len(first.value.split("=")[0])].span,
        f"{args.launch.lost_reason or 'the command ends before this line'}: {', '.join(flags[:4])}"
        f"{' ...' if len(flags) > 4 else ''} never reach vLLM, which runs without them",
        fixes=(Fix("move the comment above the command, and leave nothing after the backslashes"),),
        related=(Label(args.launch.command, "the command that ends too early"),),
    )
