import os

os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"

from vllm import LLM, SamplingParams

llm = LLM(model="Qwen/Qwen2.5-72B-Instruct", tensor_parallel_size=4, max_model_len=8192)
print(llm.generate(["hi"], SamplingParams(max_tokens=8)))
