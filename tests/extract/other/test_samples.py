"""Whole files: what a careful reader finds in them, and where."""

from __future__ import annotations

import pytest

from tests.extract.other.support import SAMPLES, row, sample

EXPECTED: dict[str, list[tuple[int, str, list[str]]]] = {
    "modal_server.py": [
        (
            21,
            "vllm serve",
            [
                "Qwen/Qwen3-8B",
                "--host",
                "0.0.0.0",
                "--port=8000",
                "--no-enforce-eager",
                "--tensor-parallel-size",
                "2",
                "--max-model-len",
                "16384",
            ],
        )
    ],
    "not_launches.py": [],
    "offline_batch.py": [
        (
            21,
            "python",
            [
                "model=Qwen/Qwen2.5-7B-Instruct",
                "dtype=bfloat16",
                "gpu-memory-utilization=0.9",
                "max-model-len=8192",
                "enable-prefix-caching=True",
                "max-num-batched-tokens=8192",
            ],
        ),
        (
            30,
            "python",
            [
                "model=mistralai/Mistral-7B-Instruct-v0.3",
                "tensor-parallel-size=1",
                "quantization=?args.quantization",
                "max-num-seqs=64",
            ],
        ),
        (37, "python", ["model=facebook/opt-125m", "seed=1"]),
    ],
    "wrappers.py": [
        (12, "other", ["model=mosaicml/mpt-7b", "trust-remote-code=True", "quantization=awq", "max-model-len=2048"]),
        (17, "other", ["model=Qwen/Qwen2.5-0.5B-Instruct", "tensor-parallel-size=2", "max-model-len=8192"]),
        (19, "other", ["model=Qwen/Qwen3-0.6B", "gpu-memory-utilization=0.8"]),
        (24, "image", ["--model", "Qwen/Qwen3-4B", "--max-model-len", "4096"]),
        (29, "env", ["model=Qwen/Qwen3-14B", "tensor-parallel-degree=4", "max-model-len=16384"]),
    ],
    "main.tf": [
        (
            19,
            "image",
            [
                *("--model", "Qwen/Qwen3-32B", "--max-model-len", "32768", "--trust-remote-code"),
                *("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 4}', "~--kv-cache-dtype", "~fp8"),
            ],
        ),
        (35, "vllm serve", ["Qwen/Qwen3-8B", "--port", "8000", "?--max-num-seqs=${var.sequences}"]),
        (57, "image", ["--model", "Qwen/Qwen3-32B", "--gpu-memory-utilization", "0.9"]),
        (67, "env", ["model=Qwen/Qwen3-32B", "tensor-parallel-degree=?max", "max-model-len=16384"]),
    ],
    "charts.tf": [
        (13, "chart", ["--gpu-memory-utilization", "0.9", "model=Qwen/Qwen3-8B", "max-model-len=16384", "dtype=?var.dtype"]),
        (33, "image", ["--model", "Qwen/Qwen3-4B", "--max-model-len", "8192"]),
    ],
    "chat.nomad": [(7, "image", ["--model", "Qwen/Qwen2.5-7B-Instruct", "--max-model-len", "8192"])],
    "machine.nix": [
        (12, "image", ["--model", "Qwen/Qwen3-8B", "--max-model-len", "32768", "~--kv-cache-dtype", "~fp8"]),
        (20, "vllm serve", ["Qwen/Qwen3-8B", "--port", "8000", "--max-num-seqs", "?${cfg.seqs}"]),
        (27, "api_server", ["--model", "Qwen/Qwen3-8B", "--gpu-memory-utilization", "0.9"]),
    ],
    "ecs_task.json": [
        (8, "image", ["--model", "Qwen/Qwen3-8B", "--max-model-len", "16384", "--served-model-name", "chat"]),
    ],
    "package.json": [(5, "vllm serve", ["Qwen/Qwen3-0.6B", "--max-model-len", "2048"])],
    "pixi.toml": [
        (6, "vllm serve", ["Qwen/Qwen3-4B", "--max-model-len", "8192"]),
        (7, "vllm serve", ["Qwen/Qwen3-1.7B", "--seed", "1"]),
        (12, "vllm serve", ["Qwen/Qwen3-8B", "--dtype", "bfloat16"]),
    ],
    "cells.ipynb": [
        (36, "python", ["model=Qwen/Qwen3-8B", "max-model-len=2048", "dtype=half"]),
        (50, "vllm serve", ["Qwen/Qwen3-8B", "--port", "8000", "--max-model-len", "4096"]),
        (62, "vllm serve", ["Qwen/Qwen3-4B", "--dtype", "auto"]),
        (72, "other", ["model=Qwen/Qwen3-32B", "max-model-len=8192"]),
        (84, "vllm serve", ["Qwen/Qwen3-1.7B", "--seed", "7"]),
    ],
    "config.pbtxt": [(4, "other", ["model=Qwen/Qwen3-8B", "gpu-memory-utilization=0.8", "max-model-len=4096"])],
    "serving.properties": [
        (
            3,
            "other",
            ["model=Qwen/Qwen3-32B", "tensor-parallel-degree=?max", "max-rolling-batch-size=16", "max-model-len=32768"],
        )
    ],
    "trtllm.properties": [],
}


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_sample(name: str) -> None:
    assert [row(launch) for launch in sample(name)] == EXPECTED[name]


def test_every_sample_is_expected() -> None:
    assert {p.name for p in SAMPLES.iterdir() if p.is_file()} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_known_values_are_what_is_written(name: str) -> None:
    """A value's characters stand in the file as written, up to the escapes of the syntax."""
    for launch in sample(name):
        for word in [*launch.words, *(s.value for s in launch.settings if s.value is not None)]:
            span = word.editable
            if span is not None:
                assert span.text == word.value


def test_what_surrounds_a_modal_server() -> None:
    (launch,) = sample("modal_server.py")
    assert [(h.kind, h.value, h.count) for h in launch.hints] == [("modal", "L40S", 2)]
    assert [p.value for p in launch.pins] == ["vllm==0.11.0"]
    assert launch.env["VLLM_LOGGING_LEVEL"].value is not None


def test_what_surrounds_an_offline_engine() -> None:
    launch = sample("offline_batch.py")[0]
    assert launch.python_callable == "LLM"
    assert set(launch.env) == {"VLLM_WORKER_MULTIPROC_METHOD", "CUDA_VISIBLE_DEVICES"}
    assert launch.deployment is not None
    assert [(g.resource, g.count) for g in launch.deployment.gpus] == [("CUDA_VISIBLE_DEVICES", 2)]
    assert ("max-tokens", "256") in [(h.kind, h.value) for h in launch.hints]


def test_what_surrounds_containers() -> None:
    (task,) = sample("ecs_task.json")
    assert task.image is not None
    assert task.image.tag == "v0.11.0"
    assert task.deployment is not None
    assert [g.count for g in task.deployment.gpus] == [1]
    assert task.deployment.shm_size is not None
    assert task.deployment.shm_size.bytes == 8192 * 2**20
    (nomad,) = sample("chat.nomad")
    assert "VLLM_LOGGING_LEVEL" in nomad.env
    nix = sample("machine.nix")[0]
    assert nix.deployment is not None
    assert nix.deployment.shm_size is not None
    assert set(nix.env) == {"HF_HOME", "VLLM_LOGGING_LEVEL"}
    terraform = sample("main.tf")
    assert [h.value for h in terraform[2].hints] == ["g6e.2xlarge"]
    assert terraform[1].env["HF_TOKEN"].value is None
    assert [(h.kind, h.value) for h in terraform[1].hints] == [("gke-accelerator", "nvidia-l4")]
    assert all(p.value == "vllm==0.12.0" for launch in sample("cells.ipynb") for p in launch.pins)


def test_a_reference_is_edited_where_it_is_defined() -> None:
    launch = sample("modal_server.py")[0]
    model, size = launch.words[0], launch.words[6]
    assert model.editable is not None
    assert model.editable.line == 12
    assert size.editable is not None
    assert size.editable.line == 14
