for m in Qwen/Qwen3-0.6B Qwen/Qwen3-1.7B; do
  vllm serve "$m" --port 8000 &
done
for i in 0 1 2 3; do
  CUDA_VISIBLE_DEVICES=$i vllm serve meta/x --port $((8000 + i)) &
done
for tp in 1 2 4; do vllm bench throughput --model meta/x -tp $tp; done
MODELS=("a/b" "c/d")
for m in "${MODELS[@]}"; do docker run --rm --gpus all vllm/vllm-openai --model $m; done
