from __future__ import annotations

import pytest

from tests.extract.yaml.helpers import launches, one, words


def test_github_workflow_with_environment() -> None:
    text = """
on: push
env: {MODEL: org/m}
jobs:
  test:
    runs-on: gpu
    env: {LEN: "4096"}
    steps:
    - name: vllm serve is started here
      run: |
        pip install vllm==0.11.0
        vllm serve $MODEL --max-model-len $LEN --port ${{ inputs.port }} &
    - run: pkill -f "vllm serve" || true
"""
    launch = one(text, ".github/workflows/test.yml")
    assert words(launch) == ["org/m", "--max-model-len", "4096", "--port", "${{ inputs.port }}"]
    assert launch.words[-1].unknown is not None
    assert launch.command.line == 12
    assert launch.block.line == 10


@pytest.mark.parametrize(
    "text",
    [
        "job:\n  variables: {MODEL: org/m}\n  script:\n  - pip install vllm\n  - vllm serve $MODEL --port 8000 &\n",
        "type: service\nenv: [MODEL=org/m]\ncommands:\n- |\n  vllm serve $MODEL \\\n    --port 8000\nresources: {gpu: 'H100:2'}\n",
        "envs: {MODEL: org/m}\nresources: {accelerators: 'A100:2'}\nrun: |\n  vllm serve $MODEL --port 8000\n",
        "tasks:\n  serve:\n    vars: {MODEL: org/m}\n    cmds:\n    - cmd: vllm serve $MODEL --port 8000\n",
        "- hosts: gpu\n  tasks:\n  - name: x\n    ansible.builtin.shell: vllm serve org/m --port 8000\n",
        "- name: x\n  community.docker.docker_container:\n    name: x\n    image: vllm/vllm-openai\n    command: org/m --port 8000\n",
        "runs:\n  using: composite\n  steps:\n  - shell: bash\n    run: vllm serve org/m --port 8000\n",
        "steps:\n- label: x\n  commands:\n  - export MODEL=org/m\n  - vllm serve $MODEL --port 8000\n",
    ],
)
def test_task_files(text: str) -> None:
    assert words(one(text, "task.yml")) == ["org/m", "--port", "8000"]


def test_devices_of_a_task() -> None:
    text = "resources: {accelerators: {H100: 8}}\nnum_nodes: 2\nrun: vllm serve org/m\n"
    launch = one(text, "sky.yaml")
    assert [(h.kind, h.value) for h in launch.hints] == [("skypilot-task", "H100")]
    deployment = launch.deployment
    assert deployment is not None
    assert [(g.resource, g.count, g.nodes) for g in deployment.gpus] == [("accelerators", 8, 2)]
    assert deployment.multi_node


@pytest.mark.parametrize(
    "script",
    [
        'echo "vllm serve org/m"',
        "grep vllm x.log",
        "vllm --version",
        "vllm serve --help",
        "docker pull vllm/vllm-openai",
        "pip install vllm",
    ],
)
def test_scripts_that_start_nothing(script: str) -> None:
    assert launches(f"jobs:\n  a:\n    steps:\n    - run: |\n        {script}\n") == []


def test_fences_in_a_guide() -> None:
    text = "guide: |\n  # How\n\n  ```bash\n  vllm serve org/m\n  ```\n"
    assert one(text).passage == "doc"


def test_environment_by_expression() -> None:
    text = "env: {MODEL: org/m}\njobs:\n  a:\n    steps:\n    - run: vllm serve ${{ env.MODEL }} --seed ${{ env.NO }}\n"
    launch = one(text)
    assert words(launch) == ["org/m", "--seed", "${{ env.NO }}"]
    assert launch.words[0].span.text == "${{ env.MODEL }}"
