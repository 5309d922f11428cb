"""Edits keep the shape of what surrounds them: one table for taking out, one for adding."""

from __future__ import annotations

import pytest

from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.diagnostic import Edit
from lint_vllm.edits import add_flag, remove_elements, remove_env
from lint_vllm.known import Known
from lint_vllm.launch import EnvVar, Launch, Setting, Word
from lint_vllm.source import SourceFile, Span, Text


def apply(text: str, edits: tuple[Edit, ...]) -> str:
    for edit in sorted(edits, key=lambda e: e.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    return text


def place(source: SourceFile, piece: str) -> Span:
    start = source.text.index(piece)
    return Span(source, start, start + len(piece))


@pytest.mark.parametrize(
    ("text", "pieces", "expected"),
    [
        ("vllm serve m --a 1 --b 2\n", ["--a 1"], "vllm serve m --b 2\n"),
        ("vllm serve m --a 1\n", ["--a 1"], "vllm serve m\n"),
        ("vllm serve m \\\n  --a 1 \\\n  --b 2\n", ["--a 1"], "vllm serve m \\\n  --b 2\n"),
        ("vllm serve m \\\n  --a 1 \\\n  --b 2\n", ["--b 2"], "vllm serve m \\\n  --a 1\n"),
        ("vllm serve m \\\r\n  --a 1 \\\r\n  --b 2\r\n", ["--a 1"], "vllm serve m \\\r\n  --b 2\r\n"),
        ("args:\n  - m\n  - --a\n  - '1'\n  - --b\n", ["--a", "'1'"], "args:\n  - m\n  - --b\n"),
        ("args:\n  - m\n  - --a=1  # why\n", ["--a=1"], "args:\n  - m\n"),
        ('args: ["m", "--a", "1", "--b"]\n', ['"--a", "1"'], 'args: ["m", "--b"]\n'),
        ('args: ["m", "--a", "1"]\n', ['"--a"', '"1"'], 'args: ["m"]\n'),
        ("LLM(\n    model='m',\n    a=1,\n    b=2,\n)\n", ["a=1"], "LLM(\n    model='m',\n    b=2,\n)\n"),
        ("LLM(model='m', a=1)\n", ["a=1"], "LLM(model='m')\n"),
        ('[\n  "m",\n  "--a"\n]\n', ['"--a"'], '[\n  "m"\n]\n'),
        ("a: 1\nb: 2\n", ["a: 1"], "b: 2\n"),
    ],
)
def test_taking_out(text: str, pieces: list[str], expected: str) -> None:
    source = SourceFile.of(text)
    assert apply(text, remove_elements([place(source, piece) for piece in pieces])) == expected


@pytest.mark.parametrize(
    ("text", "piece", "expected"),
    [
        ("FROM x\nENV A=1 \\\n    B=2\n", "B=2", "FROM x\nENV A=1\n"),
        ("FROM x\nENV B=2\nRUN y\n", "B=2", "FROM x\nRUN y\n"),
        ("FROM x\nENV B=2 \\\n    A=1\n", "B=2", "FROM x\nENV A=1\n"),
        ("export B=2\nvllm serve m\n", "B=2", "vllm serve m\n"),
        ("B=2 vllm serve m\n", "B=2", "vllm serve m\n"),
        ("    environment:\n      - A=1\n      - B=2\n", "B=2", "    environment:\n      - A=1\n"),
        ("env:\n  - name: B\n    value: '2'\n  - name: A\n", "name: B\n    value: '2'", "env:\n  - name: A\n"),
    ],
)
def test_taking_out_a_variable(text: str, piece: str, expected: str) -> None:
    source = SourceFile.of(text)
    span = place(source, piece)
    word = Word(Text.of(source, span.start, span.start + 1), span)
    assert apply(text, remove_env(EnvVar(word, None, span))) == expected


def words_of(source: SourceFile, pieces: list[str]) -> tuple[Word, ...]:
    words = []
    for piece in pieces:
        span = place(source, piece)
        quote = piece[0] if piece[0] in "'\"" else ""
        inner = Text.of(source, span.start + len(quote), span.end - len(quote))
        words.append(Word(inner, span, quote))
    return tuple(words)


@pytest.mark.parametrize(
    ("text", "pieces", "flag", "value", "expected"),
    [
        ("vllm serve m --a 1\n", ["m", "--a", "1"], "--x", "2", "vllm serve m --a 1 --x 2\n"),
        ("vllm serve m --a=1\n", ["m", "--a=1"], "--x", "2", "vllm serve m --a=1 --x=2\n"),
        ("vllm serve m \\\n  --a 1\n", ["m", "--a", "1"], "--x", None, "vllm serve m \\\n  --a 1 \\\n  --x\n"),
        ("vllm serve m \\\n  --a\n", ["m", "--a"], "--x", None, "vllm serve m \\\n  --a \\\n  --x\n"),
        (
            "args:\n  - m\n  - --a\n  - '1'\n",
            ["m", "--a", "'1'"],
            "--x",
            "2",
            "args:\n  - m\n  - --a\n  - '1'\n  - '--x'\n  - '2'\n",
        ),
        ("args:\n  - m\n  - --a=1\n", ["m", "--a=1"], "--x", "2", "args:\n  - m\n  - --a=1\n  - --x=2\n"),
        ('args: ["m", "--a", "1"]\n', ['"m"', '"--a"', '"1"'], "--x", "2", 'args: ["m", "--a", "1", "--x", "2"]\n'),
    ],
)
def test_adding_beside_words(text: str, pieces: list[str], flag: str, value: str | None, expected: str) -> None:
    source = SourceFile.of(text)
    words = words_of(source, pieces)
    launch = Launch(source, "vllm serve", "", words[0].span, words[0].span, words=words)
    args = ArgumentSet(launch, Known("0.33.0", "test"), (), (), None)
    assert apply(text, add_flag(args, flag, value)) == expected


@pytest.mark.parametrize(
    ("text", "name", "value", "form", "expected"),
    [
        ("LLM(model='m', max_model_len=1)\n", "max_model_len", "1", "python", "LLM(model='m', max_model_len=1, max_num_seqs=2)\n"),
        ("LLM(\n    max_model_len=1,\n)\n", "max_model_len", "1", "python", "LLM(\n    max_model_len=1,\n    max_num_seqs=2,\n)\n"),
        ("model: m\nmax-model-len: 1\n", "max-model-len", "1", "config", "model: m\nmax-model-len: 1\nmax-num-seqs: 2\n"),
        ("vllmConfig:\n  maxModelLen: 1\n", "maxModelLen", "1", "chart", "vllmConfig:\n  maxModelLen: 1\n  maxNumSeqs: 2\n"),
    ],
)
def test_adding_a_named_value(text: str, name: str, value: str, form: str, expected: str) -> None:
    source = SourceFile.of(text)
    key = place(source, name)
    at = source.text.index(value, key.end)
    key_word = Word(Text.of(source, key.start, key.end), key)
    value_word = Word(Text.of(source, at, at + len(value)), Span(source, at, at + len(value)))
    launch = Launch(source, form, "", key, key, settings=(Setting(key_word, "max-model-len", value_word),))  # type: ignore[arg-type]
    args = ArgumentSet(launch, Known("0.33.0", "test"), (), (), None)
    assert apply(text, add_flag(args, "--max-num-seqs", "2")) == expected
