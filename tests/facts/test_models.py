from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from lint_vllm.facts.model import Model
from lint_vllm.facts.models import ModelLookup
from lint_vllm.facts.repository import Repository
from lint_vllm.known import Known, Unknown
from lint_vllm.settings import Stated

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 100,
}


@pytest.fixture(autouse=True)
def catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    """A catalogue of two models, so that the look-up's order is tested and not its content."""
    known = {name: Model(name, "catalogue", True, CONFIG, CONFIG) for name in ("org/name", "org/other")}
    fake = ModuleType("lint_vllm.facts.catalogue")
    fake.find = known.get  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lint_vllm.facts.catalogue", fake)


def lookup(repository: Repository, options: Stated | None = None, settings: Stated | None = None, **mounts: str) -> ModelLookup:
    return ModelLookup(options or Stated(), settings or Stated(), repository, mounts)


@pytest.mark.parametrize(
    ("name", "id", "exact"),
    [
        ("org/name", "org/name", True),
        ("/models/org/name", "/models/org/name", False),
        ("s3://bucket/org/name", "s3://bucket/org/name", False),
        ("/root/.cache/huggingface/hub/models--org--name/snapshots/abc", "org/name", True),
    ],
)
def test_catalogue_names(name: str, id: str, exact: bool, repository: Callable[..., Repository]) -> None:
    found = lookup(repository()).find(name)
    assert isinstance(found, Known)
    assert (found.value.id, found.value.exact) == (id, exact)


@pytest.mark.parametrize(
    ("name", "reason"), [("org/missing", "not in the catalogue"), ("./missing", "not in this repository"), ("  ", "no model")]
)
def test_unknown_models(name: str, reason: str, repository: Callable[..., Repository]) -> None:
    found = lookup(repository()).find(name)
    assert isinstance(found, Unknown)
    assert reason in found.reason


def test_order(repository: Callable[..., Repository], tmp_path: Path) -> None:
    here = repository(**{"org/name/config.json": json.dumps({**CONFIG, "num_hidden_layers": 3})})
    stated = tmp_path / "stated.json"
    stated.write_text(json.dumps({**CONFIG, "num_hidden_layers": 4}))

    def layers(options: Stated | None = None, settings: Stated | None = None) -> tuple[int | None, str]:
        found = lookup(here, options, settings).served("org/name")
        assert isinstance(found, Known)
        return found.value.num_layers, found.origin

    assert layers() == (3, "config.json in org/name")
    assert layers(settings=Stated(models={"org/name": {**CONFIG, "num_hidden_layers": 5}})) == (5, "settings")
    assert layers(settings=Stated(models={"org/name": "stated.json"}, root=tmp_path))[0] == 4
    assert layers(Stated(model_config=str(stated)), Stated(models={"org/name": CONFIG})) == (4, str(stated))


@pytest.mark.parametrize(("content", "reason"), [("{", "not valid JSON"), ("[]", "no JSON object"), (None, "No such file")])
def test_bad_files_are_reasons(content: str | None, reason: str, repository: Callable[..., Repository], tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    if content is not None:
        path.write_text(content)
    found = lookup(repository(), Stated(model_config=str(path))).served("org/name")
    assert isinstance(found, Unknown)
    assert reason in found.reason


def test_quantization_beside_the_config(repository: Callable[..., Repository]) -> None:
    here = repository(**{"m/config.json": json.dumps(CONFIG), "m/hf_quant_config.json": '{"quantization": {"quant_algo": "FP8"}}'})
    found = lookup(here).find("./m")
    assert isinstance(found, Known)
    assert found.value.config["quantization_config"] == {"quant_method": "modelopt", "quant_algo": "FP8"}
