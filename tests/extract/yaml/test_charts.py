from __future__ import annotations

import pytest

from tests.extract.yaml.helpers import launches, one, settings, words


def test_production_stack() -> None:
    text = """
servingEngineSpec:
  vllmApiKey: "secret"
  modelSpec:
  - name: "llama"
    repository: "vllm/vllm-openai"
    tag: "v0.10.1"
    modelURL: "meta-llama/Llama-3.1-8B-Instruct"
    requestGPU: 2
    replicaCount: 3
    shmSize: 20Gi
    env: [{name: VLLM_USE_V1, value: "1"}]
    vllmConfig:
      enablePrefixCaching: true
      maxModelLen: 4096
      extraArgs: ["--disable-log-requests", "--gpu-memory-utilization", "0.9"]
  - name: "bare"
    modelURL: "org/bare"
"""
    first, second = launches(text, "values.yaml")
    assert settings(first) == {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "enable-prefix-caching": True,
        "max-model-len": 4096,
        "api-key": "secret",
    }
    assert words(first) == ["--disable-log-requests", "--gpu-memory-utilization", "0.9"]
    assert first.command.text == "vllmConfig"
    assert first.wrapper == "production-stack"
    assert first.image is not None
    assert first.image.reference == "vllm/vllm-openai:v0.10.1"
    deployment = first.deployment
    assert deployment is not None
    assert (deployment.replicas, [g.count for g in deployment.gpus]) == (3, [2])
    assert deployment.shm_size is not None
    assert settings(second)["model"] == "org/bare"


def test_kubeai_catalogue_and_model() -> None:
    text = """
catalog:
  small:
    engine: VLLM
    url: hf://org/small
    args: [--max-model-len=4096]
    resourceProfile: nvidia-gpu-l4:2
  other:
    engine: OLlama
    url: ollama://x
    args: [--max-model-len=4096]
"""
    launch = one(text, "values.yaml")
    assert settings(launch)["model"] == "org/small"
    assert [(h.kind, h.value, h.count) for h in launch.hints] == [("kubeai-profile", "nvidia-gpu-l4", 2)]


def test_kaito_config_map_and_workspace() -> None:
    text = """
kind: ConfigMap
metadata: {name: params}
data:
  inference_config.yaml: |
    max_probe_steps: 6
    vllm:
      max-model-len: 4096
      swap-space: 4
---
kind: Workspace
resource: {instanceType: Standard_NC24ads_A100_v4}
inference: {preset: {name: phi-4}, config: params}
"""
    launch = one(text)
    assert settings(launch) == {"model": "phi-4", "max-model-len": 4096, "swap-space": 4}
    assert launch.command.line == 7
    assert ("kaito-instance", "Standard_NC24ads_A100_v4") in [(h.kind, h.value) for h in launch.hints]


def test_ray_serve_inside_a_block_scalar() -> None:
    text = """
kind: RayService
spec:
  serveConfigV2: |
    applications:
    - import_path: ray.serve.llm:build_openai_app
      args:
        llm_configs:
        - model_loading_config: {model_id: m, model_source: org/m}
          accelerator_type: L40S
          engine_kwargs:
            max_model_len: 8192
            compilation_config: {level: 3}
"""
    launch = one(text)
    assert settings(launch) == {"model": "org/m", "max-model-len": 8192, "compilation-config": {"level": 3}}
    assert launch.wrapper == "ray-serve"
    assert launch.command.text == "engine_kwargs"
    assert ("ray", "L40S") in [(h.kind, h.value) for h in launch.hints]
    value = launch.settings[1].value
    assert value is not None
    assert (value.span.text, value.span.line) == ("8192", 12)


def test_gpu_recipes_server_args() -> None:
    text = "model: {name: org/m, tp_size: 8}\nvllm:\n  serverArgs:\n    max-model-len: 32768\n    gpu-memory-utilization: 0.85\n"
    assert settings(one(text, "values.yaml")) == {
        "model": "org/m",
        "max-model-len": 32768,
        "gpu-memory-utilization": 0.85,
        "tensor-parallel-size": 8,
    }
    assert launches(text.replace("vllm:", "sglang:").replace("gpu-memory", "mem-fraction"), "values.yaml") == []


def test_llm_d_model_service() -> None:
    text = """
modelArtifacts: {name: org/m, uri: "hf://org/m"}
decode:
  containers:
  - name: vllm
    image: ghcr.io/llm-d/llm-d-cuda:v0.2.0
    modelCommand: vllmServe
    args: [--enforce-eager, --max-model-len=4096]
"""
    launch = one(text, "values.yaml")
    assert settings(launch) == {"model": "org/m"}
    assert words(launch) == ["--enforce-eager", "--max-model-len=4096"]


def test_aibrix_map_of_flags() -> None:
    text = 'spec:\n  artifactURL: huggingface://org/m\n  engine: vllm\n  engineConfig:\n    args:\n      --max-model-len: "2048"\n'
    assert settings(one(text)) == {"model": "org/m", "max-model-len": "2048"}


def test_maps_and_lists_of_one_object_are_one_launch() -> None:
    text = "model: org/m\nengine_args:\n  max_model_len: 4096\nextra_args: [--enforce-eager]\n"
    launch = one(text, "job.yaml")
    assert settings(launch)["max-model-len"] == 4096
    assert words(launch) == ["--enforce-eager"]


def test_options_scattered_in_chart_values() -> None:
    text = "image: {repository: vllm/vllm-openai, tag: v0.9.2}\nmodel: {id: org/m}\nmaxModelLen: 512\ntensorParallelSize: 1\nreplicas: 2\n"
    assert settings(one(text, "values.yaml")) == {"model": "org/m", "max-model-len": 512, "tensor-parallel-size": 1}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("max-model-len: 4096\ntensor-parallel-size: 2\n", True),
        ("model: org/m\ngpu_memory_utilization: 0.9\nserved_model_name: [a, b]\n", True),
        ("model: org/m\nport: 8000\n", False),
        ("replicaCount: 1\nmaxModelLen: 4096\nservice: {}\n", False),
        ("gpu_memory_utilization: 0.5\nlearning_rate: 1e-5\nnum_train_epochs: 3\nlora_r: 16\n", False),
        ("max-model-len: 4096\nsub: {}\na: 1\nb: 2\nc: 3\n", False),
    ],
)
def test_configuration_file_by_its_keys_alone(text: str, found: bool) -> None:
    assert [launch.form for launch in launches(text, "serve.yaml")] == (["config"] if found else [])


@pytest.mark.parametrize(
    "text",
    [
        "actor_rollout_ref:\n  rollout:\n    gpu_memory_utilization: 0.5\n    max_num_batched_tokens: 8192\n    enable_chunked_prefill: true\n",
        "features:\n  tools:\n    args: [--enable-auto-tool-choice, --tool-call-parser, hermes]\n",
        "backend: sglang\nserver_args: {max-model-len: 4096, gpu-memory-utilization: 0.9}\n",
        "spec:\n  properties:\n    vllmConfig:\n      max_model_len: {type: integer}\n      gpu_memory_utilization: {type: string}\n",
        "description: run vllm serve org/m --max-model-len 4096\n",
        "suite: x\ntemplates: [a]\ntests:\n- set:\n    servingEngineSpec:\n      modelSpec:\n      - modelURL: org/m\n",
        "kind: CustomResourceDefinition\nspec:\n  vllmConfig: {maxModelLen: 1, gpuMemoryUtilization: 1}\n",
        "allowed_args: [--max-model-len, --gpu-memory-utilization, --enforce-eager]\n",
    ],
)
def test_what_only_looks_like_a_launch(text: str) -> None:
    assert launches(text) == []
