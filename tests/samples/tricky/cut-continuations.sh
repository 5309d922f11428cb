vllm serve org/x \
  --port 8000 \
  # --enable-prefix-caching \
  --max-model-len 4096 \ 
  --dtype bfloat16

vllm serve org/y --port 1 \

  --dtype half
