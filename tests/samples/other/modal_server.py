"""A server on Modal: a list that grows, a shell string, a conditional flag."""

import subprocess

import modal

image = (
    modal.Image.debian_slim(python_version="3.12")
    .uv_pip_install("vllm==0.11.0", "hf_transfer")
    .env({"VLLM_LOGGING_LEVEL": "INFO"})
)
MODEL = "Qwen/Qwen3-8B"
EAGER = False
GPUS = 2
app = modal.App("chat")


@app.function(image=image, gpu=f"L40S:{GPUS}", timeout=600)
@modal.web_server(port=8000)
def serve(context: int = 16 * 1024):
    command = ["vllm", "serve", MODEL, "--host", "0.0.0.0", "--port=8000"]
    command += ["--enforce-eager" if EAGER else "--no-enforce-eager"]
    command.extend(["--tensor-parallel-size", str(GPUS)])
    command.append("--max-model-len")
    command.append(str(context))
    print("starting", command)
    subprocess.Popen(" ".join(command), shell=True)
