"""Kinds of public files about which a rule once said something wrong: each stays silent now, and its neighbour that is wrong is
still found."""

from __future__ import annotations

from pathlib import Path

import pytest

from lint_vllm.api import find_launches, lint
from lint_vllm.diagnostic import Severity

SILENT = {
    "an ellipsis stands for more arguments": (
        "ARG015",
        "guide.md",
        "```bash\nvllm serve org/model \\\n    --kv-cache-dtype fp8 \\\n    ...\n```\n",
    ),
    "an ellipsis in a composed command": (
        "ARG015",
        "guide.md",
        '```yaml\ncommand:\n  - "exec vllm serve --model /models/m\n     --max-num-seqs 4\n     ..."\n```\n',
    ),
    "a placeholder in backticks": ("ARG015", "guide.md", "```bash\nvllm serve org/m \\\n  --port `<port>` \\\n  --seed 1\n```\n"),
    "a placeholder that begins with an ellipsis": (
        "ARG015",
        "guide.md",
        "```bash\nvllm serve org/m \\\n  --seed 1 \\\n  <...further vllm flags of the guide...>\n```\n",
    ),
    "arguments that a runtime completes": (
        "ARG004",
        "service.yaml",
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nspec:\n  predictor:\n    model:\n      runtime: huggingfaceserver\n"
        "      storageUri: pvc://models/llama\n      args: [--gpu-memory-utilization=0.9, --max-model-len=1024, --tensor-parallel-size=1]\n"
        "      resources: {limits: {nvidia.com/gpu: 1}}\n",
    ),
    "words that say what may follow": (
        "ARG015",
        "guide.md",
        "```bash\nvllm serve org/model --dtype bfloat16 \\\n    other server arguments\n```\n",
    ),
    "a line of a log": (
        "ARG030",
        "guide.md",
        '```bash\n[2025-12-30 11:01:01] INFO run.py:107: command: vllm serve org/m --kv-transfer-config {"a": "b"}\n```\n',
    ),
    "a record of a measurement": (
        "ARG015",
        "summary.json",
        '{"stack": {"image": "vllm/vllm-openai:v0.19.0", "model": "org/m", "kv_cache_dtype": "fp8", "max_model_len": 4096,'
        ' "gpu_memory_utilization": "0.88 (mtp4) / 0.90 (no-spec, mtp1)"}}\n',
    ),
    "a folded command that its reader divides into words": (
        "ARG041",
        "config.yaml",
        "deployment:\n  - server_cmd: >\n      vllm serve org/model\n          --max-num-seqs 4\n          --max-model-len 4096\n",
    ),
    "a line before that is filled in elsewhere": (
        "ARG041",
        "render.py",
        "def render(cfg, extra):\n    lines = ['vllm serve ' + cfg.model + ' \\\\']\n    lines.append(extra.rstrip())\n"
        "    lines.append('  --max-num-seqs 4 \\\\')\n    return '\\n'.join(lines)\n",
    ),
    "variables that a command elsewhere reads": (
        "MDL001",
        "runtime.env",
        "GPU_MEMORY_UTILIZATION=0.95\nMAX_MODEL_LEN=131072\nMODEL_ID=Qwen/Qwen3-32B\nTENSOR_PARALLEL_SIZE=1\n",
    ),
    "a plug-in that reads the command line": (
        "ARG001",
        "run.sh",
        "docker run --gpus all vllm/vllm-omni:v0.16.0 vllm serve org/image --omni --vae-use-tiling\n",
    ),
    "ranks on a Ray cluster": (
        "DEP001",
        "service.yaml",
        "apiVersion: ray.io/v1\nkind: RayService\nspec:\n  serveConfigV2: |\n    applications:\n    - args:\n        llm_configs:\n"
        "          - model_loading_config: {model_id: r1, model_source: deepseek-ai/DeepSeek-R1}\n"
        "            engine_kwargs: {tensor_parallel_size: 8, pipeline_parallel_size: 2}\n"
        "  rayClusterConfig:\n    workerGroupSpecs:\n    - replicas: 2\n      template:\n        spec:\n          containers:\n"
        "          - name: worker\n            image: rayproject/ray-llm:2.52.0\n            resources: {limits: {nvidia.com/gpu: 8}}\n",
    ),
    "devices with two cores each": (
        "DEP001",
        "serving.py",
        'env = {"OPTION_MODEL_ID": "org/m", "OPTION_ROLLING_BATCH": "vllm", "OPTION_TENSOR_PARALLEL_DEGREE": "2"}\n'
        'instance = "ml.inf2.8xlarge"\n',
    ),
    "a chart that runs on several nodes": (
        "DEP001",
        "values.yaml",
        "servingEngineSpec:\n  modelSpec:\n  - name: m\n    repository: vllm/vllm-openai\n    tag: v0.19.0\n    modelURL: org/m\n    requestGPU: 1\n"
        "    vllmConfig: {pipelineParallelSize: 2}\n    raySpec: {enabled: true}\n",
    ),
    "a chart that puts the model in front": (
        "ARG006",
        "values.yaml",
        "servingEngineSpec:\n  modelSpec:\n  - name: m\n    repository: vllm/vllm-openai\n    tag: v0.19.0\n    modelURL: Qwen/Qwen3-8B\n"
        '    vllmConfig: {extraArgs: ["--served-model-name", "Qwen/Qwen3-8B", "qwen3"]}\n',
    ),
    "an operator that mounts shared memory": (
        "DEP010",
        "graph.yaml",
        "apiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nspec:\n  services:\n    Worker:\n      extraPodSpec:\n        mainContainer:\n"
        "          image: nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0\n          command: [python3, -m, dynamo.vllm]\n"
        '          args: ["--model", "Qwen/Qwen3-32B", "--tensor-parallel-size", "2"]\n',
    ),
    "a template whose reader types the values": (
        "DEP060",
        "vllm.tftpl",
        "apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: m\n    image: vllm/vllm-openai:v0.19.0\n    args: [org/m]\n"
        "    env:\n    - name: VLLM_LOGGING_LEVEL\n      value: 80\n",
    ),
    "a class of another library": (
        "ARG023",
        "run.py",
        "from verl.third_party.vllm import LLM\n\nllm = LLM(model=None, model_hf_config=c)\n",
    ),
    "types as LMI names them": (
        "ARG015",
        "deploy.py",
        'env = {"OPTION_MODEL_ID": "org/m", "OPTION_ROLLING_BATCH": "vllm", "OPTION_DTYPE": "fp16"}\n',
    ),
    "options of another engine beside": (
        "ARG014",
        "models.yaml",
        "models:\n  m:\n    model: org/m\n    vllm_args: {--tensor-parallel-size: 8, --pipeline-parallel-size: 2}\n"
        "    sglang_args: {--tensor-parallel-size: 8, --pipeline-parallel-size: 2}\n",
    ),
    "options of a benchmark": (
        "ARG001",
        "latency-tests.json",
        '[{"test_name": "latency_tp2", "environment_variables": {"VLLM_CPU_KVCACHE_SPACE": 40}, "parameters": {"model": "org/m", "tensor_parallel_size": 2, "max_num_seqs": 4,'
        ' "max_num_batched_tokens": 2048, "num_iters": 15}}]\n',
    ),
    "flags of a build of one's own": (
        "ARG001",
        "run.sh",
        "vllm serve org/m --enable-tiered-moe --tiered-moe-backend uva --tiered-moe-numa-strict\n",
    ),
    "keys of the program that holds the options": (
        "ARG001",
        "recipe.yaml",
        "deployment:\n  model: {id: org/m}\n  vllm: {tensor_parallel_size: 1, max_model_len: 4096, extra_env: {A: b}}\n",
    ),
    "a requirement beside a chart": (
        "ARG021",
        "templates.yaml",
        "kind: Deployment\napiVersion: apps/v1\nspec:\n  template:\n    spec:\n      containers:\n"
        "      - image: '{{ .Values.repository }}:{{ .Values.tag }}'\n        command: [vllm, serve, org/m]\n"
        "        env: [{name: VLLM_USE_V1, value: '1'}]\n",
    ),
    "a model that the controller stores": (
        "DEP070",
        "service.yaml",
        "apiVersion: serving.kserve.io/v1alpha1\nkind: LLMInferenceService\nspec:\n  model: {uri: hf://Qwen/Qwen3-0.6B}\n  template:\n    containers:\n"
        "    - name: main\n      image: vllm/vllm-openai:v0.19.0\n      command: [vllm, serve, /mnt/models]\n",
    ),
}
"""What it is -> (the code that was wrong, file name, text)."""


def codes(tmp_path: Path, name: str, text: str) -> set[str]:
    (tmp_path / ".git").mkdir()
    (tmp_path / "requirements-test.txt").write_text(
        "vllm==0.13.0\n" if "chart" in name or "templates" in name else "", encoding="utf-8"
    )
    (tmp_path / name).write_text(text, encoding="utf-8")
    run = lint([tmp_path / name], isolated=True)
    return {d.code for d in run.shown if d.severity is not Severity.INFO}


@pytest.mark.parametrize("kind", SILENT)
def test_silent(kind: str, tmp_path: Path) -> None:
    code, name, text = SILENT[kind]
    assert code not in codes(tmp_path, name, text)


@pytest.mark.parametrize(
    ("code", "name", "text"),
    [
        ("ARG041", "job.yaml", "- run: |\n    vllm serve org/model\n      --max-num-seqs 4\n"),
        ("ARG015", "run.sh", "vllm serve org/model stray\n"),
        ("ARG001", "run.sh", "vllm serve org/model --vae-use-tiling\n"),
    ],
)
def test_found(code: str, name: str, text: str, tmp_path: Path) -> None:
    assert code in codes(tmp_path, name, text)


def test_a_pin_behind_an_image_without_vllm_holds(tmp_path: Path) -> None:
    file = tmp_path / "build.sh"
    file.write_text(
        "cat > Dockerfile <<'EOF'\nFROM pytorch/pytorch:2.3.0-cuda12.1-cudnn8-runtime\nRUN pip install vllm==0.9.1\n"
        'CMD ["vllm", "serve", "Qwen/Qwen3-8B"]\nEOF\n',
        encoding="utf-8",
    )
    (case,) = find_launches([file], isolated=True)
    assert case.facts.release.version == "0.9.1"


@pytest.mark.parametrize(
    ("name", "text", "severity"),
    [
        ("run.sh", "vllm serve org/m --swap-space 4\n", Severity.WARNING),
        ("run.sh", "docker run --gpus all lmcache/vllm-openai:2025-03-10 org/m --swap-space 4\n", Severity.INFO),
        ("run.sh", "docker run --gpus all vllm/vllm-openai:latest org/m --swap-space 4\n", Severity.WARNING),
        ("run.sh", "docker run --gpus all vllm/vllm-openai:v0.19.0 org/m --swap-space 4\n", Severity.ERROR),
    ],
)
def test_the_release_decides_how_loud(name: str, text: str, severity: Severity, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    found = [d for d in lint([tmp_path / name], isolated=True).shown if d.code == "ARG020"]
    assert [d.severity for d in found] == [severity]


def test_the_tree_of_vllm_is_a_release_of_its_own(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "vllm" / "engine").mkdir(parents=True)
    (tmp_path / "vllm" / "engine" / "arg_utils.py").write_text("", encoding="utf-8")
    (tmp_path / "run.sh").write_text("vllm serve org/m --swap-space 4\n", encoding="utf-8")
    found = [d for d in lint([tmp_path / "run.sh"], isolated=True).shown if d.code == "ARG020"]
    assert [d.severity for d in found] == [Severity.INFO]
