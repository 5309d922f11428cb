"""Nothing here starts vLLM: it is printed, described, looked for or compared.

    vllm serve Qwen/Qwen3-8B --max-model-len 4096
"""

import subprocess
import sys

HELP = "run `vllm serve MODEL --max-model-len 4096` first"


class LLM:
    def __init__(self, model):
        self.model = model


def check(process):
    print("vllm serve Qwen/Qwen3-8B")
    if process.args == ["vllm", "serve", "Qwen/Qwen3-8B"]:
        sys.exit(HELP)
    assert process.args[:2] == ["vllm", "serve"]
    subprocess.run(["pkill", "-f", "vllm serve"])
    subprocess.run(["python", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B"])
    subprocess.run("echo vllm serve Qwen/Qwen3-8B", shell=True)
    return LLM(model="not vLLM's")
