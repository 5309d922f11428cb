"""Across the files of a run: a script is followed from where it is started, and listed once; what a limit leaves out is said."""

from __future__ import annotations

from pathlib import Path

import pytest

from lint_vllm.inventory import Inventory, inspect_paths
from lint_vllm.linting import Choice, lint_paths
from lint_vllm.request import Request

SCRIPT = '#!/bin/bash\nvllm serve "${MODEL:-org/default}" --port "${PORT:-8000}" "$@"\n'
COMPOSE = """services:
  llm:
    image: vllm/vllm-openai:v0.9.1
    entrypoint: bash /srv/run.sh
    volumes: ["./run.sh:/srv/run.sh:ro"]
    environment: {MODEL: org/m}
"""


def inventory(folder: Path, files: dict[str, str]) -> Inventory:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / ".git").mkdir(exist_ok=True)
    return inspect_paths([str(folder)], Request(isolated=True))


def rows(found: Inventory) -> list[tuple[str, object]]:
    return [(Path(case.launch.path).name, case.args.model) for case in found.cases]


def test_a_mounted_script_is_one_launch_with_all_that_is_known(tmp_path: Path) -> None:
    found = inventory(tmp_path, {"compose.yaml": COMPOSE, "run.sh": SCRIPT})
    assert rows(found) == [("run.sh", "org/m")]
    assert found.cases[0].launch.image is not None
    assert not found.cases[0].launch.unresolved


def test_a_run_counts_it_once_too(tmp_path: Path) -> None:
    inventory(tmp_path, {"compose.yaml": COMPOSE, "run.sh": SCRIPT})
    assert len(lint_paths([str(tmp_path)], Request(isolated=True), Choice()).launches) == 1


def test_a_script_alone_keeps_its_own_reading(tmp_path: Path) -> None:
    found = inventory(tmp_path, {"run.sh": SCRIPT})
    assert rows(found) == [("run.sh", "org/default")]


@pytest.mark.parametrize("second", ["org/m", "org/other"])
def test_two_services_are_two_launches_only_when_they_differ(tmp_path: Path, second: str) -> None:
    other = COMPOSE.replace("llm:", "other:").replace("services:\n", "").replace("org/m", second)
    found = inventory(tmp_path, {"compose.yaml": COMPOSE + other, "run.sh": SCRIPT})
    assert rows(found) == [("run.sh", model) for model in dict.fromkeys(("org/m", second))]


def test_calls_of_a_function_stay_apart(tmp_path: Path) -> None:
    script = 'start() { vllm serve "$1" --port "$2"; }\nstart org/a 1\nstart org/b 2\n'
    assert rows(inventory(tmp_path, {"all.sh": script})) == [("all.sh", "org/a"), ("all.sh", "org/b")]


def test_a_script_outside_the_repository_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "run.sh").write_text(SCRIPT, encoding="utf-8")
    inside = tmp_path / "inside"
    found = inventory(inside, {"compose.yaml": COMPOSE.replace("./run.sh", "../run.sh")})
    assert rows(found) == []


LONG = [
    ("run.sh", "vllm serve org/m --port 1\n" * 600),
    ("README.md", "```bash\nvllm serve org/m\n```\n\n" * 2100),
    ("Dockerfile", "FROM scratch\n" + "RUN pip install vllm\n" * 2100),
    ("table.toml", 'a = "vllm"\n' * 100_000),
    ("table.json", '{"a": "vllm", "b": "' + "x" * 1_000_000 + '"}'),
    ("code.py", "import subprocess\nx = ['vllm serve']\n" + "x = x + ['vllm']\n" * 3000),
]


@pytest.mark.parametrize(("name", "text"), LONG, ids=[name for name, _ in LONG])
def test_what_is_not_read_is_said(tmp_path: Path, name: str, text: str) -> None:
    found = inventory(tmp_path, {name: text})
    assert any("not read" in p.reason or "too large" in p.reason for p in found.problems)


def test_a_named_file_that_is_too_large_is_said(tmp_path: Path) -> None:
    path = tmp_path / "huge.sh"
    path.write_text("vllm serve org/m\n" + "#" * 5_000_000, encoding="utf-8")
    found = inspect_paths([str(path)], Request(isolated=True))
    assert [p.reason for p in found.problems] == [f"the file has {path.stat().st_size:,} bytes and was not read"]


def test_a_configuration_that_a_command_names_is_no_launch_of_its_own(tmp_path: Path) -> None:
    config = "model: org/c\nmax-model-len: 2048\ngpu-memory-utilization: 0.8\n"
    alone = inventory(tmp_path / "alone", {"serve.yaml": config})
    assert [case.launch.form for case in alone.cases] == ["config"]
    named = inventory(tmp_path / "named", {"serve.yaml": config, "run.sh": "vllm serve --config serve.yaml --port 1\n"})
    assert [case.launch.form for case in named.cases] == ["vllm serve"]
