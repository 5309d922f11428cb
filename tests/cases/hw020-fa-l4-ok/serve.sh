#!/usr/bin/env bash
set -euo pipefail

vllm serve Qwen/Qwen3-4B \
  --attention-backend FLASHINFER \
  --kv-cache-dtype fp8 \
  --max-model-len 8192 \
  --host 127.0.0.1
