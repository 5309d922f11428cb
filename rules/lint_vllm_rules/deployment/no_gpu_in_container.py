"""Nothing gives the container a GPU.

Why: a container sees no GPU unless the run command, the compose file or the pod asks for one. vLLM's CUDA image then stops
at device detection, before the model is read.
Instead: `--gpus all` (docker run), `gpus: all` or a device reservation (compose), an `nvidia.com/gpu` limit (Kubernetes).
Wrong when: the host's default container runtime hands out GPUs by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.examples import compose, pod
from lint_vllm.judgement import first_line, is_container, official_image
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Fix, Good, Severity, rule

_ADVICE = {
    "docker-run": "give the container its GPUs: --gpus all",
    "compose": "give the service its GPUs: gpus: all",
    "pod": "ask for a GPU: resources.limits nvidia.com/gpu: 1",
}
_COMPLETED_ELSEWHERE = ("ServingRuntime", "ClusterServingRuntime", "LLMInferenceServiceConfig")
"""Templates whose resources the service that uses them states."""
_OTHER_BUILDS = ("cpu", "rocm", "xpu", "tpu", "arm64-cpu", "hpu", "neuron")


@rule(
    code="DEP004",
    name="no-gpu-in-container",
    severity=Severity.ERROR,
    since="0.1",
    docs=True,
    sources=("vllm-project/vllm#13946",),
    bad=(
        Bad("docker run --rm --ipc=host \\\n  vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n"),
        Bad(compose("Qwen/Qwen3-8B", extra="ipc: host"), name="compose.yaml"),
        Bad(pod("Qwen/Qwen3-8B", gpus=None), name="pod.yaml"),
    ),
    good=(
        Good("docker run --gpus all --ipc=host vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n"),
        Good("docker run $GPU_OPTIONS --ipc=host vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B\n"),
        Good("docker run --ipc=host vllm/vllm-openai-cpu:v0.33.0 Qwen/Qwen3-8B\n"),
        Good(compose("Qwen/Qwen3-8B"), name="compose.yaml"),
    ),
)
def no_gpu_in_container(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    launch = facts.launch
    deployment = launch.deployment
    if deployment is None or not is_container(deployment) or not official_image(facts):
        return
    if not deployment.complete or deployment.gpus or deployment.device_claims is not None:
        return
    if deployment.resource_kind in _COMPLETED_ELSEWHERE:
        return
    if launch.passage == "doc" and deployment.kind != "docker-run":
        return
    if deployment.runtime is not None or launch.hints:
        return
    if any(word.value.split("=")[0] in ("--gpus", "--runtime", "--device") for word in launch.words):
        return  # meant, but on the wrong side of the image: another rule speaks
    tag = (launch.image.tag if launch.image is not None else "") or ""
    if any(part in _OTHER_BUILDS for part in tag.lower().split("-")) or str(args.value("device")) in ("cpu", "tpu", "xpu", "hpu"):
        return
    if any(name in launch.env for name in ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "VLLM_TARGET_DEVICE")):
        return
    if any("not known" in reason or "option" in reason for reason in launch.unresolved) or not args.complete:
        return
    yield Finding(
        first_line(deployment.span),
        "the container gets no GPU: vLLM stops at device detection, before the model is read",
        fixes=(Fix(_ADVICE[deployment.kind]),),
        severity=None if deployment.kind != "pod" or deployment.memory_limit is not None else Severity.WARNING,
    )
