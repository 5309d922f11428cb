from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.extract.references import expand_kubernetes, interpolate, split_line
from lint_vllm.launch import EnvVar, Word
from lint_vllm.source import SourceFile, Text


def word(value: str) -> Word:
    text = Text.literal(value)
    return Word(text, text.span)


def lookup(name: str) -> Word | str:
    return {"LEN": word("4096"), "EMPTY": word("")}.get(name) or f"{name} is not set"


@pytest.mark.parametrize(
    ("text", "value", "unknown"),
    [
        ("plain", "plain", 0),
        ("${LEN}", "4096", 0),
        ("a-$LEN-b", "a-4096-b", 0),
        ("$$LEN", "$LEN", 0),
        ("${NO:-8192}", "8192", 0),
        ("${NO-x}${NO:-}", "x", 0),
        ("${A:-${B:-c}}", "c", 0),
        ("${A:-${LEN}}", "4096", 0),
        ("${LEN:+--flag}", "--flag", 0),
        ("${NO:+--flag}", "", 0),
        ("${EMPTY:-d}", "d", 0),
        ("${EMPTY-d}", "", 0),
        ("${NO:?say it}", "${NO:?say it}", 1),
        ("${NO}", "${NO}", 1),
        ('{"a": ${T:-{"b": 1}}}', '{"a": {"b": 1}}', 0),
        ("${", "${", 0),
        ("cost $5", "cost $5", 0),
    ],
)
def test_compose_interpolation(text: str, value: str, unknown: int) -> None:
    expanded = interpolate(Text.literal(text), lookup)
    assert expanded.text.value == value
    assert len(expanded.unknown) == unknown


def test_a_default_keeps_its_own_place() -> None:
    source = SourceFile.of("x: ${LEN_:-4096}")
    expanded = interpolate(Text.of(source, 3), lookup)
    assert expanded.text.span.text == "4096"


def test_kubernetes_expansion() -> None:
    env = {"M": EnvVar(word("M"), word("org/m"), word("M").span), "S": EnvVar(word("S"), None, word("S").span, "secret")}
    known = expand_kubernetes(Text.literal("--model=$(M)"), env)
    assert (known.text.value, known.unknown) == ("--model=org/m", ())
    secret = expand_kubernetes(Text.literal("$(S)"), env)
    assert (secret.text.value, secret.reason) == ("$(S)", "S comes from a secret")
    assert expand_kubernetes(Text.literal("$$(M)"), env).text.value == "$(M)"
    whole = expand_kubernetes(Text.literal("$(M)"), env)
    assert whole.defined is not None


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--a b  --c", ["--a", "b", "--c"]),
        ("""--json '{"a": 1}' "x y" z""", ["--json", '{"a": 1}', "x y", "z"]),
        ('"a\\"b" c\\ d', ['a"b', "c d"]),
        ("--x='y z'", ["--x=y z"]),
        ("--m {{ .Values.a | quote }} ${B}", ["--m", "{{ .Values.a | quote }}", "${B}"]),
        ("--e ''", ["--e", ""]),
        ("unterminated 'quote here", ["unterminated", "quote here"]),
        ("a \\\n b", ["a", "b"]),
    ],
)
def test_split_line(line: str, words: list[str]) -> None:
    assert [w.value for w in split_line(Text.literal(line))] == words


@given(st.text(alphabet="ab '\"\\${}\n-=", max_size=40))
def test_split_words_stand_in_order_and_nothing_is_invented(line: str) -> None:
    text = Text.literal(line)
    at = 0
    for found in split_line(text):
        assert found.span.start >= at
        at = found.span.end
        assert set(found.value) <= set(line)
