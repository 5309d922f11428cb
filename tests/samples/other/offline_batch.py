"""Offline engines, one with options of the command line, one from a table."""

import argparse
import os
from dataclasses import asdict

import vllm as engine
from vllm import EngineArgs, SamplingParams
from vllm import LLM as Model

os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = "spawn"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "0,1")

DEFAULTS = {"dtype": "bfloat16", "gpu_memory_utilization": 0.9}


def build(name, length=8192, **extra):
    options = dict(DEFAULTS, max_model_len=length)
    options["enable_prefix_caching"] = True
    options.update(extra)
    return Model(model=name, **options)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", default="mistralai/Mistral-7B-Instruct-v0.3")
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--quantization")
    args = parser.parse_args()
    first = engine.LLM(
        args.model,
        tensor_parallel_size=args.tp,
        quantization=args.quantization,
        max_num_seqs=int(os.environ.get("SEQS", "64")),
    )
    second = build("Qwen/Qwen2.5-7B-Instruct", max_num_batched_tokens=8192)
    arguments = EngineArgs(model="facebook/opt-125m", seed=1)
    third = Model(**asdict(arguments))
    return first, second, third, SamplingParams(max_tokens=256)


if __name__ == "__main__":
    main()
