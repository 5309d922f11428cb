#!/usr/bin/env bash
set -euo pipefail
vllm serve facebook/opt-1.3b --host 127.0.0.1 --port 8000 &
until curl -sf localhost:8000/health; do sleep 2; done
curl -s localhost:8000/v1/chat/completions -H 'Content-Type: application/json' -d '{"model": "facebook/opt-1.3b", "messages": [{"role": "user", "content": "hi"}]}'
