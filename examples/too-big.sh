#!/usr/bin/env bash
# lint-vllm: gpu=RTX4090 vllm=0.33.0
exec vllm serve Qwen/Qwen2.5-14B-Instruct --max-model-len 8192
