#!/usr/bin/env bash
set -euo pipefail
source .env
vllm serve "$MODEL" --host 127.0.0.1 --port "$API_PORT" --max-model-len 8192
