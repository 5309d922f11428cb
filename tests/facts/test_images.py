from __future__ import annotations

import pytest

from lint_vllm.facts.images import facts_of_reference, split_reference


@pytest.mark.parametrize(
    ("reference", "version", "entrypoint", "device", "cuda"),
    [
        ("vllm/vllm-openai:v0.9.1", "0.9.1", "api_server", "cuda", "12.8"),
        ("docker.io/vllm/vllm-openai:v0.20.2-cu129", "0.20.2", "vllm serve", "cuda", "12.9"),
        ("registry.corp:5000/hub/vllm/vllm-openai:v0.33.0", "0.33.0", "vllm serve", "cuda", "13.0"),
        ("vllm/vllm-openai:v0.8.5.post1", "0.8.5.post1", "api_server", "cuda", "12.4"),
        ("vllm/vllm-openai:v0.10.1.1-x86_64", "0.10.1.1", "api_server", "cuda", "12.8"),
        ("vllm/vllm-openai:latest", None, "vllm serve", "cuda", None),
        ("vllm/vllm-openai", None, "vllm serve", "cuda", None),
        ("vllm/vllm-openai:gemma4-0505-cu129", None, "vllm serve", "cuda", "12.9"),
        ("vllm/vllm-openai-cpu:v0.19.0", "0.19.0", None, "cpu", None),
        ("nvcr.io/nvidia/vllm:26.03-py3", "0.17.1", "command", "cuda", "13.2"),
        ("nvcr.io/nvidia/vllm:25.99-py3", None, "command", "cuda", None),
        ("nvcr.io/nvidia/ai-dynamo/vllm-runtime:0.7.1", "0.11.0", "command", "cuda", "12.9"),
        ("rocm/vllm:rocm6.4.1_vllm_0.10.1_20250909", "0.10.1", "command", "rocm", None),
        ("runpod/worker-v1-vllm:v2.7.0stable-cuda12.1.0", "0.9.1", "own", "cuda", "12.1"),
        ("lmcache/vllm-openai:v0.3.12", None, "vllm serve", "cuda", None),
        ("public.ecr.aws/q9t5s3a7/vllm-cpu-release-repo:v0.10.1", "0.10.1", None, "cpu", None),
        ("quay.io/ascend/vllm-ascend:v0.9.1rc1", "0.9.1", "command", "ascend", None),
        ("ghcr.io/llm-d/llm-d-cuda:v0.9.0", "0.26.0", None, "cuda", None),
        ("someone/vllm:0.9.1", "0.9.1", None, None, None),
        ("someone/vllm-server:0.9.1", None, None, None, None),
    ],
)
def test_what_a_tag_tells(
    reference: str, version: str | None, entrypoint: str | None, device: str | None, cuda: str | None
) -> None:
    facts = facts_of_reference(reference)
    assert facts is not None
    assert (facts.version, facts.entrypoint, facts.device, facts.cuda) == (version, entrypoint, device, cuda)


@pytest.mark.parametrize("reference", ["python:3.11", "lmsysorg/sglang:v0.5.4", "nvidia/cuda:12.4.1"])
def test_other_images(reference: str) -> None:
    assert facts_of_reference(reference) is None


@pytest.mark.parametrize(
    ("reference", "capability", "runs"),
    [
        ("vllm/vllm-openai:v0.8.5", (12, 0), False),
        ("vllm/vllm-openai:v0.8.5", (8, 9), True),
        ("vllm/vllm-openai:v0.33.0", (12, 0), True),
        ("vllm/vllm-openai:v0.33.0", (12, 1), True),
        ("vllm/vllm-openai:v0.33.0", (7, 0), False),
        ("vllm/vllm-openai:latest", (12, 0), None),
        ("nvcr.io/nvidia/vllm:26.03-py3", (12, 0), None),
    ],
)
def test_compiled_architectures(reference: str, capability: tuple[int, int], runs: bool | None) -> None:
    facts = facts_of_reference(reference)
    assert facts is not None
    assert facts.runs_on(capability) is runs


def test_drivers() -> None:
    new, old = facts_of_reference("vllm/vllm-openai:v0.33.0"), facts_of_reference("vllm/vllm-openai:v0.8.5")
    assert new is not None
    assert old is not None
    assert new.driver == ("580.65.06", "580.65.06")
    assert old.driver == ("525.60.13", "550.54.14")


@pytest.mark.parametrize(
    ("reference", "parts"),
    [
        ("a/b:c", ("a/b", "c", None)),
        ("host:5000/a/b", ("host:5000/a/b", None, None)),
        ("a/b:c@sha256:d", ("a/b", "c", "sha256:d")),
        ("a@sha256:d", ("a", None, "sha256:d")),
    ],
)
def test_references(reference: str, parts: tuple[str, str | None, str | None]) -> None:
    assert split_reference(reference) == parts
