#!/bin/sh
# Values that differ by branch, and one that does not.
case "$1" in
  small) LEN=4096 DTYPE=auto ;;
  large) LEN=32768 DTYPE=auto ;;
  *) echo "usage: $0 small|large: starts vllm serve" >&2; exit 2 ;;
esac
EXTRA=""
if [ -n "$ADAPTER" ]; then
  EXTRA="$EXTRA --enable-lora --max-lora-rank 32"
fi
pkill -f "vllm serve" || true
nohup vllm serve org/größe-7b --dtype $DTYPE --max-model-len $LEN $EXTRA \
  --speculative-config '{"method": "ngram", "num_speculative_tokens": 4}' >vllm.log 2>&1 &
