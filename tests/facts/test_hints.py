from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lint_vllm.facts.hints import hints_in_text, kinds, read
from lint_vllm.source import SourceFile

AFFINITY = """\
    - matchExpressions:
        - key: nvidia.com/gpu.product
          operator: In
          values:
            - NVIDIA-H100-80GB-HBM3
            - NVIDIA-H200
        - key: cloud.google.com/gke-accelerator
          operator: NotIn
          values: [nvidia-l4]
"""


@pytest.mark.parametrize(
    ("text", "path", "hints"),
    [
        ("cloud.google.com/gke-accelerator: nvidia-l4", "x.yaml", [("gke-accelerator", "nvidia-l4", None)]),
        ('"cloud.google.com/gke-accelerator" = "nvidia-l4"', "x.tf", [("gke-accelerator", "nvidia-l4", None)]),
        (AFFINITY, "x.yaml", [("k8s-gfd-product", "NVIDIA-H100-80GB-HBM3, NVIDIA-H200", None)]),
        ("values: [a]\nkey: x", "x.yaml", []),
        ("nvidia.com/mig-1g.10gb: 1", "x.yaml", [("k8s-mig-limit", "1g.10gb", 1)]),
        ("nvidia.com/gpu: 4", "x.yaml", [("k8s-gpu-limit", "4", 4)]),
        ("- key: nvidia.com/gpu\n  operator: Exists", "x.yaml", []),
        ("#SBATCH --gres=gpu:a100:4", "x.sbatch", [("slurm-gres", "a100", 4)]),
        ("#SBATCH --gres=gpu:4", "x.sbatch", [("slurm-gres-count", "4", 4)]),
        ("#SBATCH --gpus-per-node=h100:8", "x.sbatch", [("slurm-gres", "h100", 8)]),
        ('instance_type = "g6e.12xlarge"', "x.tf", [("aws-instance", "g6e.12xlarge", None)]),
        ('# instance_type = "g6e.12xlarge"', "x.tf", []),
        ("  accelerators: A100-80GB:4", "x.yaml", [("skypilot-task", "A100-80GB:4", None)]),
        ("resourceProfile: nvidia-gpu-l4:2", "x.yaml", [("kubeai-profile", "nvidia-gpu-l4", 2)]),
        ('@app.function(gpu="H100:2")', "x.py", [("modal", "H100", 2)]),
        ('gpu="H100:2"', "x.yaml", []),
        ("google.com/tpu: 4", "x.yaml", [("tpu-limits", "google.com/tpu", None)]),
        ("requestGPU: 0.5", "x.yaml", []),
        ("vllm serve m", "x.sh", []),
    ],
)
def test_hints(text: str, path: str, hints: list[tuple[str, str, int | None]]) -> None:
    source = SourceFile.of(text, path)
    found = hints_in_text(source)
    assert [(h.kind, h.value, h.count) for h in found] == hints
    for hint in found:
        assert hint.span.text.startswith(hint.value.split(", ")[0])


def test_only_a_part_is_read() -> None:
    source = SourceFile.of("nvidia.com/gpu: 1\nnvidia.com/gpu: 2\n", "x.yaml")
    assert [h.value for h in hints_in_text(source, source.span(18, 36))] == ["2"]


@pytest.mark.parametrize(
    ("text", "path", "cards", "count", "node"),
    [
        ('instance_type = "g5.12xlarge"', "x.tf", ["NVIDIA A10G"], None, 4),
        ("node.kubernetes.io/instance-type: Standard_NC24ads_A100_v4", "x.yaml", ["NVIDIA A100 80GB PCIe"], None, 1),
        ("karpenter.k8s.aws/instance-family: g6e", "x.yaml", ["NVIDIA L40S"], None, None),
        ("accelerators: {L4: 1, A10G: 1}", "x.yaml", ["NVIDIA L4", "NVIDIA A10G"], 1, None),
        ("gpu: A100:80GB:2", "x.dstack.yml", ["A100 80GB"], 2, None),
        ("gpu: 24GB", "x.dstack.yml", [], None, None),
        ('gpu: "2"', "x.yaml", [], 2, None),
        ("gpu_1x_a100_sxm4", "x.sh", ["NVIDIA A100-SXM4-40GB"], None, 1),
        ("accelerator_type: L4", "x.yaml", ["NVIDIA L4"], None, None),
    ],
)
def test_readings(text: str, path: str, cards: list[str], count: int | None, node: int | None) -> None:
    readings = [r for h in hints_in_text(SourceFile.of(text, path)) if (r := read(h)) is not None]
    assert [[c.name for c in r.cards] for r in readings][:1] == [cards]
    assert (readings[0].count, readings[0].node_count) == (count, node)


def test_the_vocabulary_compiles_and_names_its_tables() -> None:
    for kind in kinds().values():
        if kind.pattern is not None:
            assert re.compile(kind.pattern.pattern)
            assert "value" in kind.pattern.groupindex
        assert kind.says


@given(st.text(alphabet="nvidia.com/gpu:L4A10gresx \n-\"'{}[]key values#", max_size=200))
def test_any_text(text: str) -> None:
    for hint in hints_in_text(SourceFile.of(text, "x.yaml")):
        read(hint)
