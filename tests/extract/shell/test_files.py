"""Dockerfiles, documents, Makefiles, units, environment files."""

from __future__ import annotations

import pytest

from lint_vllm.extract import dockerfile, envfile, makefile, markdown, shell, systemd
from lint_vllm.launch import Launch
from lint_vllm.source import SourceFile

from .reading import Folder, settings, single, slices, words


def docker(text: str, files: dict[str, str] | None = None) -> Launch:
    return single(dockerfile.extract(SourceFile.of(text, "Dockerfile"), Folder(files or {})))


STAGES = [
    ('FROM vllm/vllm-openai:v0.9.1\nCMD ["--model", "m"]', "image", ["--model", "m"]),
    ('FROM vllm/vllm-openai:v0.9.1\nENTRYPOINT ["vllm", "serve"]\nCMD ["m", "--a", "1"]', "vllm serve", ["m", "--a", "1"]),
    ("FROM x\nCMD vllm serve m --a 1", "vllm serve", ["m", "--a", "1"]),
    ('FROM x\nENTRYPOINT vllm serve m --a ${A:-1}\nCMD ["ignored"]', "vllm serve", ["m", "--a", "1"]),
    ('FROM x\nCMD ["bash", "-c", "exec vllm serve m --a 1"]', "vllm serve", ["m", "--a", "1"]),
    ("FROM x\nENV A=1 \\\n  M=org/m\nCMD vllm serve $M --a $A", "vllm serve", ["org/m", "--a", "1"]),
    ("FROM x\nARG M=org/m\nENV M=${M}\nCMD vllm serve $M", "vllm serve", ["org/m"]),
    ("FROM x\nARG M\nENV M=$M\nCMD vllm serve $M", "vllm serve", ["!$M"]),
    ("FROM x AS base\nENV M=org/m\nFROM base\nCMD vllm serve $M", "vllm serve", ["org/m"]),
    ("FROM x\nCMD vllm serve m \\\n  # a comment ends nothing here\n\n  --a 1", "vllm serve", ["m", "--a", "1"]),
    ('FROM x\nCMD ["vllm", "serve", \\\n  # so it is here\n  "m", "--a", "x\\"y"]', "vllm serve", ["m", "--a", 'x"y']),
    ("# escape=`\nFROM x\nCMD vllm serve m `\n  --a 1", "vllm serve", ["m", "--a", "1"]),
    ('FROM x\nCMD ["vllm", "serve", "$M"]', "vllm serve", ["$M"]),
    (
        'FROM x\nCOPY <<EOF /run.sh\nvllm serve m --a 1\nEOF\nCMD ["/run.sh"]\nENTRYPOINT ["/run.sh"]',
        "vllm serve",
        ["m", "--a", "1"],
    ),
    ("FROM x\nRUN <<EOF\ncat > /run.sh <<'E'\nvllm serve m --a 1\nE\nEOF", "vllm serve", ["m", "--a", "1"]),
    ('FROM {{ image }}\nCMD ["vllm", "serve", "{{ model }}"]', "vllm serve", ["!{{ model }}"]),
]


@pytest.mark.parametrize(("text", "form", "expected"), STAGES, ids=range(len(STAGES)))
def test_dockerfile(text: str, form: str, expected: list[str]) -> None:
    launch = docker(text)
    assert (launch.form, words(launch)) == (form, expected)


@pytest.mark.parametrize(
    "text",
    [
        "FROM vllm/vllm-openai:v0.9.1\nCOPY . /app",
        'FROM vllm/vllm-openai:v0.9.1\nENTRYPOINT ["bash"]',
        'FROM x\nENTRYPOINT ["vllm", "serve"]',
        'FROM x\nRUN pip install vllm\nCMD ["uvicorn", "app:app"]',
        "FROM x\nHEALTHCHECK CMD vllm --version",
        "FROM x\nRUN vllm --help",
    ],
)
def test_dockerfiles_without_a_launch(text: str) -> None:
    assert dockerfile.extract(SourceFile.of(text, "Dockerfile")).launches == ()


def test_image_environment_and_pins_of_a_stage() -> None:
    launch = docker(
        "ARG TAG=v0.9.1\nFROM vllm/vllm-openai:${TAG} AS a\nENV HF_HOME=/h\nRUN pip install vllm-omni==0.9.0\nFROM a\n"
        'ENV B=2\nCMD ["--model", "m"]\n'
    )
    assert launch.image is not None
    assert (launch.image.name, launch.image.tag) == ("vllm/vllm-openai", "v0.9.1")
    assert sorted(launch.env) == ["B", "HF_HOME"]
    assert [(p.value, p.span.text) for p in launch.pins] == [("vllm-omni==0.9.0", "0.9.0")]
    assert slices(launch) == ['"--model"', '"m"']


def test_the_script_of_an_entry_point() -> None:
    launch = docker(
        'FROM vllm/vllm-openai:v0.9.1\nENV VLLM_X=1\nWORKDIR /app\nCOPY scripts/run.sh ./\nENTRYPOINT ["./run.sh"]\nCMD ["org/m"]\n',
        {"scripts/run.sh": '#!/bin/sh\nexec vllm serve "$1" --port ${PORT:-8000}\n'},
    )
    assert (launch.path, words(launch)) == ("scripts/run.sh", ["org/m", "--port", "8000"])
    assert launch.image is not None
    assert launch.image.tag == "v0.9.1"
    assert launch.env["VLLM_X"].span.path == "Dockerfile"


def test_worker_image_configured_by_variables() -> None:
    launch = docker("FROM runpod/worker-v1-vllm:v2.7.0\nENV MODEL_NAME=org/m \\\n  MAX_MODEL_LEN=4096 \\\n  HF_HOME=/x\n")
    assert (launch.form, launch.wrapper) == ("env", "runpod-worker")
    assert settings(launch) == {"model": "org/m", "max-model-len": "4096"}
    assert list(launch.env) == ["HF_HOME"]
    assert launch.settings[1].name.span.text == "MAX_MODEL_LEN"


# Documents


def document(text: str, name: str = "README.md") -> list[Launch]:
    return list(markdown.extract(SourceFile.of(text, name)).launches)


DOCUMENTS = [
    "```bash\nvllm serve m --a 1\n```",
    "```\nvllm serve m --a 1\n```",
    "~~~console\n$ vllm serve m \\\n>   --a 1\nINFO started\n~~~",
    "- step\n\n  ```sh\n  vllm serve m \\\n    --a 1\n  ```\n",
    "> ```shell\n> vllm serve m --a 1\n> ```",
    "!!! note\n    ```bash\n    (env) user@host:~$ vllm serve m --a 1\n    ```",
    "```vllm serve m --a 1```",
    "```bash\nexport N=1\n```\ntext\n```bash\nvllm serve m --a $N\n```",
    '```dockerfile\nFROM x\nCMD ["vllm", "serve", "m", "--a", "1"]\n```',
    "```ini\n[Service]\nExecStart=/bin/vllm serve m --a 1\n```",
    "```bash\ncat <<EOF | sh\nvllm serve m --a 1\nEOF\n```",
]


@pytest.mark.parametrize("text", DOCUMENTS, ids=range(len(DOCUMENTS)))
def test_documents(text: str) -> None:
    (launch,) = document(text)
    assert words(launch) == ["m", "--a", "1"]
    assert launch.passage == "doc"
    assert [w.span.text for w in launch.words[:2]] == ["m", "--a"] or '"' in text


def test_fences_of_other_languages_are_read_as_such() -> None:
    text = "```yaml\nservices:\n  a:\n    image: vllm/vllm-openai:v0.9.1\n    command: --model m --max-model-len 9\n```\n"
    assert [f.form for f in document(text)] == ["image"]
    assert [f.python_callable for f in document("```python\nfrom vllm import LLM\nllm = LLM('m')\n```")] == ["LLM"]


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve m in prose, `vllm serve m` inline",
        "```bash\n$ trl vllm-serve --help\n```",
        '```json\n{"a": "vllm serve m"}\n```',
        "```diff\n+vllm serve m\n```",
        "```bash\nvllm serve\n```",
        "```text\nvllm/\n  serve.py\n```",
    ],
)
def test_documents_without_a_launch(text: str) -> None:
    assert document(text) == []


def test_restructured_text() -> None:
    text = (
        "Title\n=====\n\n.. code-block:: console\n   :caption: x\n\n   $ vllm serve m --a 1\n\nRun::\n\n    vllm serve n\n\nend\n"
    )
    assert [words(f) for f in document(text, "doc.rst")] == [["m", "--a", "1"], ["n"]]


# Make, just


@pytest.mark.parametrize(
    "text",
    [
        "M := m\nserve:\n\t@vllm serve $(M) --a 1\n",
        "M ?= m\nA = --a\nA += 1\nserve: dep ## help\n\tvllm serve ${M} \\\n\t  $(A)\n\nother:\n\techo\n",
        "serve: ; vllm serve m --a 1\n",
        "serve:\n\tX=1; vllm serve m --a $$X\n",
    ],
)
def test_makefile(text: str) -> None:
    assert words(single(makefile.extract(SourceFile.of(text, "Makefile")))) == ["m", "--a", "1"]


def test_makefile_places_and_unknown_values() -> None:
    launch = single(makefile.extract(SourceFile.of("LEN = 9\ns:\n\tvllm serve $(M) --max-model-len $(LEN)\n", "Makefile")))
    assert words(launch) == ["!$(M)", "--max-model-len", "9"]
    assert slices(launch) == ["$(M)", "--max-model-len", "$(LEN)"]
    assert launch.words[2].defined is not None


def test_justfile() -> None:
    text = 'model := env("M", "m")\nserve n="1" port:\n  vllm serve {{ model }} --a {{n}} --port {{port}}\n'
    assert words(single(makefile.extract(SourceFile.of(text, "justfile")))) == ["m", "--a", "1", "--port", "!port"]


# systemd


def test_unit() -> None:
    text = (
        '[Unit]\nDescription=x\n[Service]\nEnvironment=LEN=9 "HF_HOME=/a b"\nEnvironmentFile=-/etc/none\n'
        "ExecStart=-/opt/vllm/bin/vllm serve m \\\n  # skipped\n  --max-model-len ${LEN} \\\n  --a %i --b $$HOME\n"
    )
    launch = single(systemd.extract(SourceFile.of(text, "v.service")))
    assert words(launch) == ["m", "--max-model-len", "9", "--a", "!%i", "--b", "$HOME"]
    assert {n: v.value.value for n, v in launch.env.items() if v.value} == {"LEN": "9", "HF_HOME": "/a b"}
    assert launch.deployment is not None
    assert launch.deployment.kind == "systemd"


def test_quadlet() -> None:
    text = (
        "[Container]\nImage=docker.io/vllm/vllm-openai:v0.9.1\nAddDevice=nvidia.com/gpu=all\nEnvironment=A=1\nShmSize=8g\n"
        "PublishPort=8000:8000\nVolume=hub:/root/.cache/huggingface:Z\nPodmanArgs=--ipc=host\nExec=--model m --a 1\n"
    )
    launch = single(systemd.extract(SourceFile.of(text, "v.container")))
    assert (launch.form, words(launch), launch.command.text) == ("image", ["--model", "m", "--a", "1"], "Exec")
    box = launch.deployment
    assert box is not None
    assert box.ipc is not None
    assert box.shm_size is not None
    assert (box.shm_size.bytes, [m.target for m in box.mounts], [p.host for p in box.ports]) == (
        8 * 2**30,
        ["/root/.cache/huggingface"],
        [8000],
    )


# Variables


def variables(text: str) -> tuple[Launch, ...]:
    return envfile.extract(SourceFile.of(text, "runtime.env")).launches


def test_variables_that_spell_options() -> None:
    (launch,) = variables("APP=x\nGPU_MEMORY_UTILIZATION=0.95\nMAX_MODEL_LEN='4096'\nMODEL_ID=org/m # c\nMODEL_NAME=m\nTP_SIZE=4\n")
    assert settings(launch) == {
        "model": "org/m",
        "gpu-memory-utilization": "0.95",
        "max-model-len": "4096",
        "tensor-parallel-size": "4",
    }
    assert (launch.form, launch.command.text, launch.block.line) == ("env", "GPU_MEMORY_UTILIZATION", 1)
    assert [s.value.value_span.text for s in launch.settings if s.value][2] == "4096"


def test_a_string_of_arguments_in_a_variable() -> None:
    (launch,) = variables("EMBED_MODEL_ID=e\nLLM_MODEL_ID=org/m\nVLLM_ARGS=--dtype half --max-model-len 9\n")
    assert (words(launch), settings(launch)) == (["--dtype", "half", "--max-model-len", "9"], {"model": "org/m"})


@pytest.mark.parametrize(
    "text",
    ["# MAX_MODEL_LEN=1\nMODEL=m\n", "VLLM_URL=http://x\nMODEL=m\nPORT=1\n", "ARGS=--help\n", "TP_SIZE=2\nDTYPE=half\nMODEL=m\n"],
)
def test_variables_that_start_nothing(text: str) -> None:
    assert variables(text) == ()


def test_settings_sourced_by_another_script() -> None:
    text = (
        "MODEL=/m\nSERVED_NAME=s\nPORT=8000\nENGINE_ARGS=(\n  --max-model-len 9   # why\n  --max-num-seqs 4\n)\n"
        "SPEC_ARGS=(--speculative-config '{}')\nCONTAINER_ARGS=(--bind /a:/a)\n"
    )
    launch = single(shell.extract(SourceFile.of(text, "m.conf")))
    assert words(launch) == ["--max-model-len", "9", "--max-num-seqs", "4", "?--speculative-config", "?{}"]
    assert settings(launch) == {"model": "/m", "served-model-name": "s", "port": "8000"}
    assert launch.command.text == "ENGINE_ARGS"
