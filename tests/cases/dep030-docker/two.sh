#!/usr/bin/env bash
set -euo pipefail
docker run -d --name chat --gpus '"device=0"' --ipc=host -p 127.0.0.1:8001:8000 -v /srv/hub:/root/.cache/huggingface \
  vllm/vllm-openai:v0.33.0 Qwen/Qwen2.5-7B-Instruct --max-model-len 8192 --gpu-memory-utilization 0.7
docker run -d --name embed --gpus '"device=0"' --ipc=host -p 127.0.0.1:8002:8000 -v /srv/hub:/root/.cache/huggingface \
  vllm/vllm-openai:v0.33.0 BAAI/bge-m3 --runner pooling --gpu-memory-utilization 0.4
