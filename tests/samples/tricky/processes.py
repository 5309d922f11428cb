"""Usage:
    vllm serve org/doc --port 1
"""
import subprocess, os, shlex, sys
from vllm import LLM, EngineArgs, AsyncEngineArgs as AEA
import vllm
MODEL = os.environ.get("MODEL", "org/a")
common = dict(tensor_parallel_size=2, dtype="half")
llm = LLM(MODEL, **common, max_model_len=4096)
llm2 = vllm.LLM(model="org/b", **{"enforce_eager": True})
ea = AEA(model="org/c", quantization="awq" if sys.argv[1:] else None)
cmd = ["vllm", "serve", MODEL, "--port", str(8000)]
if os.environ.get("X"):
    cmd += ["--enable-lora"]
cmd.extend(["--max-model-len", f"{4096 * 2}"])
subprocess.Popen(cmd, env={**os.environ, "CUDA_VISIBLE_DEVICES": "0"})
subprocess.run(f"vllm serve {MODEL} --port 8001 --dtype half", shell=True)
subprocess.run(shlex.split("python -m vllm.entrypoints.openai.api_server --model org/d"))
os.system("pkill -f 'vllm serve'")
print("vllm serve org/e")
raise SystemExit("start it with: vllm serve org/f --port 2")
