"""From paths to files: ignore files, excludes, links, sizes, missing paths."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lint_vllm.discovery import MAX_BYTES, PathError, discover
from lint_vllm.settings import Settings, find


def files(root: Path, *paths: str, settings: Settings | None = None) -> list[str]:
    found = discover([str(root / path) for path in paths], find if settings is None else lambda folder: settings)
    return [os.path.relpath(item.path, root) for item in found]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for name in (
        "serve.sh",
        ".github/workflows/ci.yml",
        "build/out.sh",
        "deep/keep.yaml",
        "deep/drop.yaml",
        "deep/logs/a.log",
        "node_modules/x.sh",
        "weights.safetensors",
        "empty.sh",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("" if name == "empty.sh" else "vllm serve x\n")
    (root / ".git").mkdir()
    return root


def test_walk_leaves_out_caches_data_and_empty_files(tree: Path) -> None:
    assert files(tree, ".") == [
        ".github/workflows/ci.yml",
        "build/out.sh",
        "deep/drop.yaml",
        "deep/keep.yaml",
        "deep/logs/a.log",
        "serve.sh",
    ]


def test_ignore_files_hold_for_walks_only(tree: Path) -> None:
    (tree / ".gitignore").write_text("# built\n/build/\n*.log\ndrop.yaml\n")
    (tree / "deep/.gitignore").write_text("!drop.yaml\nkeep.yaml\n")
    assert files(tree, ".") == [".github/workflows/ci.yml", ".gitignore", "deep/.gitignore", "deep/drop.yaml", "serve.sh"]
    assert files(tree, "build/out.sh") == ["build/out.sh"]


def test_ignore_files_above_the_walked_folder_hold(tree: Path) -> None:
    (tree / ".gitignore").write_text("deep/logs\n")
    assert files(tree, "deep") == ["deep/drop.yaml", "deep/keep.yaml"]


def test_excludes_hold_for_named_files(tree: Path) -> None:
    settings = Settings(tree, exclude=("deep", "*.sh"))
    assert files(tree, "serve.sh", "deep/keep.yaml", settings=settings) == []
    assert files(tree, ".", settings=settings) == [".github/workflows/ci.yml"]


def test_a_file_named_twice_is_linted_once(tree: Path) -> None:
    assert files(tree, "serve.sh", ".", "./serve.sh").count("serve.sh") == 1


def test_links_are_not_followed_on_a_walk(tree: Path) -> None:
    outside = tree.parent / "outside"
    outside.mkdir()
    (outside / "secret.sh").write_text("vllm serve x\n")
    (tree / "link").symlink_to(outside)
    (tree / "loop").symlink_to(tree)
    (tree / "link.sh").symlink_to(outside / "secret.sh")
    assert not any("link" in name or "secret" in name or "loop" in name for name in files(tree, "."))


def test_large_files(tree: Path) -> None:
    big = tree / "big.sh"
    with big.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert "big.sh" not in files(tree, ".")
    (found,) = discover([str(big)], find)
    assert found.too_large


def test_missing_path_is_an_error_before_anything_is_read(tree: Path) -> None:
    with pytest.raises(PathError, match=r"none\.sh: No such file"):
        next(iter(discover([str(tree / "serve.sh"), str(tree / "none.sh")], find)))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_refused(tree: Path) -> None:
    os.mkfifo(tree / "pipe")
    with pytest.raises(PathError, match="neither a file nor a folder"):
        next(iter(discover([str(tree / "pipe")], find)))
    assert "pipe" not in files(tree, ".")
