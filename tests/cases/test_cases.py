"""Small deployments as people write them, each with its mistake marked and with a corrected twin.

A case is a text file. Its head says what is expected; files follow, each behind ``==> NAME``::

    # why: ...                                                    what goes wrong (optional)
    # facts: vllm_version=0.19.1, gpu=NVIDIA L4, gpu_count=1      what the caller says (optional)
    # good-facts: ...                                             other facts for the twin (optional)
    # expect: ARG020 error                                        rule, or rules joined by |, and least severity; one line a mark
    ==> run.sh
    vllm serve Qwen/Qwen3-8B «--disable-log-requests»
    ==> run.sh (fixed)                                            after every safe fix (optional)
    ==> run.sh (good)                                             the twin; files that are not given again stay

A finding underlines the text between « and », or starts on a line between two § where nothing in particular is at fault. A case
without marks only looks wrong: what it names must not be found.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from lint_vllm.diagnostic import Diagnostic, Severity
from lint_vllm.fixer import fix_paths
from lint_vllm.linting import Choice, lint_paths
from lint_vllm.request import Request
from lint_vllm.settings import Stated

FOLDER = Path(__file__).parent
_FILE = re.compile(r"^==> (?P<name>\S+)(?: \((?P<state>fixed|good)\))?\n", re.M)
_MARK = re.compile("«(?P<needle>[^»]*)»|§")


@dataclass
class Mark:
    path: str
    needle: str | None
    lines: tuple[int, int]
    codes: tuple[str, ...]
    severity: Severity

    def met_by(self, d: Diagnostic) -> bool:
        place = d.span.text == self.needle if self.needle is not None else True
        first, last = self.lines
        return d.code in self.codes and d.path.endswith(self.path) and place and first <= d.span.line <= last


@dataclass
class Case:
    facts: dict[str, Any] = field(default_factory=dict)
    good_facts: dict[str, Any] | None = None
    expected: list[tuple[tuple[str, ...], Severity]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    good: dict[str, str] = field(default_factory=dict)

    @property
    def bad(self) -> dict[str, str]:
        return {name: _MARK.sub(lambda m: m["needle"] or "", text) for name, text in self.files.items()}

    @property
    def marks(self) -> list[Mark]:
        found: list[Mark] = []
        for name, text in self.files.items():
            opened: int | None = None
            for m in _MARK.finditer(text):
                line = text.count("\n", 0, m.start()) + 1
                if m["needle"] is None and opened is None:
                    opened = line
                    continue
                codes, severity = self.expected[min(len(found), len(self.expected) - 1)]
                found.append(Mark(name, m["needle"], (opened or line, line), codes, severity))
                opened = None
        return found


def read_case(text: str) -> Case:
    head, case = _FILE.split(text)[0], Case()
    for line in head.splitlines():
        key, _, value = line.removeprefix("# ").partition(":")
        value = value.strip()
        if key == "facts":
            case.facts = _facts(value)
        elif key == "good-facts":
            case.good_facts = _facts(value)
        elif key == "expect":
            codes, severity = value.split()
            case.expected.append((tuple(codes.split("|")), Severity[severity.upper()]))
    starts = list(_FILE.finditer(text))
    for at, m in enumerate(starts):
        body = text[m.end() : starts[at + 1].start() if at + 1 < len(starts) else len(text)]
        {None: case.files, "fixed": case.fixed, "good": case.good}[m["state"]][m["name"]] = body
    return case


def _facts(text: str) -> dict[str, Any]:
    pairs = (part.split("=", 1) for part in text.split(", ") if part)
    convert = {"gpu_count": int, "gpu_memory_gib": float}
    return {name: convert.get(name, str)(value) for name, value in pairs}


CASES = [pytest.param(read_case(path.read_text("utf-8")), id=path.stem) for path in sorted(FOLDER.glob("*.txt"))]
FIXED = [param for param in CASES if param.values[0].fixed]  # type: ignore[union-attr]


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_bytes(text.encode("utf-8"))


def lint(facts: dict[str, Any]) -> list[Diagnostic]:
    return list(lint_paths(["."], Request(Stated(**facts), True), Choice()).shown)


@pytest.mark.parametrize("case", CASES)
def test_the_mistake_is_found_where_it_stands(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(case.bad)
    found = lint(case.facts)
    for mark in case.marks:
        met = [d.severity for d in found if mark.met_by(d)]
        assert max(met, default=None) is not None, [(d.code, d.path, d.span.line, d.span.text) for d in found]
        assert max(met) >= mark.severity


@pytest.mark.parametrize("case", CASES)
def test_the_twin_is_silent(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write({**case.bad, **case.good})
    codes = {code for allowed, _ in case.expected for code in allowed}
    found = lint(case.facts if case.good_facts is None else case.good_facts)
    assert [(d.code, d.message) for d in found if d.code in codes or d.severity > Severity.INFO] == []


@pytest.mark.parametrize("case", FIXED)
def test_safe_fixes_write_what_a_person_would(case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(case.bad)
    fix_paths(["."], Request(Stated(**case.facts), True), Choice(), unsafe=False, write=True)
    assert {name: Path(name).read_bytes().decode("utf-8") for name in case.files} == {**case.bad, **case.fixed}
