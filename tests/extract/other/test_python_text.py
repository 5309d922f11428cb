"""String literals decode to Python's own value, and every character points at what it was written as."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.extract.python_text import Code, Hole, Unparsable, formatted_pieces, python_text
from lint_vllm.source import SourceFile, Text


def decoded(source: str) -> Text:
    code = Code.parse(Text.of(SourceFile.of(source)))
    expression = code.tree.body[-1]
    assert isinstance(expression, ast.Expr)
    assert isinstance(expression.value, ast.Constant)
    return python_text(code, expression.value)


@pytest.mark.parametrize(
    ("source", "part", "written"),
    [
        ('"--model"', "--model", "--model"),
        (r'"a\tb"', "\t", r"\t"),
        (r'"caf\u00e9 x"', "é", r"\u00e9"),
        (r'"\N{BULLET} x"', "•", r"\N{BULLET}"),
        (r'r"a\tb"', r"\t", r"\t"),
        ('"é" "two"', "two", "two"),
        ('("one"  # first\n  "two")', "two", "two"),
        ('"""\r\nvllm serve m\r\n"""', "serve", "serve"),
        ('"vllm \\\n serve"', "serve", "serve"),
        ("'it''s'", "its"[2:], "s"),
        (r'"\101\x42"', "AB", r"\101\x42"),
        (r'"\q"', r"\q", r"\q"),
    ],
)
def test_literal(source: str, part: str, written: str) -> None:
    text = decoded(source)
    at = text.value.index(part)
    assert text[at : at + len(part)].span.text == written


PIECES = st.sampled_from(
    ["a", "é", "漢", "😀", " ", "'", '"', "\\n", "\\\\", "\\'", '\\"', "\\x41", "\\u00e9", "\\N{DASH}", "\\101", "\\q", "\\\n", "#", "{", "}", "\n", "\r\n"]
)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "r", "u", "R"]), st.sampled_from(["'", '"', '"""', "'''"]), st.lists(PIECES, max_size=8)),
        min_size=1,
        max_size=3,
    )
)
def test_every_literal_agrees_with_python(tokens: list[tuple[str, str, list[str]]]) -> None:
    source = "é = 1\n(" + " ".join(p + q + "".join(b) + q for p, q, b in tokens) + ")"
    try:
        code = Code.parse(Text.of(SourceFile.of(source)))
    except Unparsable:
        return
    last = code.tree.body[-1]
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Constant):
        return
    text = python_text(code, last.value)
    assert text.value == last.value.value
    origins = list(zip(text.starts, text.stops, strict=True))
    if not all(stop - start == len(text.span.text) for start, stop in origins):
        for char, (start, stop) in zip(text.value, origins, strict=True):
            written = text.source.text[start:stop]
            assert written == char or written[0] == "\\" or (char == "\n" and written in {"\r\n", "\r"})


def pieces(source: str) -> list[str]:
    code = Code.parse(Text.of(SourceFile.of(source)))
    expression = code.tree.body[-1]
    assert isinstance(expression, ast.Expr)
    assert isinstance(expression.value, ast.JoinedStr)
    found = formatted_pieces(code, expression.value)
    assert found is not None
    return [f"<{p.expression.text.value if p.expression else None}>" if isinstance(p, Hole) else p.value for p in found]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('f"H100:{N}"', ["H100:", "<N>"]),
        ('f"{a}{{b}}{c!r:>10}"', ["<a>", "{", "b}", "<c>"]),
        ("f\"--m {d['k']} x\"", ["--m ", "<d['k']>", " x"]),
        ('"plain " f"{x}" " tail"', ["plain ", "<x>", " tail"]),
        ('f"""vllm serve {\n model} \\\n --x"""', ["vllm serve ", "<model>", "  --x"]),
        ('f"{a != b}"', ["<a != b>"]),
        ('f"{x=}"', ["<None>"]),
        (r'f"{a}\n\N{BULLET}"', ["<a>", "\n•"]),
    ],
)
def test_formatted(source: str, expected: list[str]) -> None:
    assert pieces(source) == expected


def test_syntax_error_has_a_place() -> None:
    with pytest.raises(Unparsable) as raised:
        Code.parse(Text.of(SourceFile.of("x = 1\nprint 'old'\n")))
    assert raised.value.offset >= 6


def test_byte_columns() -> None:
    code = Code.parse(Text.of(SourceFile.of("é = 'ü'; x = '😀', 'm'\n")))
    values = [code.place(n).value for n in ast.walk(code.tree) if isinstance(n, ast.Constant)]
    assert values == ["'ü'", "'😀'", "'m'"]
