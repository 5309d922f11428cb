from __future__ import annotations

import pytest

from tests.extract.yaml.helpers import launches, one, words

POD = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: llm}
spec:
  replicas: 3
  template:
    spec:
      containers:
      - name: server
        image: vllm/vllm-openai:v0.11.0
%s
"""


def pod(container: str) -> str:
    return POD % "\n".join("        " + line for line in container.strip("\n").splitlines())


def test_args_for_the_entry_point() -> None:
    launch = one(pod('args: ["--model", "org/m", "--max-model-len=4096"]'))
    assert words(launch) == ["--model", "org/m", "--max-model-len=4096"]
    assert launch.form == "image"
    assert launch.site == "Deployment/llm containers[0]"
    assert launch.command.text == "args"


@pytest.mark.parametrize(
    ("container", "line"),
    [
        ("command:\n- vllm\n- serve\n- org/m\nargs: [--enforce-eager]", 12),
        ("args: [--enforce-eager]\ncommand: [vllm, serve, org/m]", 12),
        ('command: ["sh", "-c"]\nargs:\n- |\n  set -e\n  exec vllm serve org/m --enforce-eager', 16),
        ('command: ["/bin/bash", "-c", "vllm serve org/m \\\n  --enforce-eager"]', 12),
    ],
)
def test_commands_and_scripts(container: str, line: int) -> None:
    launch = one(pod(container))
    assert words(launch)[-2:] == ["org/m", "--enforce-eager"]
    assert launch.command.line == line
    assert launch.block.line == 12


def test_variables_are_expanded_from_the_environment() -> None:
    text = pod(
        """
args: [--model=$(MODEL), --api-key, $(KEY), --port, $(PORT), --seed, $(NOWHERE)]
env:
- {name: ORG, value: acme}
- {name: MODEL, value: $(ORG)/m}
- {name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}
- {name: PORT, value: "8000"}
"""
    )
    launch = one(text)
    assert words(launch) == ["--model=acme/m", "--api-key", "$(KEY)", "--port", "8000", "--seed", "$(NOWHERE)"]
    unknown = {w.value: w.unknown for w in launch.words if w.unknown}
    assert unknown == {"$(KEY)": "KEY comes from a secret", "$(NOWHERE)": "NOWHERE is not set in this file"}
    port = launch.words[4]
    assert port.span.text == "$(PORT)"
    assert port.defined is not None
    assert port.editable is not None
    assert port.editable.text == "8000"
    assert launch.env["KEY"].source == "secret"


def test_config_map_gives_variables_and_scripts() -> None:
    text = (
        pod(
            """
command: [bash, /scripts/run.sh]
envFrom: [{configMapRef: {name: settings}}]
volumeMounts: [{name: scripts, mountPath: /scripts}]
"""
        )
        + """
      volumes: [{name: scripts, configMap: {name: scripts}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: scripts}
data:
  run.sh: |
    exec vllm serve $MODEL
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {MODEL: org/m}
"""
    )
    launch = one(text)
    assert words(launch) == ["org/m"]
    assert launch.image is not None
    assert launch.deployment is not None
    assert launch.deployment.kind == "pod"


def test_everything_around_the_container() -> None:
    text = """
apiVersion: v1
kind: Service
metadata: {name: vllm}
spec: {ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: llm}
spec:
  replicas: 2
  volumeClaimTemplates: [{metadata: {name: claim}}]
  template:
    spec:
      enableServiceLinks: false
      hostNetwork: true
      runtimeClassName: nvidia
      nodeSelector: {cloud.google.com/gke-accelerator: nvidia-l4}
      affinity:
        nodeAffinity:
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions:
              - {key: nvidia.com/gpu.product, operator: In, values: [NVIDIA-L4, NVIDIA-L40S]}
      securityContext: {runAsUser: 1000}
      volumes:
      - {name: shm, emptyDir: {medium: Memory, sizeLimit: 2Gi}}
      - {name: cache, emptyDir: {}}
      - {name: host, hostPath: {path: /data}}
      containers:
      - name: server
        image: vllm/vllm-openai:v0.11.0
        args: [--model, org/m]
        env: [{name: CUDA_VISIBLE_DEVICES, value: "0,1"}]
        resources:
          limits: {nvidia.com/gpu: "2", memory: 16Gi, ephemeral-storage: 10G}
          requests: {nvidia.com/gpu: 2, memory: 8Gi}
        ports: [{containerPort: 8000, hostPort: 80}]
        startupProbe: {httpGet: {path: /health, port: 8000}, failureThreshold: 60, periodSeconds: 5}
        livenessProbe: {httpGet: {path: /health, port: 8000}}
        volumeMounts:
        - {name: shm, mountPath: /dev/shm}
        - {name: cache, mountPath: /root/.cache}
        - {name: host, mountPath: /data, readOnly: true}
        - {name: claim, mountPath: /models}
        securityContext: {readOnlyRootFilesystem: true}
      - {name: sidecar, image: busybox}
"""
    launch = one(text)
    d = launch.deployment
    assert d is not None
    assert (d.resource_kind, d.replicas, d.container_count) == ("StatefulSet", 2, 2)
    assert [(g.resource, g.count) for g in d.gpus] == [("nvidia.com/gpu", 2), ("CUDA_VISIBLE_DEVICES", 2)]
    assert [(h.kind, h.value) for h in launch.hints] == [
        ("gke-accelerator", "nvidia-l4"),
        ("k8s-gfd-product", "NVIDIA-L4"),
        ("k8s-gfd-product", "NVIDIA-L40S"),
    ]
    assert [(m.target, m.kind, m.size_bytes, m.read_only) for m in d.mounts] == [
        ("/dev/shm", "memory", 2 * 2**30, False),
        ("/root/.cache", "emptyDir", None, False),
        ("/data", "hostPath", None, True),
        ("/models", "pvc", None, False),
    ]
    assert [(p.kind, p.period, p.failure_threshold, p.path) for p in d.probes] == [
        ("startup", 5, 60, "/health"),
        ("liveness", 10, 3, "/health"),
    ]
    assert d.memory_limit is not None
    assert d.memory_limit.bytes == 16 * 2**30
    assert d.ephemeral_storage is not None
    assert d.ephemeral_storage.bytes == 10**10
    assert d.run_as_user is not None
    assert d.run_as_user.value == "1000"
    assert d.read_only_root is not None
    assert d.host_network is not None
    assert d.service_links is not None
    assert [s.value for s in d.services] == ["vllm"]
    assert d.runtime is not None
    assert [(p.container, p.host) for p in d.ports] == [(8000, 80)]
    assert d.edit_points["pod_spec"].start == d.edit_points["pod_spec"].end
    assert d.edit_points["volumeMounts"].text == "{name: claim, mountPath: /models}"


@pytest.mark.parametrize(
    "text",
    [
        "kind: InferenceService\nmetadata: {name: x}\nspec:\n  predictor:\n    model:\n      modelFormat: {name: vLLM}\n      image: vllm/vllm-openai\n      args: [--model, org/m]\n",
        "kind: ServingRuntime\nmetadata: {name: x}\nspec:\n  containers:\n  - image: quay.io/modh/vllm:1\n    command: [python, -m, vllm.entrypoints.openai.api_server]\n    args: [--model, org/m]\n",
        "kind: LeaderWorkerSet\nmetadata: {name: x}\nspec:\n  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate:\n      spec:\n        containers:\n        - image: vllm/vllm-openai\n          args: [--model, org/m]\n",
        "kind: CronJob\nspec:\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          initContainers:\n          - image: vllm/vllm-openai\n            args: [--model, org/m]\n",
        "kind: DynamoGraphDeployment\nspec:\n  services:\n    Worker:\n      extraPodSpec:\n        mainContainer:\n          image: vllm/vllm-openai\n          args: [--model, org/m]\n",
        "kind: List\nitems:\n- kind: Pod\n  spec:\n    containers:\n    - image: vllm/vllm-openai\n      args: [--model, org/m]\n",
        "kind: Deployment\nmetadata: {name: vllm-llm}\nspec:\n  template:\n    spec:\n      containers:\n      - name: patched\n        args: [--model, org/m, --max-model-len=2048]\n",
    ],
)
def test_pods_of_every_kind(text: str) -> None:
    assert words(one(text))[:2] == ["--model", "org/m"]


def test_cooperating_nodes() -> None:
    text = "kind: LeaderWorkerSet\nspec:\n  leaderWorkerTemplate:\n    size: 2\n    leaderTemplate:\n      spec:\n        containers:\n        - image: vllm/vllm-openai\n          args: [--model, org/m]\n"
    deployment = one(text).deployment
    assert deployment is not None
    assert (deployment.multi_node, deployment.nodes) == (True, 2)


def test_arguments_in_a_variable() -> None:
    text = """
kind: LLMInferenceService
spec:
  model: {uri: "pvc://claim", name: org/m}
  template:
    containers:
    - name: main
      env:
      - name: VLLM_ADDITIONAL_ARGS
        value: "--max_model_len=4096 --kv-transfer-config '{\\"kv_role\\":\\"kv_both\\"}'"
"""
    launch = one(text)
    assert launch.form == "env"
    assert words(launch) == ["--max_model_len=4096", "--kv-transfer-config", '{"kv_role":"kv_both"}']
    assert launch.settings[0].value is not None
    assert launch.settings[0].value.value == "org/m"


@pytest.mark.parametrize(
    "container",
    [
        "",
        "command: [sleep, infinity]",
        'command: ["sh", "-c", "until curl -s http://vllm:8000/health; do sleep 1; done"]',
        'command: ["bash", "-c", "pkill -f \\"vllm serve\\""]',
        "lifecycle: {preStop: {exec: {command: [sh, -c, 'curl localhost:8000/metrics | grep vllm']}}}",
    ],
)
def test_containers_that_start_nothing(container: str) -> None:
    assert launches(pod(container)) == []


def test_router_beside_a_server_is_no_launch() -> None:
    text = "spec:\n  containers:\n  - image: ghcr.io/llm-d/llm-d-routing-sidecar:v0.2.0\n    args: [--port=8000, --vllm-port=8200, --connector=nixlv2]\n"
    assert launches(text) == []


def test_template_conditions_and_chart_values() -> None:
    text = """
kind: Deployment
metadata: {name: "{{ .Release.Name }}"}
spec:
  template:
    spec:
      containers:
      - image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
        args:
        - --model
        - {{ .Values.model | quote }}
        {{- if .Values.eager }}
        - --enforce-eager
        {{- end }}
        - --served-model-name={{ include "name" . }}
        {{- toYaml .Values.extraArgs | nindent 8 }}
"""
    values = "model: org/m\nimage: {repository: vllm/vllm-openai, tag: v0.10.2}\n"
    launch = one(text, "chart/templates/deployment.yaml", {"../values.yaml": values})
    assert [(w.value, w.unknown is not None, w.conditional) for w in launch.words] == [
        ("--model", False, False),
        ("org/m", False, False),
        ("--enforce-eager", False, True),
        ('--served-model-name={{ include "name" . }}', True, False),
    ]
    assert launch.unresolved == ("template expression {{- toYaml .Values.extraArgs | nindent 8 }}",)
    assert launch.image is not None
    assert launch.image.tag == "v0.10.2"
    assert launch.words[1].content.source.path == "../values.yaml"


def test_task_definition_of_a_cloud() -> None:
    text = """
Resources:
  Task:
    Properties:
      ContainerDefinitions:
      - Name: llm
        Image: vllm/vllm-openai:v0.11.0
        Command: [--model, org/m]
        ResourceRequirements: [{Type: GPU, Value: "1"}]
"""
    launch = one(text, "stack.yaml")
    assert words(launch) == ["--model", "org/m"]
    assert launch.deployment is not None
    assert [g.count for g in launch.deployment.gpus] == [1]


def test_what_a_patch_or_a_broken_file_leaves_out_proves_nothing() -> None:
    patch = "kind: Deployment\nmetadata: {name: vllm}\nspec:\n  template:\n    spec:\n      containers:\n      - {name: a, args: [--model, m, --max-model-len=1]}\n"
    deployment = one(patch).deployment
    assert deployment is not None
    assert not deployment.complete
    broken = one("services:\n  a:\n    image: vllm/vllm-openai\n    command: --model m\n    gpus: [\n").deployment
    assert broken is not None
    assert not broken.complete
    whole = one(pod("args: [--model, org/m]")).deployment
    assert whole is not None
    assert whole.complete
    inserted = one(pod("args: [--model, org/m]\nresources:\n  {{- toYaml .Values.resources | nindent 10 }}")).deployment
    assert inserted is not None
    assert not inserted.complete


def test_helper_template_is_read_and_not_called_unreadable() -> None:
    text = '{{/* helpers */}}\n{{- define "container" -}}\nimage: vllm/vllm-openai\nargs:\n- --model={{ .m }}\n{{- end -}}\n{{- define "b" }}\nx: [\n{{ end }}\n'
    from lint_vllm.extract import extract
    from lint_vllm.source import SourceFile

    found = extract(SourceFile.of(text, "templates/_helpers.tpl"))
    assert [words(launch) for launch in found.launches] == [["--model={{ .m }}"]]
    assert found.problems == ()
