"""Python: what is followed, what stays unknown, what is no launch."""

from __future__ import annotations

import pytest

from tests.extract.other.support import arguments, extraction, python

IMPORT = "from vllm import LLM\n"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('LLM("m", dtype="half")', ["model=m", "dtype=half"]),
        ('LLM(model="m", tokenizer=None, seed=-1)', ["model=m", "tokenizer=None", "seed=-1"]),
        ('M = "a/" "b"\nLLM(M)', ["model=a/b"]),
        ('M = "b"\nLLM(f"a/{M}")', ["model=a/b"]),
        ('LLM(f"a/{unknown_name}")', ["model=?a/{unknown_name}"]),
        ('N = 4\nLLM("m", max_model_len=N * 1024)', ["model=m", "max-model-len=4096"]),
        ('LLM("m", max_model_len=1_000)', ["model=m", "max-model-len=1000"]),
        ('import os\nLLM(os.environ.get("M", "d"))', ["model=d"]),
        ('import os\nLLM(os.getenv("M") or "d")', ["model=d"]),
        ('import os\nLLM(os.environ["M"])', ['model=?os.environ["M"]']),
        ('import os\nos.environ["M"] = "x"\nLLM(os.environ["M"])', ["model=x"]),
        ('k = {"seed": 1}\nk["dtype"] = "half"\nLLM("m", **k)', ["model=m", "seed=1", "dtype=half"]),
        ('k = dict(seed=1)\nk.update(dtype="half")\nk.pop("seed")\nLLM("m", **k)', ["model=m", "dtype=half"]),
        ('a = {"seed": 1}\nb = {**a, "seed": 2} | {"dtype": "half"}\nLLM("m", **b)', ["model=m", "seed=2", "dtype=half"]),
        ('k = {}\nif flag:\n    k["seed"] = 1\nLLM("m", **k)', ["model=m", "~seed=1"]),
        ('x = "a"\nif flag:\n    x = "b"\nLLM(x)', ["model=?x"]),
        ('x = "a"\nif flag:\n    raise SystemExit\nLLM(x)', ["model=a"]),
        ('DEBUG = False\nx = "a"\nif DEBUG:\n    x = "b"\nLLM(x)', ["model=a"]),
        ('for m in ["a", "b"]:\n    LLM(m, seed=1)', ["model=?m", "seed=1"]),
        ('for m in ["a"]:\n    LLM(m)', ["model=a"]),
        ('def f(m, n=2):\n    return LLM(m, seed=n)\nf("a")', ["model=a", "seed=2"]),
        ('def f(m):\n    return LLM(m)\nf("a")\nf("b")', ["model=?m"]),
        ('def f(m="a"):\n    return LLM(m)', ["model=a"]),
        ("def f(m):\n    return LLM(m)", ["model=?m"]),
        (
            'class C:\n    size = 8\n    def __init__(self, m):\n        self.m = m\n    def go(self):\n        LLM(self.m, seed=self.size)\nC("a").go()',
            ["model=a", "seed=8"],
        ),
        ('try:\n    m = "a"\nexcept ValueError:\n    m = "b"\nLLM(m)', ["model=a"]),
        ('LLM("m", speculative_config={"method": "ngram", "n": 3})', ["model=m", 'speculative-config={"method": "ngram", "n": 3}']),
        ('LLM("m", hf_overrides={"a": other})', ["model=m", 'hf-overrides=?{"a": other}']),
        ('import torch\nLLM("m", dtype=torch.float16)', ["model=m", "dtype=torch.float16"]),
        (
            'from vllm.config import KVTransferConfig\nLLM("m", kv_transfer_config=KVTransferConfig(kv_role="kv_both"))',
            ["model=m", 'kv-transfer-config=KVTransferConfig(kv_role="kv_both")'],
        ),
        ('from huggingface_hub import snapshot_download\nLLM(snapshot_download(repo_id="a/b"))', ["model=a/b"]),
        ('class Mine(LLM):\n    pass\nMine(model="m")', ["model=m"]),
        ('import ray\nray.remote(num_gpus=0)(LLM).remote(model="m")', ["model=m"]),
        (
            'from argparse import ArgumentParser\np = ArgumentParser()\np.add_argument("--tp", "-t", type=int, default=2)\np.add_argument("--eager", action="store_true")\na = p.parse_args()\nLLM("m", tensor_parallel_size=a.tp, enforce_eager=a.eager)',
            ["model=m", "tensor-parallel-size=2", "enforce-eager=False"],
        ),
        ('LLM("%s/%s" % ("a", "b"))', ["model=a/b"]),
        ('LLM("{}/{x}".format("a", x="b"))', ["model=a/b"]),
        ('import json\nLLM("m", additional_config=json.dumps({"a": 1}))', ["model=m", 'additional-config={"a": 1}']),
    ],
)
def test_engine(code: str, expected: list[str]) -> None:
    launches = extraction(IMPORT + code + "\n", "code.py").launches
    assert [arguments(x) for x in launches] == [expected]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ('subprocess.run(["vllm", "serve", "m", "--seed", "1"])', ["m", "--seed", "1"]),
        ('subprocess.Popen("vllm serve m --seed 1", shell=True)', ["m", "--seed", "1"]),
        ("subprocess.check_call(shlex.split(\"vllm serve m --x 'a b'\"))", ["m", "--x", "a b"]),
        ('subprocess.run("vllm serve m --seed 1".split())', ["m", "--seed", "1"]),
        ('subprocess.run([sys.executable, "-m", "vllm.entrypoints.openai.api_server", "--model", "m"])', ["--model", "m"]),
        ('os.system(f"vllm serve {m} --port {8000} &")', ["?{m}", "--port", "8000"]),
        ('os.execvp("vllm", ["vllm", "serve", "m"])', ["m"]),
        ('c = ["vllm"]\nc += ["serve"]\nc.append("m")\nc.extend(["--seed", str(2)])\nsubprocess.run(c)', ["m", "--seed", "2"]),
        ('c = ["vllm", "serve", "m"]\nif fast:\n    c += ["--enforce-eager"]\nsubprocess.run(c)', ["m", "~--enforce-eager"]),
        ('c = ["vllm", "serve", "m", *(["--x"] if y else [])]\nsubprocess.run(c)', ["m", "~--x"]),
        ('c = ["vllm", "serve", "m"] + [f"--{k}={v}" for k, v in {"seed": 1}.items()]\nsubprocess.run(c)', ["m", "--seed=1"]),
        ('async def f():\n    await asyncio.create_subprocess_exec("vllm", "serve", "m", "--seed", "1")', ["m", "--seed", "1"]),
        ('async def f():\n    await asyncio.create_subprocess_shell("vllm serve m")', ["m"]),
        ('def command(m):\n    return ["vllm", "serve", m]\nsubprocess.run(command("a"))', ["a"]),
        ('subprocess.run(["bash", "-c", "export A=1; vllm serve m"])', ["m"]),
        ('subprocess.run(["docker", "run", "--gpus", "all", "vllm/vllm-openai:v0.9.0", "--model", "m"])', ["--model", "m"]),
        ('S = """#!/bin/bash\nvllm serve m \\\\\n  --seed 1\n"""\nopen("x").write(S)\nrun(user_data=S)', ["m", "--seed", "1"]),
        ('x = "vllm serve m "\nx += "--seed 1"\nos.system(x)', ["m", "--seed", "1"]),
    ],
)
def test_process(code: str, expected: list[str]) -> None:
    prelude = "import asyncio, os, shlex, subprocess, sys\n"
    launches = extraction(prelude + code + "\n", "code.py").launches
    assert [arguments(x) for x in launches] == [expected]


@pytest.mark.parametrize(
    "code",
    [
        'print("vllm serve m")',
        'print(["vllm", "serve", "m"])',
        'logger.info("run: vllm serve m")',
        'assert command == ["vllm", "serve", "m"]',
        'parser.add_argument("--x", help="vllm serve m")',
        'raise RuntimeError("start vllm serve m first")',
        '"""vllm serve m"""',
        'import subprocess\nsubprocess.run(["pkill", "-f", "vllm serve"])',
        'import subprocess\nsubprocess.run(["pip", "install", "vllm"])',
        'from transformers import LLM\nLLM(model="m")',
        "from sglang import Engine as LLM\nLLM(model='m')",
        "from vllm import SamplingParams\nSamplingParams(max_tokens=1)",
        'env = {"OPTION_ROLLING_BATCH": "trtllm", "OPTION_MODEL_ID": "m", "OPTION_MAX_MODEL_LEN": "1"}',
        'env = {"OPTION_A": "1"}',
    ],
)
def test_no_launch(code: str) -> None:
    assert python(code + "\n") == []


def test_tests_only_launch_what_they_run() -> None:
    code = 'import subprocess\nCASES = ["vllm", "serve", "m"]\nsubprocess.run(["vllm", "serve", "n"])\n'
    assert [arguments(x) for x in extraction(code, "tests/unit/test_command.py").launches] == [["n"]]


def test_environment_of_a_process() -> None:
    code = 'import os, subprocess\ne = {**os.environ, "VLLM_USE_V1": "0"}\nsubprocess.run(["vllm", "serve", "m"], env=e)\n'
    (launch,) = extraction(code, "code.py").launches
    assert launch.env["VLLM_USE_V1"].name.value_span.text == "VLLM_USE_V1"


def test_a_broken_statement_costs_only_itself() -> None:
    code = 'from vllm import LLM\nprint "old"\nLLM("m")\n'
    found = extraction(code, "code.py")
    assert [arguments(x) for x in found.launches] == [["model=m"]]
    assert [p.span.line for p in found.problems] == [2]
    assert extraction('print "old"\n# vllm\n', "code.py").problems == ()


def test_endless_work_is_bounded() -> None:
    calls = "\n".join(f"def f{i}(x):\n    f{i + 1}(x)\n    f{i + 1}(x)" for i in range(40))
    code = f'from vllm import LLM\n{calls}\ndef f40(x):\n    LLM(x)\nf0("m")\nwhile True:\n    f0("n")\n'
    assert extraction(code, "code.py").launches


def test_deep_nesting() -> None:
    code = "from vllm import LLM\nx = " + "(" * 150 + "1" + ")" * 150 + "\ny = " + "+".join(["1"] * 5000) + '\nLLM("m")\n'
    assert [arguments(x) for x in extraction(code, "code.py").launches] == [["model=m"]]
