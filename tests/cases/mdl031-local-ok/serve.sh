#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"

vllm serve ./m-awq \
  --max-model-len 4096 \
  --host 127.0.0.1
