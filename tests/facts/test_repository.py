from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from lint_vllm.facts.repository import Repository, looks_local

Build = Callable[..., Repository]


def test_paths_stay_inside(repository: Build, tmp_path: Path) -> None:
    here = repository("deploy/run.sh", **{"deploy/run.sh": "", "models/m/config.json": "{}"})
    assert here.exists("../models/m")
    assert here.exists("models/m")
    assert not here.exists("../../etc")
    assert not here.exists("/etc/passwd")
    assert here.locate("../" * 30 + "etc/passwd") is None
    assert here.locate("a\0b") is None
    (tmp_path / "outside").symlink_to("/etc")
    assert here.locate("../outside/passwd") is None
    assert here.text(Path("/etc/passwd")) is None


def test_without_a_repository_the_folder_bounds(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "secret.txt").write_text("x")
    here = Repository.of(tmp_path / "a" / "b" / "run.sh")
    assert here.root == here.folder
    assert here.locate("../secret.txt") is None
    wider = Repository.of(tmp_path / "a" / "b" / "run.sh", boundary=tmp_path / "a")
    assert wider.locate("../secret.txt") is not None
    elsewhere = Repository.of(tmp_path / "a" / "b" / "run.sh", boundary=tmp_path / "x")
    assert elsewhere.root == elsewhere.folder


def test_upward_ends_at_the_root(repository: Build) -> None:
    here = repository("a/b/c/run.sh")
    assert [folder.name for folder in here.upward()][:3] == ["c", "b", "a"]
    assert list(here.upward())[-1] == here.root


def test_environment(repository: Build) -> None:
    here = repository(**{".env": "export A=1\nB='two words'\n# C=3\nD=x # note\nE=\n"})
    assert here.environment() == {"A": "1", "B": "two words", "D": "x", "E": ""}


def test_model_folder(repository: Build) -> None:
    config, index = {"model_type": "llama"}, {"metadata": {"total_size": 5}}
    here = repository(
        "deploy/compose.yaml",
        **{
            "deploy/models/m/config.json": json.dumps(config),
            "deploy/models/m/model.safetensors.index.json": json.dumps(index),
            "deploy/models/m/generation_config.json": "not json",
            "adapters/a/adapter_config.json": '{"r": 24}',
            "empty/readme.md": "",
        },
    )
    found = here.model_folder("./models/m")
    assert found is not None
    assert (found.path, found.config, found.index, found.generation_config) == ("deploy/models/m", config, index, None)
    assert here.model_folder("/srv/models/m", {"/srv/models": "./models"}) == found
    assert here.model_folder("/srv/models/m") is None
    assert here.model_folder("../empty") is None
    assert here.adapter_config("../adapters/a") == {"r": 24}
    assert here.adapter_config("adapters/a") == {"r": 24}


def test_hub_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = tmp_path / "hub" / "models--org--name" / "snapshots"
    for commit, kind in (("aaa", "old"), ("bbb", "new")):
        (snapshot / commit).mkdir(parents=True)
        (snapshot / commit / "config.json").write_text(json.dumps({"model_type": kind}))
    (tmp_path / "hub" / "models--org--name" / "refs").mkdir()
    (tmp_path / "hub" / "models--org--name" / "refs" / "main").write_text("bbb")
    monkeypatch.delenv("HF_HUB_CACHE", raising=False)
    monkeypatch.delenv("HUGGINGFACE_HUB_CACHE", raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    here = Repository.of(tmp_path / "run.sh")
    assert here.hub_config("org/name") == {"model_type": "new"}
    assert here.hub_config("org/other") is None
    assert here.hub_config("../../etc") is None
    assert Repository.of(tmp_path / "run.sh", use_hub_cache=False).hub_config("org/name") is None


@pytest.mark.parametrize(
    ("model", "local"),
    [("Qwen/Qwen3-8B", False), ("./m", True), ("/models/m", True), ("a/b/c", True), ("x/y.gguf", True), ("gpt2", True)],
)
def test_looks_local(model: str, local: bool) -> None:
    assert looks_local(model) is local
