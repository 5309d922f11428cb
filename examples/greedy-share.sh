#!/usr/bin/env bash
# lint-vllm: gpu=RTX4090 vllm=0.33.0 concurrency=2 context=16384
set -euo pipefail

exec vllm serve Qwen/Qwen2.5-7B-Instruct \
  --max-model-len 16384 \
  --gpu-memory-utilization 0.98 \
  --enforce-eager
