docker run -d --gpus all -v $(pwd)/run.sh:/srv/run.sh -e MODEL=org/m --entrypoint bash vllm/vllm-openai:v0.9.0 /srv/run.sh --dtype half
docker run --gpus all -v "$PWD":/w -w /w vllm/vllm-openai:v0.9.0 bash /w/run.sh
