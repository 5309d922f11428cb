"""Start-up logs of several releases, read and explained."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.result import Budget
from lint_vllm.log import StartupLog, read_log, read_starts
from lint_vllm.log_explanation import compare, explain

OLD = """\
INFO 12-20 10:00:00 llm_engine.py:234] Initializing an LLM engine (v0.6.6) with config: model='acme/small', dtype=torch.float16,\
 max_seq_len=4096, tensor_parallel_size=1, quantization=None, enforce_eager=False, kv_cache_dtype=auto,
INFO 12-20 10:00:20 model_runner.py:1099] Loading model weights took 6.5000 GB
INFO 12-20 10:00:22 worker.py:241] Memory profiling takes 1.91 seconds
INFO 12-20 10:00:22 worker.py:241] the current vLLM instance can use total_gpu_memory (14.74GiB) x gpu_memory_utilization (0.90) = 13.27GiB
INFO 12-20 10:00:22 worker.py:241] model weights take 6.50GiB; non_torch_memory takes 0.05GiB; PyTorch activation peak memory takes\
 0.90GiB; the rest of the memory reserved for KV Cache is 5.82GiB.
INFO 12-20 10:00:22 distributed_gpu_executor.py:57] # GPU blocks: 3,000, # CPU blocks: 1170
INFO 12-20 10:00:22 distributed_gpu_executor.py:61] Maximum concurrency for 4096 tokens per request: 11.72x
INFO 12-20 10:00:40 model_runner.py:1535] Graph capturing finished in 18 secs, took 0.31 GiB
INFO:     Application startup complete.
"""

MIDDLE = """\
\x1b[1;36m(Worker_TP1 pid=9)\x1b[0;0m INFO 09-23 18:12:33 [gpu_worker.py:298] Available KV cache memory: 55.10 GiB
(Worker_TP0 pid=8) INFO 09-23 18:12:33 [gpu_worker.py:298] Available KV cache memory: 55.15 GiB
(EngineCore_DP0 pid=3) INFO 09-23 18:12:34 [kv_cache_utils.py:864] GPU KV cache size: 451,744 tokens
(EngineCore_DP0 pid=3) INFO 09-23 18:12:34 [kv_cache_utils.py:868] Maximum concurrency for 4,096 tokens per request: 110.29x
(Worker_TP0 pid=8) INFO 09-23 18:12:39 [gpu_worker.py:391] Free memory on device (78.66/79.19 GiB) on startup. Desired GPU memory\
 utilization is (0.9, 71.27 GiB). Actual usage is 14.08 GiB for weight, 1.97 GiB for peak activation, 0.07 GiB for non-torch memory,\
 and 0.67 GiB for CUDAGraph memory. Replace gpu_memory_utilization config with `--kv-cache-memory=58333988249`
(EngineCore_DP0 pid=3) INFO 09-23 18:12:39 [core.py:218] init engine (profile, create kv cache, warmup model) took 17.82 seconds
"""

NEW = """\
INFO 10-06 [utils.py:278] non-default args: {'model': 'acme/large', 'gpu_memory_utilization': 0.92, 'max_num_seqs': 64}
(EngineCore pid=3) INFO 10-06 [core.py:112] Initializing a V1 LLM engine (v0.31.0) with config: model='acme/large', dtype=torch.bfloat16
(EngineCore pid=3) INFO 10-06 [model_runner.py:407] Model loading took 15.0 GiB memory and 5.4 seconds
(EngineCore pid=3) INFO 10-06 [gpu_worker.py:700] CUDA graph memory profiling is enabled (default since v0.21.0).
(EngineCore pid=3) INFO 10-06 [gpu_worker.py:692] Available KV cache memory: 56.21 GiB
(EngineCore pid=3) INFO 10-06 [kv_cache_utils.py:24] GPU KV cache size: 460,496 tokens, Maximum concurrency for 131,072 tokens per\
 request: 3.51x
(EngineCore pid=3) INFO 10-06 [gpu_worker.py:902] CUDA graph pool memory: 0.23 GiB (actual), 0.30 GiB (estimated), difference: 0.07 GiB
(EngineCore pid=3) INFO 10-06 [gpu_worker.py:955] Free memory on device cuda:0 (78.84/79.25 GiB) on startup. Desired GPU memory
  utilization is (0.92, 72.91 GiB). Actual usage is 15.26 GiB for consumed memory (weights + non-torch), 1.44 GiB for peak activation,
  and 0.23 GiB for CUDAGraph memory.
(APIServer pid=1) INFO:     Application startup complete.
"""


def test_a_log_of_the_old_engine() -> None:
    log = read_log(OLD)
    assert (log.release, log.engine, log.model, log.dtype) == ("0.6.6", "V0", "acme/small", "float16")
    assert (log.weights_gib, log.non_torch_gib, log.activations_gib, log.kv_available_gib) == (6.5, 0.05, 0.9, 5.82)
    assert (log.gpu_blocks, log.max_concurrency, log.length) == (3000, 11.72, 4096)
    assert (log.cudagraph_gib, log.outcome, log.phase) == (0.31, "starts", "")


def test_ranks_give_the_tightest_figures() -> None:
    log = read_log(MIDDLE)
    assert (log.kv_available_gib, log.kv_tokens) == (55.10, 451744)
    assert (log.total_gib, log.free_at_start_gib, log.requested_gib) == (79.19, 78.66, 71.27)
    assert log.framework_gib == 0.07
    assert log.outcome == "starts"


def test_the_new_peak_holds_the_graphs() -> None:
    log = read_log(NEW)
    assert log.activation_peak_gib == 1.44
    assert log.activations_gib == pytest.approx(1.14)
    assert log.framework_gib == pytest.approx(0.26)
    assert log.runtime_gib == pytest.approx(1.70)
    assert (log.max_num_seqs, log.utilization, log.length) == (64, 0.92, 131072)


@pytest.mark.parametrize(
    ("text", "outcome", "phase"),
    [
        (
            "ValueError: Free memory on device cuda:0 (12.18/23.56 GiB) on startup is less than desired GPU memory utilization"
            " (0.92, 21.67 GiB). Decrease GPU memory utilization",
            "refused_free_memory",
            "start check",
        ),
        (
            "ValueError: To serve at least one request with the models's max seq len (262144), (24.00 GiB KV cache is needed, which"
            " is larger than the available KV cache memory (9.05 GiB). Based on the available memory, the estimated maximum model"
            " length is 98304.",
            "refused_kv",
            "KV sizing",
        ),
        (
            "ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache"
            " (41152). Try increasing",
            "refused_kv",
            "KV sizing",
        ),
        ("ValueError: No available memory for the cache blocks. Try increasing", "oom_profile", "KV sizing"),
        (
            "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 14.58 GiB total capacity; 13.98 GiB"
            " already allocated; 2.75 MiB free; 14.00 GiB reserved",
            "oom_load",
            "weight loading",
        ),
        (
            "Model loading took 9.0 GiB and 3.0 seconds\ntorch.OutOfMemoryError: HIP out of memory. Tried to allocate 256.00 GiB. GPU 0"
            " has a total capacity of 80.00 GiB of which 25.38 GiB is free.",
            "oom_profile",
            "profiling",
        ),
        (
            "Model loading took 9.0 GiB and 3.0 seconds\nAvailable KV cache memory: 3.00 GiB\nGPU KV cache size: 4,096 tokens\n"
            "torch.AcceleratorError: CUDA error: out of memory",
            "oom_profile",
            "graph capture",
        ),
        (
            "Application startup complete.\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.27 GiB. GPU 3 has a total"
            " capacity of 79.33 GiB of which 109.00 MiB is free.",
            "oom_runtime",
            "serving",
        ),
        (
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 1024 dummy requests.",
            "oom_profile",
            "sampler warm-up",
        ),
    ],
)
def test_failures_name_their_phase(text: str, outcome: str, phase: str) -> None:
    log = read_log(text)
    assert (log.outcome, log.phase) == (outcome, phase)
    assert log.reason
    assert len(explain(log)[0]) > 40


def test_of_several_starts_the_last_one_counts() -> None:
    starts = list(read_starts(NEW + NEW.replace("56.21", "50.00")))
    assert [log.kv_available_gib for log in starts if log.measured_anything] == [56.21, 50.00]
    assert read_log(NEW + NEW.replace("56.21", "50.00")).kv_available_gib == 50.00


def test_plain_words() -> None:
    sentences = " ".join(explain(read_log(NEW)))
    assert "vLLM 0.31.0 started with acme/large." in sentences
    assert "3 full requests of 131,072 tokens at once (460,496 tokens in all)" in sentences
    refusal = explain(
        read_log("Free memory on device (12.18/23.56 GiB) on startup is less than desired GPU memory utilization (0.92, 21.67 GiB)")
    )
    assert "give at most 0.51" in refusal[0]
    assert explain(StartupLog()) == ("The log shows no memory figures of a vLLM start.",)


def test_comparison_item_by_item() -> None:
    budget = Budget(
        "starts",
        "likely",
        weights=Quantity.exact(15.0 * GIB),
        kv_available=Quantity(50 * GIB, 55 * GIB, 56 * GIB),
        tokens=Quantity(400_000, 450_000, 470_000),
    )
    rows = {row.item: row for row in compare(read_log(NEW), budget)}
    assert set(rows) == {"weights", "KV pool", "tokens"}
    assert rows["weights"].inside
    assert not rows["KV pool"].inside
    assert rows["tokens"].inside


def test_printed_arguments_are_read_as_a_literal_only() -> None:
    log = read_log("non-default args: {'model': __import__('os').getcwd()}\nModel loading took 1.0 GiB and 2.0 seconds")
    assert log.arguments == {}
    assert log.weights_gib == 1.0


@settings(max_examples=200)
@given(st.text(max_size=400), st.integers(0, len(NEW)), st.integers(0, len(OLD)))
def test_no_log_crashes(noise: str, cut_new: int, cut_old: int) -> None:
    log = read_log(NEW[cut_new:] + noise + OLD[:cut_old])
    explain(log)
