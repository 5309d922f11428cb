#!/bin/bash
apt-get install -y nvidia-driver-580 docker.io
docker run -d --gpus all -p 127.0.0.1:8000:8000 -v /srv/hub:/root/.cache/huggingface vllm/vllm-openai:v0.33.0 Qwen/Qwen3-8B --max-model-len 8192
