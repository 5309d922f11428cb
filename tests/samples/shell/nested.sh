#!/usr/bin/env bash
IMAGE=vllm/vllm-openai:v0.11.0
LEN=8192
docker run -d --name llm --gpus '"device=0"' --ipc=host \
  -e HF_TOKEN -e VLLM_LOGGING_LEVEL=DEBUG \
  --entrypoint bash "$IMAGE" -lc "set -e
pip list
exec vllm serve org/model \\
  --max-model-len $LEN \\
  --served-model-name 'my model'"

ssh -p 2222 node1 'cd /srv && vllm serve org/model --port 8001'

cat > /tmp/start.sh <<'EOF'
#!/bin/bash
exec python3 -m vllm.entrypoints.openai.api_server --model org/model --port ${PORT:-8003}
EOF

kubectl apply -f - <<EOF
apiVersion: v1
kind: Pod
metadata: {name: llm}
spec:
  containers:
    - name: llm
      image: vllm/vllm-openai:v0.11.0
      args: ["--model", "org/model", "--max-model-len", "4096"]
EOF
