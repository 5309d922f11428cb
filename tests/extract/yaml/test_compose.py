from __future__ import annotations

import textwrap

import pytest

from lint_vllm.extract.compose import duration, env_file_values
from lint_vllm.source import SourceFile
from tests.extract.yaml.helpers import launches, one, words

SERVICE = """
services:
  llm:
    image: vllm/vllm-openai:v0.11.0
    command: {command}
"""


@pytest.mark.parametrize(
    "command",
    [
        '["--model", "org/m", "--max-model-len", "4096"]',
        "--model org/m --max-model-len 4096",
        '"--model org/m --max-model-len ${LEN:-4096}"',
        ">\n      --model org/m\n      --max-model-len 4096",
        ">-\n      --model org/m \\\n      --max-model-len 4096",
        "|\n      --model org/m\n      --max-model-len '4096'",
        "\n      - --model\n      - org/m # the small one\n      - --max-model-len\n      - 4096",
    ],
)
def test_command_in_any_form(command: str) -> None:
    launch = one(SERVICE.replace("{command}", command), "compose.yaml")
    assert words(launch) == ["--model", "org/m", "--max-model-len", "4096"]
    assert launch.words[-1].value_span.text == "4096"
    assert launch.form == "image"
    assert launch.image is not None
    assert (launch.image.name, launch.image.tag) == ("vllm/vllm-openai", "v0.11.0")
    assert launch.site == "services.llm"


def test_entrypoint_with_a_script_that_passes_its_arguments_on() -> None:
    text = """
services:
  llm:
    image: vllm/vllm-openai:latest
    entrypoint:
      - bash
      - -c
      - |
        source /setup.sh
        exec vllm serve --enforce-eager "$$@"
      - --
    command: [--model, org/m]
"""
    launch = one(text)
    assert words(launch) == ["--enforce-eager", "--model", "org/m"]
    assert launch.command.line == 10


def test_branches_of_a_script_are_one_launch() -> None:
    text = """
services:
  llm:
    image: vllm/vllm-openai
    entrypoint:
      - bash
      - -c
      - |
        if [ "$$X" = 1 ]; then
          exec vllm serve "$$@"
        else
          exec vllm serve --disable-custom-all-reduce "$$@"
        fi
      - --
    command: [--model, org/m, --max-model-len, "4096"]
"""
    launch = one(text)
    assert [w.value for w in launch.words if w.conditional] == ["--disable-custom-all-reduce"]


def test_env_file_beside_gives_values() -> None:
    text = SERVICE.replace("{command}", "--model ${MODEL} --max-model-len ${LEN}")
    launch = one(text, "compose.yaml", {".env": "MODEL=org/m # default\nexport LEN='8192'\n"})
    assert words(launch) == ["--model", "org/m", "--max-model-len", "8192"]
    unknown = one(text, "compose.yaml")
    assert [w.unknown is not None for w in unknown.words] == [False, True, False, True]
    assert unknown.words[1].value == "${MODEL}"


def test_environment_of_a_service_does_not_interpolate() -> None:
    text = SERVICE.replace("{command}", "--model ${MODEL}") + "    environment: {MODEL: org/m}\n"
    launch = one(text)
    assert launch.words[1].unknown is not None
    assert launch.env["MODEL"].value is not None


def test_anchors_merge_keys_and_extends() -> None:
    text = """
x-base: &base
  image: vllm/vllm-openai:v0.9.2
  ipc: host
  environment: &env
    HF_HOME: /cache
services:
  template:
    <<: *base
    shm_size: 8g
  llm:
    extends: template
    command: [--model, org/m]
    environment:
      <<: *env
      VLLM_USE_V1: "0"
"""
    launch = one(text)
    assert launch.image is not None
    assert launch.image.tag == "v0.9.2"
    assert set(launch.env) == {"HF_HOME", "VLLM_USE_V1"}
    deployment = launch.deployment
    assert deployment is not None
    assert deployment.ipc is not None
    assert deployment.shm_size is not None
    assert deployment.shm_size.bytes == 8 * 2**30


def test_extends_from_another_file_keeps_the_file_of_each_word() -> None:
    base = "services:\n  base:\n    image: vllm/vllm-openai\n    command: [--model, org/m]\n"
    launch = one(
        "services:\n  llm:\n    extends: {file: common/base.yaml, service: base}\n    ipc: host\n    image: vllm/vllm-openai:v0.9.2\n",
        "compose.yaml",
        {"common/base.yaml": base},
    )
    assert words(launch) == ["--model", "org/m"]
    assert launch.words[0].span.path == "common/base.yaml"


def test_extends_in_a_circle_ends() -> None:
    assert launches("services:\n  a: {extends: b, image: vllm/vllm-openai}\n  b: {extends: a, image: vllm/vllm-openai}\n") == []


def test_everything_around_the_container() -> None:
    text = textwrap.dedent("""
        services:
          llm:
            image: vllm/vllm-openai@sha256:abc
            command: --model org/m
            runtime: nvidia
            user: "1000"
            read_only: true
            network_mode: host
            profiles: [gpu]
            shm_size: "${SHM:-2gb}"
            mem_limit: 64g
            ports: ["127.0.0.1:8000:8000", "9000"]
            volumes:
              - ./models:/models:ro
              - cache:/root/.cache
              - {type: tmpfs, target: /dev/shm, tmpfs: {size: 1g}}
            env_file: [llm.env]
            depends_on: {other: {condition: service_healthy}}
            healthcheck: {test: [CMD, curl, localhost], interval: 10s, start_period: 1m30s, retries: 5}
            deploy:
              replicas: 2
              resources:
                reservations:
                  devices:
                    - {driver: nvidia, device_ids: ["0", "1"], capabilities: [gpu]}
        """)
    launch = one(text, "compose.yaml", {"llm.env": "HF_TOKEN=x\n"})
    d = launch.deployment
    assert d is not None
    assert (d.kind, d.scope, d.replicas, d.profiles) == ("compose", "compose:gpu", 2, ("gpu",))
    assert [(g.resource, g.count, g.device_ids) for g in d.gpus] == [("devices", 2, ("0", "1"))]
    assert d.shm_size is not None
    assert (d.shm_size.bytes, d.shm_size.span.text) == (2 * 2**30, "2gb")
    assert [(m.target, m.kind, m.source, m.read_only) for m in d.mounts] == [
        ("/models", "bind", "./models", True),
        ("/root/.cache", "volume", "cache", False),
        ("/dev/shm", "tmpfs", None, False),
    ]
    assert d.mounts[2].size_bytes == 2**30
    assert [(p.address, p.host, p.container) for p in d.ports] == [("127.0.0.1", 8000, 8000), (None, None, 9000)]
    probe = d.probes[0]
    assert (probe.kind, probe.initial_delay, probe.period, probe.failure_threshold) == ("healthcheck", 90, 10, 5)
    assert d.memory_limit is not None
    assert d.memory_limit.bytes == 64 * 2**30
    assert d.host_network is not None
    assert d.read_only_root is not None
    assert d.waits_for_health
    assert d.env_complete
    assert launch.env["HF_TOKEN"].source == "env_file"


@pytest.mark.parametrize(
    ("yaml", "count"),
    [("gpus: all", None), ("gpus: 2", 2), ("gpus: [{driver: nvidia, count: 4}]", 4), ("devices: [nvidia.com/gpu=all]", None)],
)
def test_gpu_options(yaml: str, count: int | None) -> None:
    launch = one(SERVICE.replace("{command}", "--model org/m") + f"    {yaml}\n")
    assert launch.deployment is not None
    assert [g.count for g in launch.deployment.gpus] == [count]


def test_other_services_are_no_launches() -> None:
    text = """
services:
  ui: {image: ghcr.io/open-webui/open-webui, environment: {OPENAI_API_BASE_URL: "http://vllm:8000/v1"}}
  sglang: {image: lmsysorg/sglang, command: "python3 -m sglang.launch_server --model-path org/m --tp 2"}
  router: {image: vllm/semantic-router, command: [--config, /x]}
  idle: {image: vllm/vllm-openai, entrypoint: [sleep, infinity]}
  shell: {image: vllm/vllm-openai, entrypoint: [bash, -c, "echo vllm serve org/m"]}
  bare: {image: vllm/vllm-openai}
"""
    assert launches(text, "compose.yaml") == []


def test_templates_in_a_compose_file() -> None:
    text = """
services:
{% for m in models %}
  vllm:
    image: vllm/vllm-openai:{{ tag }}
    command:
      - --model
      - {{ m.name }}
{% if m.eager %}
      - --enforce-eager
{% endif %}
{% endfor %}
"""
    launch = one(text, "compose.yaml.j2")
    assert [(w.value, w.unknown is not None, w.conditional) for w in launch.words] == [
        ("--model", False, False),
        ("{{ m.name }}", True, False),
        ("--enforce-eager", False, True),
    ]


def test_durations() -> None:
    assert duration("1m30s") == 90
    assert duration("500ms") == 0.5
    assert duration("soon") is None


def test_env_files() -> None:
    values = env_file_values(SourceFile.of("# c\nA=1\nexport B=\"x # y\"\nC='z' # c\nD=a b # c\nE=\n"))
    assert {name: word.value for name, word in values.items()} == {"A": "1", "B": "x # y", "C": "z", "D": "a b", "E": ""}
