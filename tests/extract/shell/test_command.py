"""Programs that only pass a command on, containers, batch jobs."""

from __future__ import annotations

import pytest

from lint_vllm.extract.containers import parse_image
from lint_vllm.source import Text

from .reading import launches, only, settings, words

WRAPPED = [
    "exec vllm serve m --a 1",
    "exec -a llm /opt/venv/bin/vllm serve m --a 1",
    "nohup vllm serve m --a 1 > log 2>&1 &",
    "env A=b -u C vllm serve m --a 1",
    "sudo -u vllm -E vllm serve m --a 1",
    "timeout -k 5 3600 vllm serve m --a 1",
    "time nice -n 5 ionice -c 2 stdbuf -oL -eL vllm serve m --a 1",
    "numactl --cpunodebind=0 -m 0 vllm serve m --a 1",
    "taskset -c 0-7 vllm serve m --a 1",
    "srun --nodes=1 -n 1 --gres gpu:1 vllm serve m --a 1",
    "mpirun -np 1 -x PATH vllm serve m --a 1",
    "uv run --with vllm==0.9.1 --python 3.12 vllm serve m --a 1",
    "uvx --from vllm vllm serve m --a 1",
    "uv tool run vllm@0.9.1 serve m --a 1",
    "pipx run --spec vllm==0.9.1 vllm serve m --a 1",
    "conda run -n llm --no-capture-output vllm serve m --a 1",
    "micromamba run -p /opt/env vllm serve m --a 1",
    "poetry run vllm serve m --a 1",
    "pixi run -e cuda vllm serve m --a 1",
    "tini -s -- vllm serve m --a 1",
    "nsys profile -o out --trace=cuda vllm serve m --a 1",
    "bash -c 'vllm serve m --a 1'",
    'bash -lc "exec vllm serve m --a 1"',
    "sh -euxc 'cd /x; vllm serve m --a 1'",
    "su - vllm -c 'vllm serve m --a 1'",
    "ssh -i k -p 22 user@host 'vllm serve m --a 1'",
    "ssh host vllm serve m --a 1",
    "tmux new-session -d -s llm 'vllm serve m --a 1'",
    "tmux send-keys -t llm 'vllm serve m --a 1' Enter",
    "screen -dmS llm bash -c 'vllm serve m --a 1'",
    "screen -dmS llm vllm serve m --a 1",
    "docker exec -it box vllm serve m --a 1",
    "docker compose run --rm llm vllm serve m --a 1",
    "kubectl exec -it pod -- vllm serve m --a 1",
    "kubectl run x --image=vllm/vllm-openai:v0.9.1 --command -- vllm serve m --a 1",
    "singularity exec --nv -B /data vllm.sif vllm serve m --a 1",
    "apptainer exec --nv docker://vllm/vllm-openai:v0.9.1 vllm serve m --a 1",
    "ray job submit --address x -- vllm serve m --a 1",
    "op run --env-file=.env -- vllm serve m --a 1",
    "./in-container.sh exec vllm serve m --a 1",
    '"$VLLM_BIN" serve m --a 1',
    "/opt/vllm/bin/vllm serve m --a 1",
    "python -m vllm.entrypoints.cli.main serve m --a 1",
    "xargs -I{} vllm serve m --a 1",
    "eval vllm serve m --a 1",
    "docker run -it --entrypoint vllm vllm/vllm-openai:v0.9.1 serve m --a 1",
    "docker run rocm/vllm-dev:nightly bash -c 'vllm serve m --a 1'",
    "docker run nvcr.io/nvidia/vllm:25.11-py3 vllm serve m --a 1",
]


@pytest.mark.parametrize("script", WRAPPED)
def test_seen_through(script: str) -> None:
    launch = only(script)
    assert launch.form == "vllm serve"
    assert words(launch) == ["m", "--a", "1"]
    assert launch.command.text in ("vllm serve", launch.command.text)
    assert "serve" in launch.command.text


MODULES = [
    ("python -m vllm.entrypoints.openai.api_server --model m", "api_server", None),
    ("python3.11 -u -X dev -m vllm.entrypoints.openai.api_server --model m", "api_server", None),
    ("$PYTHON -m vllm.entrypoints.openai.api_server --model m", "api_server", None),
    ("uv run -m vllm.entrypoints.openai.api_server --model m", "api_server", None),
    ("uv run python -m vllm.entrypoints.api_server --model m", "api_server", None),
    ("torchrun --nproc-per-node 2 -m vllm.entrypoints.openai.api_server --model m", "api_server", None),
    ("python /x/vllm/entrypoints/openai/api_server.py --model m", "api_server", None),
    ("python -m vllm.entrypoints.openai.run_batch --model m", "other", None),
    ("vllm bench throughput --model m", "other", None),
    ("vllm bench latency --model m", "other", None),
    ("trl vllm-serve --model m", "other", "trl"),
    ("lmcache_vllm serve --model m", "other", "lmcache_vllm"),
]


@pytest.mark.parametrize(("script", "form", "wrapper"), MODULES)
def test_modules_and_other_commands(script: str, form: str, wrapper: str | None) -> None:
    launch = only(script)
    assert (launch.form, launch.wrapper) == (form, wrapper)
    assert words(launch) == ["--model", "m"]


@pytest.mark.parametrize(
    "script",
    [
        'lm_eval --model vllm --model_args pretrained=org/m,tensor_parallel_size=2,hf_overrides={"a":1} --tasks x',
        'accelerate launch -m lm_eval --model vllm --model_args pretrained=org/m,tensor_parallel_size=2,hf_overrides={"a":1}',
        'lighteval vllm "model_name=org/m,tensor_parallel_size=2,hf_overrides={"a":1}" x',
    ],
)
def test_arguments_in_pairs(script: str) -> None:
    found = settings(only(script))
    assert found["model"] == "org/m"
    assert found["tensor-parallel-size"] == "2"


def test_training_overrides_of_a_vllm_rollout() -> None:
    script = (
        "python -m verl.trainer.main_ppo actor_rollout_ref.model.path=org/m actor_rollout_ref.rollout.name=ENGINE \\\n"
        " actor_rollout_ref.rollout.tensor_model_parallel_size=2 +actor_rollout_ref.rollout.engine_kwargs.vllm.swap_space=1"
    )
    launch = only(script.replace("ENGINE", "vllm"))
    assert settings(launch) == {"model": "org/m", "tensor-parallel-size": "2", "swap-space": "1"}
    assert launches(script.replace("ENGINE", "sglang")) == []


def test_docker_run() -> None:
    launch = only(
        "docker run -d --name llm --gpus '\"device=0,1\"' --ipc=host --shm-size 16g \\\n"
        '  -v "$HOME/.cache/huggingface:/root/.cache/huggingface" -v hub:/hub:ro --mount type=bind,source=/a,target=/b \\\n'
        "  -p 127.0.0.1:8000:80 -e HF_TOKEN=x -e VLLM_API_KEY --env A=1 --network host -m 32g \\\n"
        "  vllm/vllm-openai:v0.9.1 --model org/m --max-model-len 4096"
    )
    assert (launch.form, words(launch)) == ("image", ["--model", "org/m", "--max-model-len", "4096"])
    assert launch.command.text == "vllm/vllm-openai:v0.9.1"
    assert launch.block.line == 1
    image = launch.image
    assert image is not None
    assert (image.name, image.tag, image.tag_span and image.tag_span.text) == ("vllm/vllm-openai", "v0.9.1", "v0.9.1")
    assert {n: v.value.value if v.value else None for n, v in launch.env.items()} == {
        "HF_TOKEN": "x",
        "VLLM_API_KEY": None,
        "A": "1",
    }
    box = launch.deployment
    assert box is not None
    assert (box.kind, box.name and box.name.value, box.ipc and box.ipc.value) == ("docker-run", "llm", "host")
    assert box.shm_size is not None
    assert box.shm_size.bytes == 16 * 2**30
    assert [(g.resource, g.count, g.device_ids) for g in box.gpus] == [("--gpus", 2, ("0", "1"))]
    assert [(m.kind, m.source, m.target, m.read_only) for m in box.mounts] == [
        ("bind", "$HOME/.cache/huggingface", "/root/.cache/huggingface", False),
        ("volume", "hub", "/hub", True),
        ("bind", "/a", "/b", False),
    ]
    assert [(p.address, p.host, p.container) for p in box.ports] == [("127.0.0.1", 8000, 80)]
    assert box.host_network is not None
    assert box.memory_limit is not None


def test_image_and_options_in_variables() -> None:
    launch = only(
        'IMAGE="${IMAGE:-vllm/vllm-openai:latest}"\nOPTS=(--gpus all --ipc host)\nARGS=(--model org/m)\n'
        'docker run "${OPTS[@]}" $MORE "$IMAGE" "${ARGS[@]}"'
    )
    assert words(launch) == ["--model", "org/m"]
    assert launch.image is not None
    assert launch.image.tag == "latest"
    assert launch.command.text == '"$IMAGE"'
    assert launch.deployment is not None
    assert not launch.deployment.mounts_complete


@pytest.mark.parametrize(
    ("words_behind", "doubled", "arguments"),
    [
        ("vllm serve m --a 1", ["vllm", "serve"], ["m", "--a", "1"]),
        ("serve m --a 1", ["serve"], ["m", "--a", "1"]),
        ('/bin/bash -c "cd / && vllm serve m --a 1"', ["/bin/bash", "-c"], ["m", "--a", "1"]),
        (
            "python3 -m vllm.entrypoints.openai.api_server --model m",
            ["python3", "-m", "vllm.entrypoints.openai.api_server"],
            ["--model", "m"],
        ),
    ],
)
def test_a_command_behind_an_image_that_is_a_server(words_behind: str, doubled: list[str], arguments: list[str]) -> None:
    launch = only(f"docker run --gpus all vllm/vllm-openai:v0.9.1 {words_behind}")
    if doubled == ["serve"]:
        assert launch.form == "image"
    assert words(launch) == arguments
    assert [w.value for w in launch.doubled_entrypoint] == doubled


def test_a_custom_image_is_told_by_its_arguments() -> None:
    assert words(only("docker run me/llm:1 --model m --max-model-len 9 --enforce-eager"))[:2] == ["--model", "m"]
    assert launches("docker run me/web:1 --model m --port 9") == []


def test_batch_job() -> None:
    launch = only(
        "#!/bin/bash\n#SBATCH --nodes=2 --partition=a100\n#SBATCH --gres=gpu:h100:8\nexport A=1\n"
        "srun --nodes=2 --ntasks-per-node=1 vllm serve m --a 1\n"
    )
    job = launch.deployment
    assert job is not None
    assert (job.kind, job.nodes, job.multi_node) == ("slurm", 2, True)
    assert [(g.resource, g.count, g.nodes, g.value_span.text) for g in job.gpus] == [("gres", 8, 2, "gpu:h100:8")]
    assert [(h.kind, h.value, h.count) for h in launch.hints] == [("slurm-partition", "a100", None), ("slurm-gres", "h100", 8)]


def test_one_step_of_a_job_over_two_nodes() -> None:
    launch = only("#SBATCH -N 2\n#SBATCH --gpus-per-node=4\nsrun --nodes=1 --ntasks=1 vllm serve m\n")
    assert launch.deployment is not None
    assert (launch.deployment.nodes, launch.deployment.multi_node) == (1, False)


def test_container_image_of_a_step() -> None:
    launch = only("srun --container-image=vllm/vllm-openai:v0.9.1 --container-mounts=/a:/a vllm serve m\n")
    assert launch.image is not None
    assert launch.image.tag == "v0.9.1"


def test_ray_cluster_beside_it() -> None:
    launch = only("#SBATCH -N 2\nsrun -N 2 ray start --address x --block &\nvllm serve m -tp 16\n")
    assert launch.deployment is not None
    assert launch.deployment.multi_node


@pytest.mark.parametrize(
    ("reference", "name", "tag", "digest"),
    [
        ("vllm/vllm-openai", "vllm/vllm-openai", None, None),
        ("host:5000/a/b:v1", "host:5000/a/b", "v1", None),
        ("host:5000/a/b", "host:5000/a/b", None, None),
        ("a/b:v1@sha256:00", "a/b", "v1", "sha256:00"),
        ("a/b@sha256:00", "a/b", None, "sha256:00"),
        ("docker://a/b:1", "a/b", "1", None),
        ("a/b:${TAG:-1}", "a/b", "${TAG:-1}", None),
    ],
)
def test_image_references(reference: str, name: str, tag: str | None, digest: str | None) -> None:
    image = parse_image(Text.literal(reference))
    assert (image.name, image.tag, image.digest) == (name, tag, digest)
    if tag is not None:
        assert image.tag_span is not None
        assert image.tag_span.text == tag
