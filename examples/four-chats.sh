#!/usr/bin/env bash
# lint-vllm: gpu=RTX4090 vllm=0.33.0 concurrency=4 context=32768
set -euo pipefail

exec vllm serve Qwen/Qwen2.5-7B-Instruct --max-model-len 32768
