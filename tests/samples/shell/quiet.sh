#!/usr/bin/env bash
# Mentions, but starts nothing.
usage() {
  cat <<'EOF'
Usage: serve.sh MODEL
  wraps: vllm serve MODEL --max-model-len 4096
EOF
}
[ "$1" = --help ] && { usage; vllm serve --help; exit 0; }
docker pull vllm/vllm-openai:v0.11.0
echo "now run: vllm serve org/model --port 8000"
if ! pgrep -f "vllm serve" >/dev/null; then echo "vllm serve is not running" >&2; fi
ps aux | grep '[v]llm serve' | awk '{print $2}' | xargs kill
vllm bench serve --model org/model --base-url http://localhost:8000
python3 -m sglang.launch_server --model-path org/model --tp-size 2
