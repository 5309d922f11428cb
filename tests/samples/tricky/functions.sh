log() { echo "[vllm serve] $*"; }
start() {
  local gpu=$1 model=$2 port=${3:-8000}
  shift 3
  log "vllm serve $model --port $port"
  CUDA_VISIBLE_DEVICES=$gpu vllm serve "$model" --port "$port" "$@" &
}
start 0 org/a 8001 --max-model-len 4096
start 1 org/b 8002
pkill -f "vllm serve" || true
ps aux | grep "vllm serve" | grep -v grep
if ! pgrep -f "python -m vllm.entrypoints.openai.api_server --model x" ; then :; fi
which vllm && vllm --version
vllm serve --help
