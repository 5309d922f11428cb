cat <<'UNIT' | sudo tee /etc/systemd/system/vllm.service >/dev/null
[Service]
ExecStart=/opt/venv/bin/vllm serve Qwen/Qwen2.5-7B-Instruct --port 1
UNIT
MODEL=${1:-org/x}
sudo tee /etc/systemd/system/vllm2.service > /dev/null <<EOF2
[Service]
User=$USER
ExecStart=$(which python3) -m vllm.entrypoints.openai.api_server --model $MODEL --port ${PORT} --max-model-len ${LEN:-4096}
EOF2
cat > docker-compose.yml <<EOF3
services:
  v:
    image: vllm/vllm-openai:${TAG}
    command: --model ${MODEL} --max-model-len $LEN2 --port \${PORT}
    environment: [HF_TOKEN=$HF]
EOF3
kubectl apply -f - <<EOF4
apiVersion: v1
kind: Pod
spec:
  containers:
  - image: vllm/vllm-openai:$T
    args: ["--model=$UNSET", "--port=80"]
EOF4
