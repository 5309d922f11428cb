import subprocess, os
def a():
    return subprocess.Popen(["vllm", "serve", "org/a"], env={**os.environ, "CUDA_VISIBLE_DEVICES": "0"})
def b():
    c = ["vllm", "serve", "org/b", "--port", "8000"]
    return subprocess.Popen(c, env=dict(os.environ, CUDA_VISIBLE_DEVICES="0"))
def d():
    env = os.environ.copy()
    env["CUDA_VISIBLE_DEVICES"] = "0,1"
    return subprocess.Popen(["vllm", "serve", "org/d"], env=env)
def e():
    env = {"A": "1"}
    env["CUDA_VISIBLE_DEVICES"] = "0,1"
    env.update(B="2")
    return subprocess.Popen(["vllm", "serve", "org/e"], env=env)
