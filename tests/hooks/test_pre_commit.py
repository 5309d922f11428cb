"""The hooks as pre-commit runs them: from this checkout, in a repository of their own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]

COMPOSE = """\
services:
  llm:
    image: vllm/vllm-openai:v0.33.0
    ipc: host
    gpus: all
    command: --model Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization ${SHARE}
"""
TYPO = "vllm serve Qwen/Qwen3-8B --tensor-paralel-size 1\n"


def test_hook_file_has_both_hooks() -> None:
    hooks = {hook["id"]: hook for hook in YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    assert set(hooks) == {"lint-vllm", "lint-vllm-fix"}
    for hook in hooks.values():
        assert hook["require_serial"] is True
        assert hook["language"] == "python"
        assert hook["entry"].split()[:2] == ["lint-vllm", "check"]


@pytest.mark.parametrize(
    "name",
    [
        "serve.sh",
        "compose.yaml",
        "Dockerfile",
        "job.slurm",
        "vllm.service",
        "serve.container",
        ".env",
        "main.tf",
        "x.py",
        "x.ipynb",
        "README.md",
    ],
)
def test_hooks_are_given_every_kind_of_launch_file(tmp_path: Path, name: str) -> None:
    identify = pytest.importorskip("identify.identify")
    path = tmp_path / name
    path.write_text("vllm serve m\n")
    assert "text" in identify.tags_from_path(str(path))


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_real_run(tmp_path: Path) -> None:
    pytest.importorskip("pre_commit")
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    project = tmp_path / "project"
    (project / "vendor").mkdir(parents=True)
    git(project, "init", "-q")
    (project / "compose.yaml").write_text(COMPOSE)
    (project / ".env").write_text("SHARE=0.9\n")
    (project / "vendor/typo.sh").write_text(TYPO)
    (project / ".lint-vllm.toml").write_text('exclude = ["vendor/"]\ngpu = "RTX 4090"\n')
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "start")
    (project / ".env").write_text("SHARE=0.98\n")
    (project / "typo.sh").write_text(TYPO)
    git(project, "add", "-A")

    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "store"), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    environment.pop("PYTHONPATH", None)
    files = [".env", "typo.sh", "vendor/typo.sh"]
    command = [sys.executable, "-m", "pre_commit", "try-repo", str(ROOT), "--verbose", "--color", "never", "--files", *files]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False, timeout=900)
    output = done.stdout + done.stderr
    if "An unexpected error has occurred" in output:
        pytest.skip(f"the hook's environment could not be built here: {output.strip().splitlines()[-1]}")

    assert done.returncode == 1, output
    assert "MEM022" in output, "the changed .env re-lints the compose file that reads it"
    assert "ARG001" in output
    assert "vendor" not in output, "excludes hold for named files"
    assert (project / "typo.sh").read_text() == TYPO.replace("paralel", "parallel"), "lint-vllm-fix has mended the flag"
    assert (project / "vendor/typo.sh").read_text() == TYPO
