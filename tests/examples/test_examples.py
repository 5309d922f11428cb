"""What a newcomer sees first: the shipped examples and the output that the README shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lint_vllm.cli.group import run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.chdir(ROOT)
    assert run(["examples/"]) == 1
    return capsys.readouterr().out


def test_the_examples_show_every_family(shown: str) -> None:
    families = {code[:-3] for code in re.findall(r"^([A-Z]{2,3}\d{3}) ", shown, re.MULTILINE)}
    assert families == {"MEM", "ARG", "MDL", "HW", "DEP", "SEC", "PRF", "SRC"}


def test_every_example_is_described_and_has_a_finding_or_is_healthy(shown: str) -> None:
    described = (ROOT / "examples/README.md").read_text(encoding="utf-8")
    for path in (ROOT / "examples").rglob("*"):
        if path.is_file() and path.name != "README.md":
            name = path.relative_to(ROOT / "examples").as_posix()
            assert f"`{name}`" in described or f"examples/{name}`" in described
            assert (f"examples/{name}:" in shown) is (name != "healthy.sh")


def test_the_output_in_the_readme_is_what_the_tool_says(shown: str) -> None:
    (block,) = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block.strip() in shown
