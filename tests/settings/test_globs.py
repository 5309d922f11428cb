"""Globs read as ``.gitignore`` reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.globs import compiled


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("*.yaml", "a/b/c.yaml", True),
        ("*.yaml", "a/b/c.yml", False),
        ("build", "build/x/y.sh", True),
        ("build/", "a/build/y.sh", True),
        ("/build", "a/build/y.sh", False),
        ("/build", "build/y.sh", True),
        ("k8s/*.yaml", "k8s/a.yaml", True),
        ("k8s/*.yaml", "k8s/deep/a.yaml", False),
        ("k8s/**", "k8s/deep/a.yaml", True),
        ("k8s/**/a.yaml", "k8s/a.yaml", True),
        ("**/charts/*", "x/charts/y", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].sh", "b.sh", True),
        ("[!ab].sh", "b.sh", False),
        ("a+b(c).sh", "a+b(c).sh", True),
        ("[", "[", True),
        (r"\*.sh", "*.sh", True),
        (r"\*.sh", "x.sh", False),
    ],
)
def test_table(pattern: str, path: str, expected: bool) -> None:
    assert (compiled(pattern).match(path) is not None) is expected


@given(st.text(alphabet="ab/*?[]!\\.-", max_size=12), st.text(alphabet="ab/.", max_size=12))
def test_any_pattern_compiles(pattern: str, path: str) -> None:
    compiled(pattern).match(path)
