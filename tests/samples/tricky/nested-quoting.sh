ssh gpu1 "docker run -d --gpus '\"device=0,1\"' --name v vllm/vllm-openai:v0.8.5 --model \"$M\" --hf-overrides '{\"rope_scaling\": {\"factor\": 2.0}}' --tensor-parallel-size 2"
tmux new-session -d -s vllm "bash -lc 'source ~/.venv/bin/activate && CUDA_VISIBLE_DEVICES=3 vllm serve org/m --port 9000'"
screen -dmS v bash -c 'cd /opt; exec python -u -m vllm.entrypoints.openai.api_server --model org/m2 --swap-space 8'
su - llm -c "nohup vllm serve org/m3 > /dev/null 2>&1 &"
sudo -u llm env HF_HOME=/x VLLM_USE_V1=0 vllm serve org/m4 --dtype=half
