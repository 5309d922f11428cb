"""Launches written down for tests, with words placed in one line of text."""

from __future__ import annotations

from dataclasses import replace

from lint_vllm.arguments import read_launch
from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.known import Known
from lint_vllm.launch import Form, Launch, Setting, Word
from lint_vllm.source import SourceFile, Span, Text


def word_at(source: SourceFile, start: int, end: int, **changes: object) -> Word:
    text = source.text[start:end]
    quoted = len(text) > 1 and text[0] in "'\"" and text[-1] == text[0]
    inner = (start + 1, end - 1) if quoted else (start, end)
    word = Word(Text.of(source, *inner), Span(source, start, end), text[0] if quoted else "")
    return replace(word, **changes)  # type: ignore[arg-type]


def launch(line: str, form: Form = "vllm serve", unknown: tuple[str, ...] = (), conditional: tuple[str, ...] = ()) -> Launch:
    """``vllm serve``'s words, separated by single blanks; the named ones are unknown or conditional."""
    source = SourceFile.of(line, "run.sh")
    words, at = [], 0
    for part in line.split(" ") if line else []:
        changes: dict[str, object] = {}
        if part in unknown:
            changes["unknown"] = "shell variable has no value in this file"
        if part in conditional:
            changes["conditional"] = True
        words.append(word_at(source, at, at + len(part), **changes))
        at += len(part) + 1
    whole = Span(source, 0, len(line))
    return Launch(source, form, "line 1", Span(source, 0, 0), whole, tuple(words))


def settings_launch(text: str, form: Form, literals: dict[str, object], callable_name: str | None = None) -> Launch:
    """``name=value`` lines as settings; ``literals`` gives the typed values that are not text."""
    source = SourceFile.of(text, "values.yaml")
    settings, at = [], 0
    for line in text.splitlines(keepends=True):
        name, _, value = line.rstrip("\n").partition("=")
        start = at + len(name) + 1
        settings.append(
            Setting(
                word_at(source, at, at + len(name)),
                name.replace("_", "-"),
                word_at(source, start, start + len(value)),
                literals.get(name, value),
            )
        )
        at += len(line)
    whole = Span(source, 0, len(text))
    return Launch(source, form, "values", Span(source, 0, 0), whole, settings=tuple(settings), python_callable=callable_name)


def read(found: Launch, release: str = "0.33.0") -> ArgumentSet:
    return read_launch(found, Known(release, "test"))
