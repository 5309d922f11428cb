#!/usr/bin/env bash
set -euo pipefail
source .env
export VLLM_PORT
vllm serve "$MODEL" --host 127.0.0.1 --port "$VLLM_PORT" --max-model-len 8192
