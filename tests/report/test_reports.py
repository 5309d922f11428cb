"""Whole reports against what a user should see, and against their schemas."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import pytest

from lint_vllm.redaction import Redactor
from lint_vllm.report import FORMATS, render
from lint_vllm.report.frame import frame
from lint_vllm.result import Run
from lint_vllm.source import SourceFile

EXPECTED = Path(__file__).parent / "expected"


@pytest.mark.parametrize("name", FORMATS)
def test_no_secret_and_no_control_character_in_any_report(run: Run, name: str) -> None:
    report = render(name, run)
    assert "sk-private" not in report
    assert "\x1b" not in report


@pytest.mark.parametrize("name", ["text", "concise", "json", "github", "gitlab", "junit"])
def test_whole_report(run: Run, name: str) -> None:
    expected = EXPECTED / f"{name}.txt"
    assert render(name, run) == expected.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", FORMATS)
def test_empty_run(name: str) -> None:
    report = render(name, Run(1, (), ()))
    assert report.endswith("\n")
    if name in ("json", "sarif", "gitlab"):
        json.loads(report)


def test_color_only_when_asked(run: Run) -> None:
    assert "\x1b[1;33m" in render("text", run, color=True)
    assert "\x1b" not in render("text", run)


def test_json_form(run: Run) -> None:
    document = json.loads(render("json", run))
    assert document["version"] == 1
    assert document["summary"] == {
        "files": 3,
        "launches": 2,
        "judged": {"arguments": 2, "memory": 1},
        "errors": 1,
        "warnings": 1,
        "infos": 1,
    }
    first = document["diagnostics"][0]
    assert (first["line"], first["column"], first["end_line"], first["end_column"]) == (1, 41, 1, 45)
    assert first["fixes"][0] == {
        "title": "lower it to 0.95",
        "applicability": "safe",
        "cost": "a smaller pool",
        "verified": True,
        "edits": [{"path": "dir/a b.sh", "line": 1, "column": 41, "end_line": 1, "end_column": 45, "text": "0.95"}],
    }
    assert document["diagnostics"][2]["suppressed"] == {"by": "comment", "reason": "known"}


def test_sarif_follows_its_schema(run: Run) -> None:
    document = json.loads(render("sarif", run))
    schema = json.loads((Path(__file__).parent / "sarif-2.1.0-subset.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(document, schema)
    results = document["runs"][0]["results"]
    assert [r["level"] for r in results] == ["warning", "error", "note", "note"]
    assert results[2]["suppressions"] == [{"kind": "inSource", "justification": "known"}]
    assert results[0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "dir/a%20b.sh"
    rules = document["runs"][0]["tool"]["driver"]["rules"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in results)


def test_gitlab_fingerprints_are_unique(run: Run) -> None:
    twice = Run(run.files, run.launches, run.diagnostics * 2, run.redactor)
    issues = json.loads(render("gitlab", twice))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_junit_is_xml(run: Run) -> None:
    root = ElementTree.fromstring(render("junit", run))
    assert root.get("failures") == "3"
    assert len(root.findall("./testsuite/testcase/failure")) == 3


def test_last_line_says_what_was_not_judged(run: Run) -> None:
    assert render("text", run).splitlines()[-1] == "1 launch not judged for memory: GPU unknown; set `gpu`"


@pytest.mark.parametrize(
    ("text", "mark", "expected"),
    [
        ("vllm serve m", "serve", ["vllm serve m", "     ^^^^^"]),
        ("\ta bc", "bc", ["\ta bc", "\t  ^^"]),
        ("模型 x", "x", ["模型 x", "     ^"]),
        ("a\x1b[0mb c", "c", ["a·[0mb c", "       ^"]),
        ("ab", "", ["ab", "^"]),
    ],
)
def test_frames(text: str, mark: str, expected: list[str]) -> None:
    source = SourceFile.of(text)
    at = text.index(mark)
    assert [line for _, line in frame(source.span(at, at + len(mark)), Redactor())] == expected


def test_long_lines_are_cut_around_the_mark() -> None:
    text = "x" * 100_000 + "HERE" + "y" * 100_000
    source = SourceFile.of(text)
    line, mark = (text for _, text in frame(source.span(100_000, 100_004), Redactor()))
    assert len(line) < 200
    assert line[mark.index("^") : mark.index("^") + 4] == "HERE"


def test_long_spans_are_cut() -> None:
    text = "\n".join(f"line {n}" for n in range(50))
    rows = list(frame(SourceFile.of(text).span(0, len(text)), Redactor()))
    assert rows[-1] == ("...", "(45 more lines)")
