"""Launches between two releases: what is said, what the patch does, and that the target takes the result."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from lint_vllm.api import find_launches, parse_arguments
from lint_vllm.cli.group import run
from lint_vllm.release_moves import moves
from lint_vllm.request import Request
from lint_vllm.settings import Stated
from lint_vllm.upgrade import Upgrade, upgrade_paths

EXPECTED = Path(__file__).parent / "expected"
COMPOSE = """\
services:
  llm:
    image: vllm/vllm-openai:v0.9.1
    ipc: host
    gpus: all
    environment:
      HF_HOME: /hub
      VLLM_USE_V1: "1"
    command:
      - --model
      - Qwen/Qwen2.5-7B-Instruct
      - --max-model-len
      - "8192"
      - --swap-space
      - "16"
      - --disable-log-requests
      - --rope-theta
      - "10000"
"""
PYTHON = """\
# /// script
# dependencies = ["vllm==0.10.2"]
# ///
from vllm import LLM

llm = LLM(model="Qwen/Qwen3-8B", max_model_len=8192, swap_space=4, task="generate")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def upgrade(path: str, target: str = "0.33.0", gpu: str | None = None, **facts: str) -> Upgrade:
    return upgrade_paths([path], Request(Stated(gpu=gpu, **facts), isolated=True), target)  # type: ignore[arg-type]


def golden(name: str, text: str) -> None:
    path = EXPECTED / name
    if os.environ.get("UPDATE_EXPECTED"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", ["text", "json", "markdown", "github"])
def test_outputs(folder: Path, capsys: pytest.CaptureFixture[str], form: str) -> None:
    (folder / "compose.yaml").write_text(COMPOSE)
    assert run(["upgrade", "--isolated", "--to", "0.33.0", "--format", form, "compose.yaml"]) == 1
    golden(f"{form}.txt", capsys.readouterr().out)


def test_diff_changes_nothing_and_fix_writes_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = folder / "compose.yaml"
    path.write_text(COMPOSE)
    assert run(["upgrade", "--isolated", "--to", "0.33.0", "--diff", "compose.yaml"]) == 1
    diff = capsys.readouterr().out
    assert path.read_text() == COMPOSE
    assert "-    image: vllm/vllm-openai:v0.9.1\n+    image: vllm/vllm-openai:v0.33.0\n" in diff
    assert run(["upgrade", "--isolated", "--to", "0.33.0", "--fix", "compose.yaml"]) == 1
    fixed = path.read_text()
    for gone in ("v0.9.1", "--swap-space", '"16"', "VLLM_USE_V1"):
        assert gone not in fixed
    capsys.readouterr()
    run(["upgrade", "--isolated", "--to", "0.33.0", "--fix", "compose.yaml"])
    assert path.read_text() == fixed


def test_the_target_takes_the_result(folder: Path) -> None:
    path = folder / "compose.yaml"
    path.write_text(COMPOSE.replace('      - --rope-theta\n      - "10000"\n', ""))
    assert run(["upgrade", "--isolated", "--to", "0.33.0", "--fix", "compose.yaml"]) == 0
    (case,) = find_launches(["compose.yaml"], isolated=True)
    assert (case.facts.release.version, case.facts.release.origin) == ("0.33.0", "image tag")
    args = parse_arguments(case.launch, "0.33.0")
    assert not [p for p in args.problems if p.is_error]
    assert args.model == "Qwen/Qwen2.5-7B-Instruct"


def test_without_the_release_itself(folder: Path) -> None:
    path = folder / "compose.yaml"
    path.write_text(COMPOSE)
    run(["upgrade", "--isolated", "--to", "0.33.0", "--fix", "--no-bump", "compose.yaml"])
    assert "v0.9.1" in path.read_text()
    assert "--swap-space" not in path.read_text()


def test_pins_and_keywords(folder: Path) -> None:
    path = folder / "run.py"
    path.write_text(PYTHON)
    assert run(["upgrade", "--isolated", "--to", "0.33.0", "--fix", "run.py"]) in (0, 1)
    text = path.read_text()
    assert '"vllm==0.33.0"' in text
    assert "swap_space" not in text
    assert "max_model_len=8192" in text


@pytest.mark.parametrize(
    ("image", "bump"),
    [
        ("vllm/vllm-openai:v0.9.1", "v0.33.0"),
        ("vllm/vllm-openai:0.9.1", "0.33.0"),
        ("docker.io/vllm/vllm-openai:v0.9.1@sha256:" + "0" * 64, None),
        ("vllm/vllm-openai:v0.9.1-cu128", None),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai", None),
        ("rocm/vllm:rocm6.4.1_vllm_0.9.1_20250715", None),
        ("vllm/vllm-openai:${TAG}", None),
    ],
)
def test_only_plain_release_tags_are_rewritten(folder: Path, image: str, bump: str | None) -> None:
    command = "vllm serve Qwen/Qwen3-8B" if image.startswith("rocm") else "--model Qwen/Qwen3-8B"
    (folder / "compose.yaml").write_text(f"services:\n  llm:\n    image: {image}\n    command: {command}\n")
    (launch,) = upgrade("compose.yaml").launches
    assert launch.bump == bump
    assert bool(launch.no_bump) == (bump is None)


def test_every_container_of_the_image_moves(folder: Path) -> None:
    (folder / "compose.yaml").write_text(
        "services:\n"
        "  head:\n    image: vllm/vllm-openai:v0.9.1\n    command: --model Qwen/Qwen3-8B\n"
        "  worker:\n    image: vllm/vllm-openai:v0.9.1\n    entrypoint: ray start --block\n"
        "  old:\n    image: vllm/vllm-openai:v0.9.10\n"
        "# image: vllm/vllm-openai:v0.9.1\n"
    )
    diff = upgrade("compose.yaml").diff
    assert diff.count("+    image: vllm/vllm-openai:v0.33.0") == 2
    assert "v0.9.10" not in [line[-7:] for line in diff.splitlines() if line.startswith(("+", "-"))]


def test_values_that_the_target_reads_otherwise(folder: Path) -> None:
    (folder / "run.sh").write_text("vllm serve Qwen/Qwen3-8B --device cuda\n")
    (launch,) = upgrade("run.sh", "0.27.1", vllm_version="0.9.1").launches
    assert [(r.written, r.before, r.after) for r in launch.readings] == [("--device", "--device", "--device-ids")]


def test_memory_before_and_after(folder: Path) -> None:
    (folder / "run.sh").write_text("vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 8192\n")
    (launch,) = upgrade("run.sh", gpu="L4", vllm_version="0.11.0").launches
    was, now = launch.before.facts.budget, launch.after.facts.budget
    assert (was.utilization, now.utilization) == (0.9, 0.92)
    assert (was.graphs_inside, now.graphs_inside) == (False, True)
    titles = [move.title for move in launch.moves]
    assert "CUDA graphs are taken out of the share" in titles
    assert "a larger share of the card by default" in titles


def test_what_a_launch_states_does_not_move(folder: Path) -> None:
    (folder / "run.sh").write_text(
        "vllm serve Qwen/Qwen2.5-7B-Instruct --gpu-memory-utilization 0.9 --enforce-eager --seed 1 --allowed-origins '[\"*\"]'\n"
    )
    (launch,) = upgrade("run.sh", vllm_version="0.11.0").launches
    flags = {move.flag for move in launch.moves}
    assert not flags & {"--gpu-memory-utilization", "--seed", "--allowed-origins"}
    assert not [move for move in launch.moves if "CUDA graphs" in move.title]


def test_yarn_no_longer_multiplies(folder: Path) -> None:
    yarn = '{"rope_scaling":{"rope_type":"yarn","factor":4.0,"original_max_position_embeddings":32768}}'
    (folder / "run.sh").write_text(f"vllm serve Qwen/Qwen2.5-7B-Instruct --hf-overrides '{yarn}' --max-model-len 131072\n")
    (launch,) = upgrade("run.sh", gpu="H100", vllm_version="0.28.0").launches
    assert "YaRN no longer multiplies the length" in [move.title for move in launch.moves]
    assert launch.breaks


def test_nothing_changes_within_a_release(folder: Path) -> None:
    (folder / "compose.yaml").write_text(COMPOSE.replace("v0.9.1", "v0.33.0"))
    result = upgrade("compose.yaml")
    (launch,) = result.launches
    assert launch.moves == ()
    assert launch.bump is None
    assert all(f.standing for f in launch.findings)


def test_a_step_back(folder: Path) -> None:
    (folder / "run.sh").write_text("vllm serve Qwen/Qwen3-8B --runner generate\n")
    (launch,) = upgrade("run.sh", "0.9.1", vllm_version="0.33.0").launches
    assert launch.breaks
    assert not launch.accepted
    assert moves(launch.before, launch.after) == ()


@pytest.mark.parametrize("arguments", [["--to", "latest"], [], ["--to", "0.33.0", "--fix", "--diff"], ["--to", "0.33.0", "absent"]])
def test_usage_errors(folder: Path, arguments: list[str]) -> None:
    assert run(["upgrade", *arguments]) == 2


@pytest.mark.parametrize(
    "text", ["", "services: [", "vllm serve", "image: vllm/vllm-openai:v0.9.1\ncommand: [", "\ufeffcommand: vllm serve m\n"]
)
def test_any_input(folder: Path, text: str) -> None:
    (folder / "compose.yaml").write_text(text)
    for form in ("text", "json", "markdown", "github"):
        assert run(["upgrade", "--to", "0.33.0", "--format", form, "compose.yaml"]) in (0, 1)


def test_secrets_are_masked(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "run.sh").write_text("vllm serve m --swap-space 4 --api-key abcdefgh12345678\n")
    for form in ("text", "json", "markdown", "github"):
        run(["upgrade", "--vllm-version", "0.9.1", "--to", "0.33.0", "--format", form, "run.sh"])
    run(["upgrade", "--vllm-version", "0.9.1", "--to", "0.33.0", "--diff", "run.sh"])
    assert "abcdefgh12345678" not in capsys.readouterr().out


def test_json_is_whole(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "compose.yaml").write_text(COMPOSE)
    run(["upgrade", "--to", "0.33.0", "--gpu", "L4", "--format", "json", "compose.yaml"])
    document = json.loads(capsys.readouterr().out)
    (launch,) = document["launches"]
    assert launch["from"] == {"value": "0.9.1", "from": "image tag", "certainty": "stated"}
    assert launch["place"]["line"] == 3
    assert launch["memory"]["before"]["vllm_version"] == "0.9.1"
    assert launch["memory"]["after"]["vllm_version"] == "0.33.0"
    assert {f["code"] for f in launch["findings"]} >= {"ARG020", "ARG021"}
