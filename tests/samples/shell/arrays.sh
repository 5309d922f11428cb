#!/usr/bin/env bash
# One array of arguments, built up over the script.
set -euo pipefail
: "${MODEL:=Qwen/Qwen3-8B}"
PORT="${PORT:-8000}"

ARGS=(--host 127.0.0.1 --port "$PORT")
ARGS+=(--max-model-len "${MAX_LEN:-16384}")   # fits twice
[[ "${FP8_KV:-0}" == 1 ]] && ARGS+=(--kv-cache-dtype fp8)
if command -v nvidia-smi >/dev/null; then
  export CUDA_VISIBLE_DEVICES=0,1
  ARGS+=(--tensor-parallel-size 2)
fi

echo "running: vllm serve $MODEL ${ARGS[*]}"
exec vllm serve "$MODEL" "${ARGS[@]}" ${CHAT_TEMPLATE:+--chat-template "$CHAT_TEMPLATE"} "$@"
