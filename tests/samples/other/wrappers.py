"""Other libraries that hand arguments to vLLM."""

import docker
from langchain_community.llms import VLLM
from lm_eval import simple_evaluate
from ray.serve.llm import LLMConfig

chain = VLLM(
    model="mosaicml/mpt-7b",
    trust_remote_code=True,
    max_new_tokens=128,
    vllm_kwargs={"quantization": "awq", "max_model_len": 2048},
)
config = LLMConfig(
    model_loading_config={"model_id": "qwen", "model_source": "Qwen/Qwen2.5-0.5B-Instruct"},
    accelerator_type="A10G",
    engine_kwargs=dict(tensor_parallel_size=2, max_model_len=8192),
)
results = simple_evaluate(
    model="vllm", model_args="pretrained=Qwen/Qwen3-0.6B,gpu_memory_utilization=0.8", tasks=["gsm8k"]
)
container = docker.from_env().containers.run(
    "vllm/vllm-openai:v0.10.2",
    command=["--model", "Qwen/Qwen3-4B", "--max-model-len", "4096"],
    environment={"HF_HOME": "/models"},
    detach=True,
)
variables = {
    "HF_MODEL_ID": "Qwen/Qwen3-14B",
    "OPTION_ROLLING_BATCH": "vllm",
    "OPTION_TENSOR_PARALLEL_DEGREE": "4",
    "OPTION_MAX_MODEL_LEN": "16384",
    "OPTION_ENGINE": "Python",
}
