"""Config maps that a kustomization generates, and the containers that use them."""

from __future__ import annotations

from .helpers import one, settings, words

KUSTOMIZATION = """configMapGenerator:
- name: runtime
  envs: [runtime.env]
  literals: [MAX_MODEL_LEN=4096]
- name: scripts
  files: [start.sh=scripts/start.sh, serve.yaml]
"""
POD = """apiVersion: v1
kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai:v0.9.1
    envFrom: [{configMapRef: {name: runtime}}]
    %s
    volumeMounts: [{name: s, mountPath: /scripts}]
  volumes: [{name: s, configMap: {name: scripts}}]
"""
FILES = {
    "kustomization.yaml": KUSTOMIZATION,
    "runtime.env": "MODEL_ID=org/m\n",
    "scripts/start.sh": "exec vllm serve $MODEL_ID --max-model-len $MAX_MODEL_LEN\n",
    "serve.yaml": "model: org/c\nmax-model-len: 2048\n",
}


def test_variables_of_an_env_file_and_literals() -> None:
    launch = one(POD % 'args: ["--model=$(MODEL_ID)", "--max-model-len=$(MAX_MODEL_LEN)"]', files=FILES)
    assert words(launch) == ["--model=org/m", "--max-model-len=4096"]
    assert launch.words[0].unknown is None


def test_a_variable_by_key() -> None:
    item = "env: [{name: M, valueFrom: {configMapKeyRef: {name: runtime, key: MODEL_ID}}}]\n    args: [--model, $(M)]"
    launch = one(POD % item, files=FILES)
    assert words(launch) == ["--model", "org/m"]
    assert launch.words[1].content.source.path == "runtime.env"


def test_a_script() -> None:
    launch = one(POD % "command: [bash, /scripts/start.sh]", files=FILES)
    assert (launch.path, words(launch)) == ("scripts/start.sh", ["org/m", "--max-model-len", "4096"])


def test_a_configuration() -> None:
    launch = one(POD % "command: [vllm, serve, --config, /scripts/serve.yaml]", files=FILES)
    assert settings(launch) == {"model": "org/c", "max-model-len": 2048}


def test_without_a_kustomization_nothing_is_known() -> None:
    launch = one(POD % 'args: ["--model=$(MODEL_ID)", "--max-model-len=1"]')
    assert launch.words[0].unknown is not None
