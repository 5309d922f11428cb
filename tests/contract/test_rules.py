"""What holds for every rule: form, documentation, imports, and that its examples do what they say."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from lint_vllm.diagnostic import Applicability
from lint_vllm.registry import rules
from lint_vllm.report.rule_pages import FAMILIES, PARTS, parts
from lint_vllm.result import Run
from lint_vllm.rule import Bad, Good, Rule
from lint_vllm.selection import option_types
from lint_vllm.testing import fix_example, lint_example

ALL = rules()
BAD = [pytest.param(rule, example, id=f"{rule.code}-bad{n}") for rule in ALL for n, example in enumerate(rule.bad, 1)]
GOOD = [pytest.param(rule, example, id=f"{rule.code}-good{n}") for rule in ALL for n, example in enumerate(rule.good, 1)]
FIXED = [
    pytest.param(rule, example, id=f"{rule.code}-fix{n}") for rule in ALL for n, example in enumerate(rule.bad, 1) if example.fixed
]
MADE_BY_THE_ENGINE = ("SRC900",)
FOLDERS = {
    "MEM": "memory",
    "ARG": "arguments",
    "MDL": "model",
    "HW": "hardware",
    "DEP": "deployment",
    "SEC": "security",
    "PRF": "performance",
    "SRC": "unreadable",
}


@pytest.fixture(params=ALL, ids=[rule.code for rule in ALL])
def rule(request: pytest.FixtureRequest) -> Rule:
    found: Rule = request.param
    return found


def test_code_and_place(rule: Rule) -> None:
    assert re.fullmatch(r"[A-Z]{2,3}\d{3}", rule.code)
    assert rule.family in FAMILIES
    assert re.fullmatch(r"[a-z0-9]+(?:-[a-z0-9]+)*", rule.name)
    if rule.module.startswith("lint_vllm_rules."):
        _, folder, module = rule.module.split(".")
        assert folder == FOLDERS[rule.family]
        assert module == rule.name.replace("-", "_")


def test_documentation(rule: Rule) -> None:
    assert len(rule.summary) < 120
    assert tuple(parts(rule)) == PARTS
    assert all(len(text) > 5 for text in parts(rule).values())


def test_options_have_defaults_and_types(rule: Rule) -> None:
    for name in option_types(rule.options):
        assert hasattr(rule.options, name)


def test_it_imports_only_the_engine(rule: Rule) -> None:
    source = Path(inspect.getfile(sys.modules[rule.module])).read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            assert top in sys.stdlib_module_names or top == "lint_vllm", name
            assert top not in ("subprocess", "socket", "urllib", "pathlib", "os", "io"), f"a rule does no input or output: {name}"


def test_it_has_examples(rule: Rule) -> None:
    assert rule.bad or rule.code in MADE_BY_THE_ENGINE
    assert len(rule.good) >= 2, "one of them with a value that is not known"


def failures(run: Run, rule: Rule) -> list[str]:
    return [d.message for d in run.shown if d.code == "SRC900" and f"rule {rule.code} " in d.message]


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_bad_example_fires_once_on_its_mark(rule: Rule, example: Bad, tmp_path: Path) -> None:
    run = lint_example(rule, example, tmp_path)
    found = [d for d in run.shown if d.code == rule.code]
    assert [d.span.text for d in found] == [found[0].span.text if found else "a finding"]
    assert not failures(run, rule)
    if example.mark is not None:
        assert found[0].span.text == example.mark


@pytest.mark.parametrize(("rule", "example"), GOOD)
def test_good_example_is_silent(rule: Rule, example: Good, tmp_path: Path) -> None:
    run = lint_example(rule, example, tmp_path)
    assert not [d.message for d in run.shown if d.code == rule.code] + failures(run, rule)


@pytest.mark.parametrize(("rule", "example"), FIXED)
def test_fixed_is_reached_and_lints_clean(rule: Rule, example: Bad, tmp_path: Path) -> None:
    (tmp_path / "before").mkdir()
    (tmp_path / "after").mkdir()
    before = {d.code for d in lint_example(rule, example, tmp_path / "before").shown}
    fixed = fix_example(rule, example, tmp_path / "after")
    assert fixed.text == example.fixed
    after = {d.code for d in fixed.run.shown}
    assert rule.code not in after
    assert after <= before


@pytest.mark.parametrize(("rule", "example"), BAD)
def test_edits_lie_in_files_and_do_not_overlap(rule: Rule, example: Bad, tmp_path: Path) -> None:
    for d in lint_example(rule, example, tmp_path).shown:
        for fix in d.fixes:
            spans = sorted((edit.span.start, edit.span.end) for edit in fix.edits)
            assert all(a[1] <= b[0] for a, b in pairwise(spans))
            assert fix.edits or fix.applicability is not Applicability.SAFE, "a safe fix without edits is advice"
