#!/bin/bash
case "$1" in
  small) MODEL=Qwen/Qwen3-0.6B; TP=1 ;;
  big) MODEL=Qwen/Qwen3-235B-A22B; TP=8 ;;
  *) echo "usage: $0 small|big   (runs: vllm serve MODEL --tensor-parallel-size N)"; exit 1;;
esac
vllm serve $MODEL -tp $TP --max-num-seqs ${SEQS:=64} --max-model-len $([ "$1" = big ] && echo 8192 || echo 32768)
