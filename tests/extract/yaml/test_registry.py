from __future__ import annotations

import pytest

from lint_vllm.extract import extract, may_hold_launch
from lint_vllm.extract.registry import CARRIERS, SUFFIXES, kind_of
from lint_vllm.source import SourceFile


@pytest.mark.parametrize(
    ("path", "head", "kind"),
    [
        ("a/compose.yaml", "", "yaml"),
        ("docker-compose.yml.j2", "", "yaml"),
        ("values.yaml.gotmpl", "", "yaml"),
        ("deployment.tftpl", "apiVersion: v1\nkind: Pod\n", "yaml"),
        ("Dockerfile", "", "dockerfile"),
        ("docker/Dockerfile.cuda", "", "dockerfile"),
        ("serve", "#!/usr/bin/env bash\n", "shell"),
        ("serve", "#!/usr/bin/env python3\n", "python"),
        ("job", "#!/bin/bash\n#SBATCH --gres=gpu:1\n", "shell"),
        (".env.example", "", "env"),
        ("Makefile", "", "makefile"),
        ("vllm.service.j2", "", "systemd"),
        ("README.md", "", "markdown"),
        ("weights.safetensors", "\x00\x01", None),
        ("k8s-dockerfile-test.yaml", "", "yaml"),
    ],
)
def test_kind_of_a_file(path: str, head: str, kind: str | None) -> None:
    assert kind_of(path, head) == kind


def test_every_kind_has_a_carrier() -> None:
    assert set(SUFFIXES.values()) <= set(CARRIERS)


@pytest.mark.parametrize(
    ("data", "worth"),
    [
        (b"image: vllm/vllm-openai", True),
        (b"VLLM_USE_V1=1", True),
        (b"max-model-len: 1", True),
        (b"gpu_memory_utilization: 1", True),
        (b"maxModelLen: 1", True),
        ("vllm".encode("utf-16"), True),
        (b"image: nginx", False),
    ],
)
def test_prefilter(data: bytes, worth: bool) -> None:
    assert may_hold_launch(data) is worth


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00vllm",
        b"vllm: [\n",
        b"vllm: " + b"[" * 3000,
        b"services: {a: {image: vllm/vllm-openai, command: [1, {a: b}, ~, *x]}}",
        b"services:\n  vllm: 1\n  b: [x]\n  c: {image: [vllm], command: {a: b}, environment: 3, volumes: {a: 1}, ports: x}\n",
        b"spec:\n  containers: [1, {image: vllm/vllm-openai, args: 5, env: [1, {name: x}], resources: 1, volumeMounts: [1]}]\n",
        b"vllm" + b"{{" * 20000,
        b"a: " + b"vllm " * 300000,
        b"\xef\xbb\xbfservices:\r\n  a:\r\n    image: vllm/vllm-openai\r\n    command: --model m\r\n",
        "k: 'caf\xe9 vllm'\n".encode("latin-1"),
    ],
)
def test_no_input_breaks_the_reader(data: bytes) -> None:
    for name in ("x.yaml", "compose.yaml", "templates/x.yaml"):
        extract(SourceFile(name, data))


def test_a_broken_document_does_not_hide_the_others() -> None:
    good = "kind: Pod\nspec:\n  containers:\n  - image: vllm/vllm-openai\n    args: [--model, org/m]\n"
    found = extract(SourceFile.of(f"{good}---\nbroken: [\nx\n---\n{good}", "x.yaml"))
    assert len(found.launches) == 2
    assert [problem.span.line for problem in found.problems] == [8]
