from vllm import LLM

llm = LLM(model='./qwen2-72b-w8a16', tensor_parallel_size=4, max_model_len=8192)
