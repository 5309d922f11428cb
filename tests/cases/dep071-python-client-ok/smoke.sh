#!/usr/bin/env bash
set -euo pipefail
vllm serve /models/Qwen3-8B --host 127.0.0.1 --port 8000 --served-model-name Qwen3-8B --max-model-len 2048 &
until curl -sf localhost:8000/health; do sleep 5; done
python - <<'PY'
from openai import OpenAI
client = OpenAI(base_url="http://localhost:8000/v1", api_key="x")
print(client.chat.completions.create(model="Qwen3-8B", messages=[{"role": "user", "content": "ping"}]))
PY
