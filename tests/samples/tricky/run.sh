#!/bin/bash
vllm serve "$MODEL" --port "${PORT:-8000}" "$@"
