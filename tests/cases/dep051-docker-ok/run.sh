#!/usr/bin/env bash
set -euo pipefail
docker run -d --gpus all -p 127.0.0.1:8000:8000 -v /srv/hub:/root/.cache/huggingface vllm/vllm-omni:v0.22.0 vllm serve Qwen/Qwen2.5-Omni-7B --omni
