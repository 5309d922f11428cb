"""``lint-vllm log``: words, comparison, JSON, saved calibrations."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lint_vllm.calibration import FILE_NAME, read
from lint_vllm.cli.group import run

LOG = """\
INFO [utils.py:278] non-default args: {'model': 'acme/small', 'max_model_len': 8192, 'max_num_seqs': 16}
(EngineCore pid=3) INFO [core.py:112] Initializing a V1 LLM engine (v0.31.0) with config: model='acme/small', dtype=torch.bfloat16,\
 max_seq_len=8192, tensor_parallel_size=1, pipeline_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto,
(EngineCore pid=3) INFO [model_runner.py:407] Model loading took 14.96 GiB memory and 5.4 seconds
(EngineCore pid=3) INFO [gpu_worker.py:692] Available KV cache memory: 56.40 GiB
(EngineCore pid=3) INFO [kv_cache_utils.py:24] GPU KV cache size: 462,028 tokens, Maximum concurrency for 8,192 tokens per request: 56.40x
(EngineCore pid=3) INFO [gpu_worker.py:955] Free memory on device cuda:0 (78.84/79.25 GiB) on startup. Desired GPU memory utilization is\
 (0.92, 72.91 GiB). Actual usage is 15.20 GiB for consumed memory (weights + non-torch), 1.31 GiB for peak activation, and 0.23 GiB for\
 CUDAGraph memory.
INFO:     Application startup complete.
"""
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "boot.log").write_text(LOG)
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    return tmp_path


def options(*more: str) -> list[str]:
    return ["log", "boot.log", "--isolated", "--gpu", "A100-80GB", "--model-config", "config.json", *more]


def test_words_and_comparison(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options()) == 0
    out = capsys.readouterr().out
    assert "vLLM 0.31.0 started with acme/small." in out
    assert "The pool holds 56 full requests of 8,192 tokens at once (462,028 tokens in all)." in out
    assert "Expected and measured:" in out
    assert "  weights: expected 14.96 GiB" in out


def test_json(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options("--format", "json")) == 0
    [entry] = json.loads(capsys.readouterr().out)["logs"]
    assert entry["path"] == "boot.log"
    assert entry["start"]["kv_tokens"] == 462028
    assert {row["item"] for row in entry["comparison"]} >= {"weights", "KV pool", "tokens"}


def test_save(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(options("--save")) == 0
    assert "Saved to" in capsys.readouterr().out
    [known] = read(here / FILE_NAME)
    assert (known.release, known.weights_gib, known.kv_available_gib, known.max_num_seqs) == ("0.31.0", 14.96, 56.4, 16)


def test_a_saved_log_is_preferred_and_named(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word for word in options("--save") if word != "--isolated"]) == 0
    launch = ["--", "vllm", "serve", "acme/small", "--max-model-len", "8192", "--max-num-seqs", "16"]
    facts = ["--gpu", "A100-80GB", "--vllm-version", "0.31.0", "--model-config", "config.json", "--format", "json"]
    capsys.readouterr()
    pools = []
    for isolated in ([], ["--isolated"]):
        assert run(["budget", *isolated, *facts, *launch]) == 0
        pools.append(json.loads(capsys.readouterr().out)["budgets"][0]["per_gpu"]["kv_available"])
    calibrated, plain = pools
    assert calibrated["likely"] / 2**30 == pytest.approx(56.40, abs=0.05)
    assert calibrated["high"] - calibrated["low"] < 0.5 * (plain["high"] - plain["low"])


def test_a_broken_calibration_is_one_sentence(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / FILE_NAME).write_text("{")
    assert run(["budget", "--gpu", "L4", "--", "vllm", "serve", "acme/small"]) == 2
    assert FILE_NAME in capsys.readouterr().err


def test_a_log_without_a_start(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "boot.log").write_text("nothing here\n")
    assert run(["log", "boot.log", "--isolated", "--save"]) == 0
    out = capsys.readouterr().out
    assert "no memory figures" in out
    assert "Not saved" in out


def test_a_missing_file_is_a_usage_error(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "absent.log"]) == 2
    assert "absent.log" in capsys.readouterr().err
