#!/usr/bin/env bash
set -euo pipefail

vllm serve stepfun-ai/step3 \
  --reasoning-parser qwen3 \
  --trust-remote-code \
  --host 127.0.0.1
