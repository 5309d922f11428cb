#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"

vllm serve ./models/mine \
  --tensor-parallel-size 4 \
  --host 127.0.0.1
