"""An API key is written in the file.

Why: everyone who can read the file or its history has the key, and process lists show it.
Instead: give the key through `VLLM_API_KEY` from a secret store, a Kubernetes Secret or an untracked `.env` file.
Wrong when: the key is a placeholder for tests that guards nothing; words such as `EMPTY` are known.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.launch import Word
from lint_vllm.rule import (
    Applicability,
    ArgumentSet,
    Bad,
    Facts,
    Finding,
    Fix,
    Good,
    Options,
    Severity,
    Span,
    rule,
)


class Placeholders(Options):
    placeholders: tuple[str, ...] = (
        "empty",
        "none",
        "null",
        "dummy",
        "changeme",
        "change-me",
        "your-api-key",
        "not-needed",
        "test",
    )


@rule(
    code="SEC003",
    name="api-key-plaintext",
    severity=Severity.WARNING,
    since="0.1",
    options=Placeholders,
    sources=("vllm==0.33.0 entrypoints/openai/server_utils.py AuthenticationMiddleware",),
    bad=(
        Bad("vllm serve Qwen/Qwen3-8B --api-key sk-live-0123456789abcdef\n", mark="sk-live-0123456789abcdef"),
        Bad(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n    environment:\n"
            "      VLLM_API_KEY: sk-live-0123456789abcdef\n    command: --model Qwen/Qwen3-8B\n",
            name="compose.yaml",
            mark="sk-live-0123456789abcdef",
        ),
    ),
    good=(
        Good('vllm serve Qwen/Qwen3-8B --api-key "$VLLM_API_KEY"\n'),
        Good("vllm serve Qwen/Qwen3-8B --api-key EMPTY\n"),
        Good(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n"
            "    command: --model Qwen/Qwen3-8B --api-key ${VLLM_API_KEY}\n",
            name="compose.yaml",
            files={".env": "VLLM_API_KEY=sk-3fTq8LmW\n"},
        ),
        Good(
            "services:\n  llm:\n    image: vllm/vllm-openai:v0.33.0\n    ipc: host\n    gpus: all\n    environment:\n"
            "      VLLM_API_KEY: ${VLLM_API_KEY:?}\n    command: --model Qwen/Qwen3-8B\n",
            name="compose.yaml",
        ),
    ),
)
def api_key_plaintext(args: ArgumentSet, facts: Facts, options: Placeholders) -> Iterator[Finding]:
    for name, span in _keys(args, facts, options):
        way_out = Fix("set VLLM_API_KEY from a secret store instead", applicability=Applicability.DISPLAY)
        yield Finding(span, f"an API key stands in the file as the value of {name}", fixes=(way_out,))


def _keys(args: ArgumentSet, facts: Facts, options: Placeholders) -> Iterator[tuple[str, Span]]:
    for argument in args.arguments:
        if argument.dest != "api_key" or argument.raw is None:
            continue
        for word in argument.words:
            if _is_written(word) and _is_key(word.value, options):
                yield "--api-key", word.defined or word.value_span
        if not argument.words and argument.known and argument.value_span is not None and _is_key(argument.raw, options):
            yield "--api-key", argument.value_span
    variable = facts.launch.env.get("VLLM_API_KEY")
    if variable is not None and variable.source in ("file", "shell", "configmap") and variable.value is not None:
        word = variable.value
        if _is_written(word) and _is_key(word.value, options):
            yield "VLLM_API_KEY", word.defined or word.value_span


def _is_written(word: Word) -> bool:
    """Whether the value is known and stands in this file; one from ``.env`` is where it should be."""
    return word.unknown is None and (word.defined is not None or word.value in word.span.text)


def _is_key(value: str, options: Placeholders) -> bool:
    text = value.strip()
    return len(text) > 3 and not text.startswith(("$", "{{", "<")) and text.lower() not in options.placeholders
