from vllm import LLM

llm = LLM(model="Qwen/Qwen3-Next-80B-A3B-Instruct", max_model_len=8192, trust_remote_code=True)
