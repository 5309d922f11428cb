#!/usr/bin/env bash
vllm serve org/model \
  --host 127.0.0.1 \
  # the card is shared, so:
  --gpu-memory-utilization 0.5
vllm serve org/other \ 
  --max-num-seqs 4
