"""One request of the full context does not fit the cache.

Why: vLLM refuses to start unless a single request of `--max-model-len` tokens fits the KV pool (one block is kept back). What
is left for the pool is the share less weights, activations and graphs; lowering the share only makes it smaller.
Instead: a shorter `--max-model-len`, an FP8 cache, more GPUs, or a smaller checkpoint.
Wrong when: the model's cache layout is not the one of its facts; sliding windows and latent caches are counted as vLLM does.
"""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.judgement import fails_by_images
from lint_vllm.memory_report import all_notes, fixes, gib, place_of, severity_of
from lint_vllm.rule import ArgumentSet, Bad, Facts, Finding, Good, Severity, rule

_CARD = {"gpu": "NVIDIA L40S", "gpu_count": "1", "vllm_version": "0.33.0"}


@rule(
    code="MEM010",
    name="kv-too-small-one-seq",
    severity=Severity.ERROR,
    since="0.1",
    sources=(
        "vllm==0.33.0 v1/core/kv_cache_planning.py _check_enough_kv_cache_memory",
        "vllm-project/vllm#2418",
        "vllm-project/vllm#25350",
    ),
    bad=(
        Bad("vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8 --max-model-len 262144\n", mark="262144", facts=_CARD),
        Bad("model: Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8\nmax-num-seqs: 16\nport: 8000\n", name="serve.yaml", facts=_CARD),
    ),
    good=(
        Good("vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8 --max-model-len 65536\n", facts=_CARD),
        Good('vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8 --max-model-len "$LEN"\n', facts=_CARD),
        Good("vllm serve Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8 --max-model-len auto\n", facts=_CARD),
    ),
)
def kv_too_small_one_seq(args: ArgumentSet, facts: Facts, options: object) -> Iterator[Finding]:
    budget = facts.budget
    severity = severity_of(budget, facts)
    if budget.outcome != "refused_kv" or severity is None or budget.bytes_per_sequence is None or budget.kv_available is None:
        return
    if args.given("cpu_offload_gb") or fails_by_images(facts):
        return
    length = f"one request of {budget.max_model_len:,} tokens" if budget.max_model_len else "one full request"
    derived = "" if args.given("max_model_len") else " (the model's own limit)"
    yield Finding(
        place_of(args, "max_model_len"),
        f"{length}{derived} needs {gib(budget.bytes_per_sequence)} of KV cache on each GPU, {budget.kv_available.gib()} is there: KV sizing "
        "refuses to start",
        fixes=fixes(args, facts, budget),
        notes=all_notes(facts, budget),
        severity=severity,
    )
