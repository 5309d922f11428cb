: <<'COMMENT'
vllm serve org/commented --port 1
COMMENT
cat <<EOF2
Usage: vllm serve MODEL --port 8000
EOF2
read -r -d '' HELP <<'H'
vllm serve org/helptext
H
alias v='vllm serve org/alias'
if false; then vllm serve org/dead; fi
( cd /opt && vllm serve org/sub --port 2 )
{ vllm serve org/brace --port 3; } 2>&1 | tee l
time -p vllm serve org/time
! vllm serve org/neg --port 4
vllm serve org/redir>out.log 2>&1 --port 5
while true; do vllm serve org/while --port 6; sleep 1; done
timeout -k 5 1h vllm serve org/t --port 7 || exit 1
vllm serve "org/""glued" --served-model-name=a' b'"c" --port=$'8'
sglang serve --model-path org/no; python -m sglang.launch_server --model-path org/no --tensor-parallel-size 2
trtllm-serve org/no --max_seq_len 4
VLLM_USE_V1=1 \
  CUDA_VISIBLE_DEVICES=0,1 \
  vllm serve org/env --port 8
function run() { "$@"; }
run vllm serve org/runfn --port 9
coproc vllm serve org/coproc
vllm serve org/q --limit-mm-per-prompt '{"image": 4}' --compilation-config='{"level":3}' -O3 -cc.mode=3
vllm serve \
	org/tab	--port	10
