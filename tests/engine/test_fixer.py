"""Edits: which go together, and that nothing but their characters changes."""

from __future__ import annotations

import os
import stat
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.diagnostic import Applicability, Edit, Fix
from lint_vllm.fixer import apply, choose, compatible, write_atomically
from lint_vllm.source import SourceFile

SAFE, UNSAFE, DISPLAY = Applicability.SAFE, Applicability.UNSAFE, Applicability.DISPLAY


def fix(source: SourceFile, *edits: tuple[int, int, str], applicability: Applicability = SAFE) -> Fix:
    return Fix("x", tuple(Edit(source.span(a, b), text) for a, b, text in edits), applicability)


def test_first_fix_with_edits_is_taken() -> None:
    source = SourceFile.of("abc")
    advice = Fix("think", applicability=SAFE)
    risky = fix(source, (0, 1, "x"), applicability=UNSAFE)
    safe = fix(source, (1, 2, "y"))
    shown = fix(source, (1, 2, "z"), applicability=DISPLAY)
    assert choose((advice, shown, risky, safe), unsafe=False) is safe
    assert choose((advice, shown, risky, safe), unsafe=True) is risky
    assert choose((advice, shown), unsafe=True) is None


def test_overlapping_fixes_are_left_for_the_next_round() -> None:
    source = SourceFile.of("0123456789")
    first, clash, apart = fix(source, (0, 4, "a")), fix(source, (3, 5, "b"), (8, 9, "c")), fix(source, (4, 6, "d"))
    assert compatible([first, clash, apart]) == [*first.edits, *apart.edits]


def test_shared_edits_are_taken_once_and_insertions_at_one_place_do_not_meet() -> None:
    source = SourceFile.of("0123")
    edit = fix(source, (1, 1, "x"))
    assert compatible([edit, edit]) == list(edit.edits)
    assert compatible([edit, fix(source, (1, 1, "y"))]) == list(edit.edits)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"a=1\r\nb=2\r\n", b"a=ONE\r\nTWO\r\nb=2\r\n"),
        (b"\xef\xbb\xbfa=1\n", b"\xef\xbb\xbfa=ONE\nTWO\n"),
        (b"a=1\n\xe9\x80\n", b"a=ONE\nTWO\n\xe9\x80\n"),
        ("\ufeffa=1\n".encode("utf-16-le"), "\ufeffa=ONE\nTWO\n".encode("utf-16-le")),
    ],
)
def test_line_ends_marks_and_encodings_stay(data: bytes, expected: bytes) -> None:
    source = SourceFile("x", data)
    at = source.text.index("1")
    assert apply(source, [Edit(source.span(at, at + 1), "ONE\nTWO")]) == expected


@given(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=60),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 10), st.text(max_size=5)), max_size=5),
)
def test_untouched_text_stays(text: str, wanted: list[tuple[int, int, str]]) -> None:
    source = SourceFile.of(text)
    size = len(source.text)
    fixes = [fix(source, (min(a, size), min(a + n, size), new)) for a, n, new in wanted]
    edits = compatible(fixes)
    spans = sorted((e.span.start, e.span.end) for e in edits)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    if any("\n" in e.text for e in edits):
        return
    try:
        result = SourceFile("x", apply(source, edits)).text
    except UnicodeEncodeError:
        return
    rest, at = [], 0
    for start, end in spans:
        rest.append(source.text[at:start])
        at = end
    rest.append(source.text[at:])
    position = 0
    for piece in rest:
        position = result.index(piece, position) + len(piece)


def test_files_are_replaced_whole_and_keep_their_mode(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o750)
    write_atomically(str(path), b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert os.listdir(tmp_path) == ["run.sh"]
