"""Imports go one way, and generated files are fresh."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def test_layers() -> None:
    pytest.importorskip("importlinter")
    code = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"
    path = f"import sys; sys.path[:0] = [{str(ROOT)!r}, {str(ROOT / 'rules')!r}]; "
    done = subprocess.run([sys.executable, "-c", path + code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_generated_files_are_fresh() -> None:
    done = subprocess.run([sys.executable, "tools/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
