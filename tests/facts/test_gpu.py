from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from lint_vllm.facts.comments import comment_facts
from lint_vllm.facts.gpu import resolve_gpu
from lint_vllm.known import Known, Unknown
from lint_vllm.launch import Deployment, EnvVar, GpuRequest, Hint, Launch, Word, literal_word
from lint_vllm.settings import Stated
from lint_vllm.source import Text

from .conftest import make_launch

NOTHING = Stated()


def gpu(launch: Launch, options: Stated = NOTHING, settings: Stated = NOTHING) -> tuple[str, str, int | None]:
    card, count = resolve_gpu(launch, options, comment_facts(launch), settings)
    shown = card.value.name if isinstance(card, Known) else ""
    return shown, card.origin if isinstance(card, Known) else card.reason, count.value if isinstance(count, Known) else None


def request(launch: Launch, resource: str, count: int | None, **extra: Any) -> GpuRequest:
    return GpuRequest(resource, launch.block, launch.block, count, **extra)


POD = "spec:\n  nodeSelector:\n    cloud.google.com/gke-accelerator: nvidia-l4\n  args: [vllm serve]\n"


@pytest.mark.parametrize(
    ("text", "path", "extra", "card", "count"),
    [
        ("vllm serve m", "run.sh", {}, "", None),
        ("vllm serve m", "run.sh", {"options": Stated(gpu="L4", gpu_count=2)}, "NVIDIA L4", 2),
        ("# lint-vllm: gpu=T4 gpu-count=4\nvllm serve m", "run.sh", {"settings": Stated(gpu="L4")}, "Tesla T4", 4),
        (POD, "x.yaml", {}, "NVIDIA L4", None),
        (POD, "x.yaml", {"settings": Stated(gpu="T4", gpu_count=2)}, "NVIDIA L4", 2),
        (POD, "x.yaml", {"options": Stated(gpu="T4")}, "Tesla T4", None),
        ("#SBATCH --gres=gpu:h100:8\nsrun vllm serve m", "x.sbatch", {}, "H100", 8),
        ("resources:\n  accelerators: A100-80GB:2\nrun: vllm serve m\n", "x.yaml", {}, "NVIDIA A100-SXM4-80GB", 2),
        ("# one H100 80 GB\nvllm serve m", "run.sh", {}, "H100", None),
        ("# 2x RTX 3090\nvllm serve m", "run.sh", {}, "NVIDIA GeForce RTX 3090", 2),
        ("# 2x RTX 3090\nvllm serve m", "run.sh", {"settings": Stated(gpu="L4")}, "NVIDIA L4", 2),
        ("# RTX 3090 or RTX 4090\nvllm serve m", "run.sh", {}, "", None),
        ("# on an A100 you may raise this\nvllm serve m", "run.sh", {}, "", None),
        ("# tuned for L4\n# tuned for T4\nvllm serve m", "run.sh", {}, "", None),
        ("vllm serve m --x A100", "run.sh", {}, "", None),
    ],
)
def test_precedence(text: str, path: str, extra: dict[str, Stated], card: str, count: int | None) -> None:
    found = gpu(make_launch(text, path), **extra)
    assert found[0].startswith(card) if card else found[0] == ""
    assert found[2] == count


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a: {accelerator_type: L4}\nb: {accelerator_type: T4}\nvllm serve", "several GPUs"),
        ("google.com/tpu: 4\nvllm serve", "not modelled"),
        ("habana.ai/gaudi: 1\nvllm serve", "not modelled"),
        ("amd.com/gpu: 1\nvllm serve", "AMD GPU"),
        ("nvidia.com/mig-9g.999gb: 1\nvllm serve", "MIG slice"),
        ("# lint-vllm: gpu=Nonsense9000\nvllm serve", "not in the table"),
    ],
)
def test_doubt_has_a_reason(text: str, reason: str) -> None:
    card, why, _ = gpu(make_launch(text, "x.yaml"))
    assert card == ""
    assert reason in why


def test_the_nearest_hint_wins() -> None:
    text = "a:\n  accelerator_type: L4\n  run: other\nb:\n  accelerator_type: T4\n  run: vllm serve\n"
    launch = make_launch(text, "x.yaml")
    block = launch.source.span(text.index("b:"), len(text))
    assert gpu(make_launch(text, "x.yaml", block=block))[0] == "Tesla T4"


def test_documents_are_apart() -> None:
    text = "accelerator_type: L4\n---\naccelerator_type: T4\nrun: vllm serve\n"
    assert gpu(make_launch(text, "x.yaml"))[0] == "Tesla T4"


def test_mig_slice_of_its_parent() -> None:
    text = "nvidia.com/gpu.product: NVIDIA-A100-SXM4-80GB\nnvidia.com/mig-3g.40gb: 1\nvllm serve"
    name, _, count = gpu(make_launch(text, "x.yaml"))
    assert name == "NVIDIA A100-SXM4-80GB MIG 3g.40gb"
    assert count == 1


def test_memory_narrows_and_overrides() -> None:
    text = 'karpenter.k8s.aws/instance-gpu-name: a100\nkarpenter.k8s.aws/instance-gpu-memory: "81920"\nvllm serve'
    assert gpu(make_launch(text, "x.yaml"))[0] == "NVIDIA A100-SXM4-80GB"
    card, _ = resolve_gpu(make_launch("vllm serve"), Stated(gpu="L4", gpu_memory_gib=20), comment_facts(make_launch("")), Stated())
    assert isinstance(card, Known)
    assert card.value.total.likely == 20 * 2**30
    alone, _ = resolve_gpu(make_launch("vllm serve"), Stated(gpu_memory_gib=20), comment_facts(make_launch("")), Stated())
    assert isinstance(alone, Known)
    assert alone.value.capability is None


def test_counts_of_the_deployment() -> None:
    base = make_launch("vllm serve m --gpus")

    def counted(*requests: GpuRequest, **env: str) -> int | None:
        variables = {n: EnvVar(literal_word(n), Word(Text.literal(v), base.block), base.block) for n, v in env.items()}
        return gpu(make_launch("vllm serve m", deployment=Deployment("compose", base.block, gpus=requests), env=variables))[2]

    assert counted(request(base, "nvidia.com/gpu", 4)) == 4
    assert counted(request(base, "--gpus", None)) is None
    assert counted(request(base, "devices", None, device_ids=("0", "1"))) == 2
    assert counted(request(base, "--gpus", 8), CUDA_VISIBLE_DEVICES="0,1") == 2
    assert counted(CUDA_VISIBLE_DEVICES="0,1,2") == 3
    assert counted(CUDA_VISIBLE_DEVICES="$IDS") is None
    assert counted(NVIDIA_VISIBLE_DEVICES="all") is None


@pytest.mark.parametrize("image", ["vllm/vllm-openai-cpu:v0.19.0", "quay.io/ascend/vllm-ascend:v0.9.1", "vllm/vllm-tpu:latest"])
def test_images_for_other_devices(image: str) -> None:
    card, why, _ = gpu(make_launch(f"docker run {image} m", image=image), settings=Stated(gpu="L4"))
    assert card == ""
    assert "not modelled" in why


def test_prose_outside_comments_of_documents_does_not_count() -> None:
    card, _ = resolve_gpu(make_launch("# one L4\nvllm serve m", passage="doc"), Stated(), comment_facts(make_launch("")), Stated())
    assert isinstance(card, Unknown)


def test_choices_of_one_selector_are_an_interval() -> None:
    launch = make_launch("vllm serve m")
    hints = tuple(Hint("k8s-gfd-product", name, launch.command) for name in ("NVIDIA-H200", "NVIDIA-H100-80GB-HBM3"))
    card, _ = resolve_gpu(replace(launch, hints=hints), Stated(), comment_facts(launch), Stated())
    assert isinstance(card, Known)
    assert card.value.name == "NVIDIA H100 80GB HBM3 or NVIDIA H200"
    assert card.value.members == ("NVIDIA H200", "NVIDIA H100 80GB HBM3")
    assert card.value.total.low < 80 * 2**30 < 139 * 2**30 < card.value.total.high


def test_a_second_hint_settles_the_choice() -> None:
    launch = make_launch("vllm serve m")
    hints = tuple(Hint("k8s-gfd-product", name, launch.command) for name in ("NVIDIA-H200", "NVIDIA-L4"))
    assert gpu(replace(launch, hints=(*hints, Hint("gke-accelerator", "nvidia-l4", launch.command))))[0] == "NVIDIA L4"
