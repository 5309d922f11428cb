#!/usr/bin/env bash
set -euo pipefail

vllm serve Qwen/Qwen3-Omni-30B-A3B-Instruct \
  --chat-template ./omni.jinja --enable-auto-tool-choice \
  --tool-call-parser hermes \
  --host 127.0.0.1
