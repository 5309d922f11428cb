#!/bin/bash
apt-get install -y nvidia-driver-535 docker.io
docker run -d --gpus all -p 127.0.0.1:8000:8000 -v /srv/hub:/root/.cache/huggingface vllm/vllm-openai:latest Qwen/Qwen3-8B --max-model-len 8192
