#!/usr/bin/env bash
set -euo pipefail
docker run --rm --gpus 2 --ipc=host -v /srv/hub:/root/.cache/huggingface -p 127.0.0.1:8000:8000 \
  vllm/vllm-openai:v0.33.0 Qwen/Qwen3-32B --tensor-parallel-size 2 --max-model-len 16384
