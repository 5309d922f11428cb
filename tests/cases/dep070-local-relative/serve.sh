#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
vllm serve ./models/suport-7b --served-model-name support --host 127.0.0.1 --max-model-len 4096
