CMD="vllm serve org/x"
CMD="$CMD --port 8000"
CMD+=" --max-model-len 2048"
if [[ $USE_EP == true ]]; then CMD+=" --enable-expert-parallel"; fi
[ -n "$QUANT" ] && CMD="$CMD --quantization $QUANT"
echo "$CMD"
eval "$CMD"
ARGS="--model org/y --port 81"
python3 -m vllm.entrypoints.openai.api_server $ARGS ${EXTRA_ARGS}
$CMD
