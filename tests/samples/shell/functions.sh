#!/usr/bin/env bash
start() {
  local model=$1 port=$2 gpu=$3
  shift 3
  CUDA_VISIBLE_DEVICES=$gpu vllm serve "$model" --port "$port" "$@" &
}
start org/chat 8001 0 --max-model-len 8192
start org/embed 8002 1 --runner pooling
wait
