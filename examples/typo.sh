#!/usr/bin/env bash
# lint-vllm: vllm=0.33.0
vllm serve Qwen/Qwen3-8B \
  --max-model-len 16384 \
  --tensor-paralel-size 1 \
  --override-generation-config {"temperature": 0.2}
