"""Faults of the program itself are warnings: no run that met one looks clean."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lint_vllm import inspection, linting
from lint_vllm.cli.group import run as command
from lint_vllm.diagnostic import Severity
from lint_vllm.linting import Choice, lint_paths
from lint_vllm.request import Request
from lint_vllm.source import SourceFile


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "run.sh"
    path.write_text("vllm serve Qwen/Qwen3-8B\n")
    return path


def broken(*args: object, **more: object) -> None:
    raise ZeroDivisionError("on purpose")


@pytest.mark.parametrize("part", ["extract", "resolve"])
def test_a_fault_is_a_warning_of_its_own(script: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> None:
    monkeypatch.setattr(inspection, part, broken)
    (found,) = lint_paths([str(script)], Request(isolated=True), Choice()).shown
    assert (found.code, found.severity) == ("SRC900", Severity.WARNING)
    assert found.message == "lint-vllm failed here, please report it: ZeroDivisionError: on purpose"


@pytest.mark.parametrize(
    ("options", "code"), [((), 1), (("--select", "MEM"), 1), (("--ignore", "SRC900"), 0), (("--ignore", "SRC"), 0)]
)
def test_no_selection_hides_it(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], options: tuple[str, ...], code: int
) -> None:
    monkeypatch.setattr(inspection, "extract", broken)
    assert command(["check", "--isolated", *options, str(script)]) == code
    assert ("SRC900" in capsys.readouterr().out) is bool(code)


def test_a_file_has_a_bounded_time(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(source: SourceFile, *more: object) -> None:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            pass

    monkeypatch.setattr("lint_vllm.time_limit.SECONDS_A_FILE", 0.05)
    monkeypatch.setattr(inspection, "extract", endless)
    (found,) = lint_paths([str(script)], Request(isolated=True), Choice()).shown
    assert found.code == "SRC900"
    assert "CPU time" in found.message


def test_unreadable_files_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run.sh").write_text("vllm serve m\n")

    def refused(self: Request, path: str) -> bytes:
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(linting.Request, "read", refused)
    (found,) = lint_paths([str(tmp_path)], Request(isolated=True), Choice()).shown
    assert found.message == "cannot read this part: Permission denied"
    assert command(["launches", "--isolated", str(tmp_path)]) == 0
    assert "Permission denied" in capsys.readouterr().err


def test_one_account_that_fails_leaves_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from lint_vllm.facts import Facts

    (tmp_path / "run.sh").write_text("vllm serve Qwen/Qwen3-8B\nvllm serve Qwen/Qwen3-4B\n")
    original = Facts.budget.func

    def failing(self: Facts) -> object:
        return broken() if self.launch.command.line == 1 else original(self)

    monkeypatch.setattr(Facts, "budget", property(failing))
    assert command(["budget", "--isolated", str(tmp_path)]) == 0
    output = capsys.readouterr()
    assert "Qwen3-4B" in output.out
    assert "run.sh:1: lint-vllm failed here" in output.err


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "1e999", "-0.5", "0"])
@pytest.mark.parametrize("flag", ["--gpu-memory-utilization", "--cpu-offload-gb", "--swap-space"])
def test_numbers_that_are_none(tmp_path: Path, capsys: pytest.CaptureFixture[str], flag: str, value: str) -> None:
    path = tmp_path / "run.sh"
    path.write_text(f"vllm serve Qwen/Qwen3-8B {flag} {value}\n")
    assert command(["check", "--isolated", "--gpu", "L4", str(path)]) in (0, 1)
    assert "SRC900" not in capsys.readouterr().out
