"""What ``--fix`` may and may not do to files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from lint_vllm.cli.group import run

SCRIPT = (
    "#!/bin/bash\n# lint-vllm: gpu=RTX4090 vllm=0.33.0\n"
    "vllm serve Qwen/Qwen3-8B --tensor-paralel-size 1 --swap-space 4 --gpu-memory-utilization 0.98 # \u00e9\n"
)
MENDED = SCRIPT.replace("paralel", "parallel").replace("--swap-space 4 ", "").replace("0.98", "0.95")


@pytest.mark.parametrize(
    ("encoding", "bom", "newline", "cut"),
    [
        ("utf-8", b"", "\n", False),
        ("utf-8", b"", "\r\n", False),
        ("utf-8", b"\xef\xbb\xbf", "\n", True),
        ("latin-1", b"", "\n", True),
        ("utf-16-le", b"\xff\xfe", "\r\n", False),
    ],
)
def test_only_what_was_wrong_changes(tmp_path: Path, encoding: str, bom: bytes, newline: str, cut: bool) -> None:
    def encoded(text: str) -> bytes:
        return bom + (text.removesuffix("\n") if cut else text).replace("\n", newline).encode(encoding)

    path = tmp_path / "run.sh"
    path.write_bytes(encoded(SCRIPT))
    path.chmod(0o750)
    assert run(["check", "--isolated", "--diff", str(path)]) == 1
    assert path.read_bytes() == encoded(SCRIPT)
    for _ in range(2):
        assert run(["check", "--isolated", "--fix", str(path)]) == 0
        assert path.read_bytes() == encoded(MENDED)
    assert path.stat().st_mode & 0o777 == 0o750
    assert os.listdir(tmp_path) == ["run.sh"]


def test_a_diff_is_a_patch(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.sh").write_bytes(b"\xef\xbb\xbf" + SCRIPT.replace("\n", "\r\n").rstrip().encode())
    run(["check", "--isolated", "--diff", "run.sh"])
    patch = capsys.readouterr().out
    done = subprocess.run(["git", "apply", "-"], input=patch.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Path("run.sh").read_bytes() == b"\xef\xbb\xbf" + MENDED.replace("\n", "\r\n").rstrip().encode()


def test_read_only_files_are_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a.sh", "b.sh"):
        (tmp_path / name).write_text(SCRIPT)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "b.sh")
    assert run(["check", "--isolated", "--fix", str(tmp_path)]) == 2
    assert capsys.readouterr().err.endswith("b.sh: is read-only; nothing was changed\n")
    assert (tmp_path / "a.sh").read_text() == (tmp_path / "b.sh").read_text() == SCRIPT


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            'ARGS="--swap-space 4 --max-model-len 8192"\nvllm serve Qwen/Qwen3-8B $ARGS --port 8000\n',
            'ARGS="--max-model-len 8192"\nvllm serve Qwen/Qwen3-8B $ARGS --port 8000\n',
        ),
        ("SPACE=4\nvllm serve Qwen/Qwen3-8B --swap-space $SPACE --port 1\n", "SPACE=4\nvllm serve Qwen/Qwen3-8B --port 1\n"),
        (
            "vllm serve Qwen/Qwen3-8B ${X:---swap-space 4 --max-model-len 8192}\n",
            "vllm serve Qwen/Qwen3-8B ${X:---max-model-len 8192}\n",
        ),
    ],
)
def test_what_else_a_variable_holds_stays(tmp_path: Path, before: str, after: str) -> None:
    path = tmp_path / "run.sh"
    path.write_text(before)
    run(["check", "--isolated", "--vllm-version", "0.33.0", "--fix", str(path)])
    assert path.read_text() == after


def test_a_variable_of_another_file_is_mended_there(tmp_path: Path) -> None:
    compose = "services:\n  a:\n    image: vllm/vllm-openai:v0.33.0\n    gpus: all\n    command: --model Qwen/Qwen3-8B ${ARGS} --port 8000\n"
    (tmp_path / "compose.yaml").write_text(compose)
    (tmp_path / ".env").write_text("ARGS=--swap-space 4 --max-model-len 8192\n")
    run(["check", "--isolated", "--fix", str(tmp_path)])
    assert (tmp_path / "compose.yaml").read_text() == compose
    assert (tmp_path / ".env").read_text() in (
        "ARGS=--max-model-len 8192\n",
        "ARGS=--swap-space 4 --max-model-len 8192\n",
    )


def test_documents_are_rewritten_on_request_only(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    text = "# Notes\n\n```sh\nvllm serve Qwen/Qwen3-8B --tensor-paralel-size 1\n```\n"
    path.write_text(text)
    assert run(["check", "--isolated", "--fix", str(path)]) == 1
    assert path.read_text() == text
    assert run(["check", "--isolated", "--fix", "--unsafe-fixes", str(path)]) == 0
    assert path.read_text() == text.replace("paralel", "parallel")
    path.write_text(text)
    (tmp_path / ".lint-vllm.toml").write_text('docs = "arguments"\n')
    assert run(["check", "--fix", str(path)]) == 0
    assert path.read_text() == text.replace("paralel", "parallel")


def test_harmful_fixes_do_not_hold_up_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lint_vllm import fixer

    lines = [f"vllm serve Qwen/Qwen3-8B --port {8000 + n} --tensor-paralel-size 1" for n in range(40)]
    path = tmp_path / "run.sh"
    path.write_text("\n".join(lines) + "\n")
    asked = []

    def harmful(before: object, after: object) -> bool:
        text = overlay()
        asked.append(text)
        return "8013 --tensor-parallel" in text or "8029 --tensor-parallel" in text

    seen: dict[str, bytes] = {}

    def overlay() -> str:
        return seen.get("text", b"").decode()

    real = fixer.apply

    def applied(source: object, edits: object) -> bytes:
        seen["text"] = real(source, edits)  # type: ignore[arg-type]
        return seen["text"]

    monkeypatch.setattr(fixer, "apply", applied)
    monkeypatch.setattr(fixer, "_worse", harmful)
    run(["check", "--isolated", "--select", "ARG", "--fix", str(path)])
    left = [line for line in path.read_text().splitlines() if "paralel" in line]
    assert left == [lines[13], lines[29]]
    assert len(asked) < 40
