#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
vllm serve Qwen/Qwen2.5-7B-Instruct --host 127.0.0.1 --enable-lora --max-lora-rank 32 --lora-modules sql=adapters/sql
