from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.extract.masking import mask


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("a: {{ .x }}\n", "a: XXXXXXXX\n"),
        ("a: ${{ inputs.m }}\n", "a: XXXXXXXXXXXXXXX\n"),
        ("a: '{{ `}}` }}'\n", "a: 'XXXXXXXXXX'\n"),
        ("{{- if .x }}\na: 1\n{{- end }}\n", "#XXXXXXXXXXX\na: 1\n#XXXXXXXXX\n"),
        ("{% for m in models %}\n- {{ m }}\n{% endfor %}\n", "#XXXXXXXXXXXXXXXXXXXX\n- XXXXXXX\n#XXXXXXXXXXX\n"),
        ("a: ${#array[@]} {{ open\n", "a: ${#array[@]} {{ open\n"),
        ("%{ if x ~}\na: 1\n%{ endif ~}\n", "#XXXXXXXXX\na: 1\n#XXXXXXXXXX\n"),
        ("a: b\x00c\n", "a: bXc\n"),
        ('a: {"x": {"y": 1}}\n', 'a: {"x": {"y": 1}}\n'),
    ],
)
def test_covers_by_equal_length(text: str, masked: str) -> None:
    assert mask(text).text == masked


def test_lone_tags_do_not_leave_a_block_scalar() -> None:
    text = "a:\n  - |\n    one\n{{- if x }}\n    two\n{{- end }}\n    three\n"
    assert mask(text).text == "a:\n  - |\n    one\n    #XXXXXX\n    two\n    #XXXXX\n    three\n"


def test_conditions_are_seen_from_outside_only() -> None:
    text = "{{ if a }}\nx:\n  y\n{{ if b }}\n  z\n{{ else }}\n  w\n{{ end }}\n{{ end }}\nq\n"
    masked = mask(text)
    x, z, w, q = (text.index(c + "\n") if c != "x" else text.index("x:") for c in "xzwq")
    assert masked.conditional(x, z)
    assert masked.conditional(z, w)
    assert not masked.conditional(x, text.index("y"))
    assert masked.conditional(q, x)
    assert not masked.conditional(x, q)


@given(st.text(alphabet="a{}%#`$\n -|~x\r\x00é", max_size=80))
def test_length_and_offsets_never_change(text: str) -> None:
    masked = mask(text)
    assert len(masked.text) == len(text)
    inside = {i for region in masked.regions for i in range(region.start, region.end)} | set(masked.oddities)
    alone = [text.rfind("\n", 0, r.start) + 1 for r in masked.regions if r.alone]
    indents = {i for start, r in zip(alone, [r for r in masked.regions if r.alone], strict=True) for i in range(start, r.end)}
    assert all(text[i] == masked.text[i] for i in range(len(text)) if i not in inside and i not in indents)
    starts = [region.start for region in masked.regions]
    assert starts == sorted(starts)
