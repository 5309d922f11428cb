vllm serve org/m --api-key ${K:-} --trust-remote-code ${EXTRA:-}
vllm serve org/m2 --port 1 ${EXTRA:-}
