from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lint_vllm.extract.yaml_nodes import Mapping, Scalar, Sequence, literal, parse
from lint_vllm.source import SourceFile, Text


def document(text: str, number: int = 0) -> Mapping:
    page = parse(Text.of(SourceFile.of(text)))
    node = page.documents[number]
    assert isinstance(node, Mapping)
    return node


def scalar(text: str) -> Scalar:
    found = document(text).scalar("k")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("k: plain value # comment\n", "plain value", "plain value"),
        ("k: one\n  two\n\n  three\n", "one two\nthree", "one\n  two\n\n  three"),
        ("k: 'it''s'\n", "it's", "it''s"),
        ('k: "a\\tb\\u00e9\\n"\n', "a\tbé\n", "a\\tb\\u00e9\\n"),
        ('k: "one\\\n  two \\\n   three"\n', "onetwo three", "one\\\n  two \\\n   three"),
        ("k: |\n  a\n   b\n", "a\n b\n", "a\n   b\n"),
        ("k: |-\n  a\n\n  b\n\n", "a\n\nb", "a\n\n  b"),
        ("k: |+\n  a\n\n", "a\n\n", "a\n\n"),
        ("k: >\n  a\n  b\n\n  c\n", "a b\nc\n", "a\n  b\n\n  c\n"),
        ("k: >-\n  a\n    indented\n  b\n", "a\n  indented\nb", "a\n    indented\n  b"),
        ("k: |2\n    a\n   b\n", "  a\n b\n", "  a\n   b\n"),
        ("k: &anchor !tag value\n", "value", "value"),
        ("k: |\r\n  a\r\n  b\r\n", "a\nb\n", "a\r\n  b\r\n"),
    ],
)
def test_every_style_keeps_its_place(text: str, value: str, written: str) -> None:
    found = scalar(text)
    assert found.value == value
    assert found.text.span.text == written


def test_byte_order_mark_and_tabs() -> None:
    source = SourceFile("x", b"\xef\xbb\xbfk:\tvalue\t# x\n")
    found = parse(Text.of(source)).documents[0]
    assert isinstance(found, Mapping)
    assert found.scalar("k").text.span.column == 4  # type: ignore[union-attr]


def test_templates_come_back_in_the_value() -> None:
    found = scalar('k: "--model={{ .Values.model | quote }}"\n')
    assert found.value == "--model={{ .Values.model | quote }}"
    assert found.word.unknown == "template expression"
    assert found.text.verbatim()


def test_lone_tags_in_a_block_scalar_come_back() -> None:
    found = scalar("k: |\n  a\n{{- if .x }}\n  b\n{{- end }}\n  c\n")
    assert found.value == "a\n{{- if .x }}\nb\n{{- end }}\nc\n"


def test_anchors_aliases_and_merge_keys() -> None:
    node = document("base: &b {x: 1, y: 2}\nother: &o {y: 3, z: 4}\nall:\n  <<: [*b, *o]\n  x: 9\nalias: *b\n")
    merged = node.map("all")
    assert merged is not None
    assert literal(merged) == {"x": 9, "y": 2, "z": 4}
    assert merged.entries["y"].merged
    alias = node.get("alias")
    assert alias is not None
    assert alias.place.text == "*b"


def test_aliased_scalar_says_where_it_is_used_and_defined() -> None:
    word = document("len: &len 4096\nargs: {max-model-len: *len}\n").scalar("args", "max-model-len").word  # type: ignore[union-attr]
    assert (word.value, word.span.text) == ("4096", "*len")
    assert word.defined is not None
    assert word.editable is not None
    assert word.editable.text == "4096"


def test_last_duplicate_key_wins() -> None:
    assert literal(document("a: 1\na: 2\n")) == {"a": 2}


def test_types_are_those_of_yaml_1_1() -> None:
    node = document("a: on\nb: 08\nc: 1e3\nd: 0x10\ne: 1_000\nf: .5\ng: '5'\nh: ~\ni: 010\nj: True\n")
    assert literal(node) == {
        "a": True, "b": "08", "c": "1e3", "d": 16, "e": 1000, "f": 0.5, "g": "5", "h": None, "i": 8, "j": True,
    }  # fmt: skip


def test_an_error_costs_its_own_line_only() -> None:
    text = "a: 1\n---\nb: 2\n\tc: [\nd: 3\n---\ne: 4\n"
    page = parse(Text.of(SourceFile.of(text)))
    assert [literal(d) for d in page.documents] == [{"a": 1}, {"b": 2, "d": 3}, {"e": 4}]
    assert len(page.problems) == 1
    assert page.problems[0].span.line == 4


def test_colons_in_flow_collections() -> None:
    page = parse(Text.of(SourceFile.of("a: [language:en, {url: http://x:80/y}]\n")))
    assert not page.problems
    assert literal(page.documents[0]) == {"a": ["language:en", {"url": "http://x:80/y"}]}


def test_alias_bomb_stays_small() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 30)]
    node = document("\n".join(lines) + "\n")
    assert isinstance(node.get("a29"), Sequence)
    literal(node)


def test_anchor_inside_itself() -> None:
    node = document("a: &a\n  b: *a\n")
    assert literal(node) == {"a": {"b": None}}


def test_deep_nesting_is_cut() -> None:
    page = parse(Text.of(SourceFile.of("a: " + "[" * 5000)))
    assert page.problems
    assert page.documents


def test_yaml_inside_a_scalar_keeps_the_places_of_the_file() -> None:
    outer = document("data: |\n  inner:\n    - value\n").scalar("data")
    assert outer is not None
    inner = parse(outer.text).documents[0]
    assert isinstance(inner, Mapping)
    item = inner.items("inner")[0]
    assert isinstance(item, Scalar)
    assert (item.span.text, item.span.line, item.span.column) == ("value", 3, 7)


CHARACTERS = st.text(
    alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Cc"), exclude_characters="\x85\u2028\u2029\ufeff"), max_size=30
)


def _styles(value: str) -> dict[str, str]:
    """The same one-line string in every style that can hold it."""
    double = value.replace("\\", "\\\\").replace('"', '\\"')
    styles = {"double": f'k: "{double}"\n', "single": "k: '" + value.replace("'", "''") + "'\n"}
    styles["escaped"] = 'k: "' + "".join(f"\\U{ord(c):08x}" for c in value) + '"\n'
    if value.strip() == value and value and not value.startswith("\t"):
        styles["literal"] = f"k: |-\n  {value}\n"
        styles["folded"] = f"k: >-\n  {value}\n"
    return styles


@settings(max_examples=150)
@given(CHARACTERS)
def test_origins_hold_for_any_string_in_any_style(value: str) -> None:
    assume("{{" not in value and "{%" not in value and "{#" not in value)
    for style, text in _styles(value).items():
        source = SourceFile.of(text)
        found = parse(Text.of(source)).documents[0]
        assert isinstance(found, Mapping)
        leaf = found.scalar("k")
        if leaf is None:
            continue
        assert leaf.value == value, style
        for character, start, stop in zip(leaf.text.value, leaf.text.starts, leaf.text.stops, strict=True):
            written = source.text[start:stop]
            assert written == character or written[:1] == "\\" or written == "''", style


LINES = st.lists(st.text(alphabet="ab \t'\"\\#:-", max_size=8), min_size=1, max_size=6)


@settings(max_examples=200)
@given(LINES, st.sampled_from(["|", "|-", "|+", ">", ">-", ">+", "|2", ">2-"]), st.sampled_from(["\n", "\r\n"]))
def test_block_scalars_of_any_shape(lines: list[str], header: str, newline: str) -> None:
    text = f"k: {header}{newline}" + "".join(f"  {line}{newline}" for line in lines) + f"z: 1{newline}"
    page = parse(Text.of(SourceFile.of(text)))
    assume(not page.problems and isinstance(page.documents[0], Mapping))
    node = page.documents[0]
    assert isinstance(node, Mapping)
    leaf = node.pair("k").value  # type: ignore[union-attr]
    assert isinstance(leaf, Scalar)
    assert leaf.value == leaf.raw
    assert len(leaf.value) < 2 or len(set(leaf.text.starts)) > 1


@settings(max_examples=200)
@given(st.text(alphabet="ab:-[]{}&*!|>'\"%@`#,? \n\t~=<.\\0", max_size=60))
def test_no_text_crashes_the_reader(text: str) -> None:
    page = parse(Text.of(SourceFile.of(text)))
    for node in page.documents:
        literal(node)
        assert 0 <= node.start <= node.end <= len(text)
