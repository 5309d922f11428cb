#!/bin/bash
# vllm serve commented --port 1
set -euo pipefail
MODEL=${1:-meta-llama/Llama-3.1-8B-Instruct}
EXTRA=()
[[ -n "${LORA:-}" ]] && EXTRA+=(--enable-lora --max-lora-rank 64)
if [ "$DEBUG" = 1 ]; then
  EXTRA+=(--enforce-eager)
fi
echo "Starting vllm serve $MODEL --port 8000"
vllm serve "$MODEL" \
  --served-model-name 'll ama' \
  --override-generation-config '{"temperature": 0.6, "top_p": 0.95}' \
  --port $((8000 + 1)) \
  "${EXTRA[@]}" 2>&1 | tee /var/log/vllm.log &
PID=$!
trap "kill $PID" EXIT
wait $PID
