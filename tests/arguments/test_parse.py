"""Argument lists against what vLLM's own parsers do, release by release."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest

from lint_vllm import parse_arguments
from lint_vllm.arguments.model import ArgumentSet
from lint_vllm.arguments.tables import known_releases

MODULE = ["python3", "-m", "vllm.entrypoints.openai.api_server"]


def serve(line: str | list[str], release: str = "0.33.0", folder: pathlib.Path | None = None) -> ArgumentSet:
    words = line.split() if isinstance(line, str) else line
    return parse_arguments(["vllm", "serve", *words], release, None if folder is None else str(folder))


def module(line: str | list[str], release: str = "0.33.0", folder: pathlib.Path | None = None) -> ArgumentSet:
    words = line.split() if isinstance(line, str) else line
    return parse_arguments([*MODULE, *words], release, None if folder is None else str(folder))


def kinds(found: ArgumentSet) -> list[str]:
    return [problem.kind for problem in found.problems if problem.is_error]


# ---------------------------------------------------------------- names
@pytest.mark.parametrize(
    ("line", "release", "values"),
    [
        ("m --max_model_len 4096", "0.33.0", {"max_model_len": 4096}),
        ("m --max-model_len=4096", "0.6.6", {"max_model_len": 4096}),
        ("m --gpu-memory-util 0.8", "0.33.0", {"gpu_memory_utilization": 0.8}),
        ("m -tp 2 -pp=2", "0.33.0", {"tensor_parallel_size": 2, "pipeline_parallel_size": 2}),
        ("m -qawq", "0.33.0", {"quantization": "awq"}),
        ("m --no-enable-prefix-caching", "0.9.2", {"enable_prefix_caching": False}),
        ("m --no_enable_prefix_caching", "0.33.0", {"enable_prefix_caching": False}),
        ("m --disable-prefix-caching", "0.33.0", {"enable_prefix_caching": False}),
        ("m --disable-log-requests", "0.9.2", {"disable_log_requests": True}),
        ("m --disable-log-requests", "0.33.0", {}),
        ("m --port 8000", "0.33.0", {}),
        ("m --port 8001 --port 8002", "0.33.0", {"port": 8002}),
        ("m --max-model-len 32k", "0.33.0", {"max_model_len": 32000}),
        ("m --max-model-len 32K", "0.33.0", {"max_model_len": 32768}),
        ("m --max-model-len auto", "0.33.0", {"max_model_len": -1}),
        ("m --max-model-len=-1", "0.14.1", {"max_model_len": -1}),
        ("m --kv-cache-memory-bytes 1T", "0.13.0", {"kv_cache_memory_bytes": 2**40}),
        ("m --device cuda", "0.27.1", {"device_ids": ["cuda"]}),
        ("m --moe-backend DEEP-GEMM", "0.33.0", {"moe_backend": "deep_gemm"}),
        ("m --safetensors-load-strategy None", "0.33.0", {}),
        ("m --enable-chunked-prefill False", "0.7.3", {"enable_chunked_prefill": False}),
        ("m --enable-chunked-prefill", "0.7.3", {"enable_chunked_prefill": True}),
        ("m --middleware a --middleware b", "0.33.0", {"middleware": ["a", "b"]}),
        ("m --served-model-name a b", "0.33.0", {"served_model_name": ["a", "b"]}),
        ("m --limit-mm-per-prompt image=2,video=1", "0.7.3", {"limit_mm_per_prompt": {"image": 2, "video": 1}}),
        ("m --limit-mm-per-prompt.image 2", "0.33.0", {"limit_mm_per_prompt": {"image": 2}}),
        ("m -O3", "0.33.0", {"optimization_level": "3"}),
        ("m -O 1", "0.12.0", {"optimization_level": "1"}),
        ("m -O3", "0.11.2", {"compilation_config": {"mode": 3}}),
        ("m -O3", "0.10.2", {"compilation_config": {"level": 3}}),
        ("m -O.cudagraph_mode NONE", "0.12.0", {"compilation_config": {"cudagraph_mode": "NONE"}}),
        ("m -cc.cudagraph_mode full", "0.33.0", {"compilation_config": {"cudagraph_mode": "full"}}),
        (
            "m --compilation-config.cudagraph_capture_sizes+=1,2",
            "0.33.0",
            {"compilation_config": {"cudagraph_capture_sizes": [1, 2]}},
        ),
        (
            "m --kv-transfer-config.kv_port 8k --kv-transfer-config.kv_role kv_both",
            "0.20.2",
            {"kv_transfer_config": {"kv_port": 8000, "kv_role": "kv_both"}},
        ),
        ("m --lora-modules a=/l/a", "0.33.0", {"lora_modules": [{"name": "a", "path": "/l/a"}]}),
        ('m --hf-overrides {"a":1}', "0.33.0", {"hf_overrides": {"a": 1}}),
        ("m --hf-overrides name", "0.33.0", {"hf_overrides": "name"}),
    ],
)
def test_values(line: str, release: str, values: dict[str, Any]) -> None:
    found = serve(line, release)
    assert kinds(found) == []
    assert dict(found.values) == values
    assert found.model == "m"


@pytest.mark.parametrize(
    ("line", "release", "expected"),
    [
        ("m -tp2", "0.33.0", ["unknown"]),
        ("m -max-model-len 1", "0.33.0", ["unknown"]),
        ("m --MAX-MODEL-LEN 1", "0.33.0", ["unknown"]),
        ("m --swap-space 4", "0.33.0", ["removed"]),
        ("m --swap-space 4", "0.17.1", []),
        ("m --runner pooling", "0.9.2", ["unknown"]),
        ("m --device cuda", "0.31.0", ["ambiguous"]),
        ("m --device cuda", "0.10.0", ["removed"]),
        ("m --kv-cache fp8", "0.33.0", ["ambiguous"]),
        ("m -p 8000", "0.33.0", ["ambiguous"]),
        ("m --port", "0.33.0", ["missing_value"]),
        ("m --port --enforce-eager", "0.33.0", ["missing_value"]),
        ("m --port -- 8001", "0.33.0", ["missing_value", "stray"]),
        ("m --served-model-name", "0.33.0", ["missing_value"]),
        ("m --enforce-eager true", "0.33.0", ["stray"]),
        ("m --enforce-eager=true", "0.33.0", ["unexpected_value"]),
        ("m -ep=true", "0.33.0", ["unexpected_value"]),
        ("m extra", "0.33.0", ["stray"]),
        ("m max-model-len=4", "0.33.0", ["stray"]),
        ("m --dtype fp16", "0.33.0", ["bad_value"]),
        ("m --block-size 7", "0.16.0", ["bad_value"]),
        ("m --block-size 7", "0.33.0", []),
        ("m --max-num-seqs 1k", "0.33.0", ["bad_value"]),
        ("m --max-model-len 1.5K", "0.33.0", ["bad_value"]),
        ("m --max-model-len 32k", "0.7.3", ["bad_value"]),
        ("m --max-model-len 1t", "0.12.0", ["bad_value"]),
        ("m --max-model-len auto", "0.13.0", ["bad_value"]),
        ("m --safetensors-load-strategy None", "0.30.0", ["bad_value"]),
        ("m --speculative-config ngram", "0.33.0", ["bad_value"]),
        ('m --compilation-config {"badkey":1}', "0.33.0", ["bad_value"]),
        ('m --compilation-config {"badkey":1}', "0.10.2", []),
        ("m --eplb-config null", "0.33.0", ["bad_value"]),
        ('m --kv-transfer-config {"kv_connector":"x"}', "0.33.0", ["bad_value"]),
        ('m --profiler-config {"profiler":"torch"}', "0.33.0", ["bad_value"]),
        ("m --gpu-memory-utilization -0.1", "0.33.0", ["bad_value"]),
        ("m --gpu-memory-utilization -0.1 --port 1", "0.33.0", ["bad_value"]),
        ("m --gpu-memory-utilization -0.1", "0.8.5", []),
        ("m --enable-auto-tool-choice", "0.33.0", ["conflict"]),
        ("m --enable-auto-tool-choice", "0.6.6", ["conflict"]),
        ("m --enable-log-outputs", "0.33.0", ["conflict"]),
        ("m --enable-log-outputs", "0.10.2", []),
        ("m --model other", "0.33.0", ["stray"]),
        ("--model m", "0.33.0", []),
        ("--model m", "0.9.2", ["bad_value"]),
        ("--port 1", "0.7.3", ["missing_value"]),
        ("--port 1", "0.33.0", []),
        ("--served-model-name a m", "0.33.0", ["missing_value"]),
        ("--served-model-name a m", "0.16.0", []),
        ("m -h", "0.33.0", ["other"]),
    ],
)
def test_refusals(line: str, release: str, expected: list[str]) -> None:
    assert kinds(serve(line, release)) == expected


@pytest.mark.parametrize(
    ("line", "release", "model"),
    [
        ("org/m", "0.33.0", "org/m"),
        ("--enforce-eager org/m", "0.33.0", "org/m"),
        ("--port 1 org/m --enforce-eager", "0.9.2", "org/m"),
        ("-- org/m", "0.33.0", "org/m"),
        ("--model org/m -tp 2", "0.33.0", "org/m"),
        ("", "0.33.0", "Qwen/Qwen3-0.6B"),
        ("", "0.9.2", "facebook/opt-125m"),
        ("--served-model-name a org/m", "0.16.0", "Qwen/Qwen3-0.6B"),
    ],
)
def test_model_of_serve(line: str, release: str, model: str) -> None:
    assert serve(line, release).model == model


def test_module_ignores_a_positional_model() -> None:
    found = module("org/m --port 1")
    assert found.model == "Qwen/Qwen3-0.6B"
    assert [problem.kind for problem in found.problems] == ["ignored"]
    assert not found.problems[0].is_error
    assert kinds(module("org/m", "0.9.2")) == ["stray"]


def test_only_serve_knows_some_options() -> None:
    assert kinds(module("--model m --headless", "0.9.2")) == ["unknown"]
    assert kinds(serve("m --headless", "0.9.2")) == []


def test_problems_carry_ways_out() -> None:
    typo = serve("m --tensor-paralel-size 2").problems[0]
    assert typo.suggestions == ("--tensor-parallel-size",)
    single = serve("m -max-model-len 2").problems[0]
    assert single.suggestions[0] == "--max-model-len"
    dash = serve(["m", "—max-model-len", "2"]).problems[0]
    assert (dash.kind, dash.suggestions) == ("stray", ("--max-model-len",))
    gone = serve("m --task embed").problems[0]
    assert (gone.kind, gone.removed_in) == ("removed", "0.13.0")
    assert "--runner" in (gone.successor or "")
    new = serve("m --runner pooling", "0.8.5").problems[0]
    assert new.introduced_in == "0.10.1"
    off = serve("m --enable-prefix-caching false").problems[0]
    assert off.suggestions == ("--no-enable-prefix-caching",)
    case = serve("m --dtype BFLOAT16").problems[0]
    assert case.suggestions == ("bfloat16",)
    key = serve(["m", "--compilation-config", '{"cudagraph_mod": "NONE"}']).problems[0]
    assert key.suggestions == ("cudagraph_mode",)
    joined = serve(["m", "--max-model-len 4096"]).problems[0]
    assert (joined.kind, joined.suggestions) == ("unknown", ("--max-model-len",))


def test_duplicates_are_no_errors() -> None:
    found = serve("m --max-model-len 1 --max_model_len 2")
    assert [(p.kind, p.is_error) for p in found.problems] == [("duplicate", False)]
    assert found.values["max_model_len"] == 2
    assert [p.kind for p in serve("m --enforce-eager --no-enforce-eager").problems] == ["duplicate"]


def test_order_is_that_of_vllm() -> None:
    found = serve("m --nonsense 1 --port x --kv-cache y extra")
    assert kinds(found) == ["ambiguous", "bad_value", "unknown"]


def test_config_class_errors_are_apart() -> None:
    found = serve("m --gpu-memory-utilization 1.5 --max-num-seqs 64 --max-num-batched-tokens 32 -tp 0")
    assert kinds(found) == []
    assert {(p.known_flag, p.stage) for p in found.late_problems} == {
        ("--gpu-memory-utilization", "config"),
        ("--max-num-batched-tokens", "config"),
        ("--tensor-parallel-size", "config"),
    }
    assert "(32) is below --max-num-seqs (64)" in " ".join(p.message for p in found.late_problems)


@pytest.mark.parametrize(
    ("line", "release", "late"),
    [
        ("m --max-model-len 0", "0.33.0", 1),
        ("m --max-model-len -1", "0.33.0", 0),
        ("m --quantization gguf", "0.33.0", 0),
        ("m --kv-cache-dtype fp9", "0.33.0", 1),
        ("m --kv-cache-dtype fp8", "0.33.0", 0),
        ("m --tool-call-parser nonsense", "0.33.0", 1),
        ("m --tool-call-parser nonsense --tool-parser-plugin p.py", "0.33.0", 0),
        ("m --enable-eplb", "0.33.0", 1),
        ("m -tp 4 -dcp 3", "0.33.0", 1),
        ("m --enable-lora --max-loras 4 --max-cpu-loras 2", "0.33.0", 1),
        ("m --no-enable-chunked-prefill --max-num-batched-tokens 2048 --max-model-len 4096", "0.33.0", 1),
        ("m --max-num-batched-tokens 2048 --max-model-len 4096", "0.33.0", 0),
        ("m --headless --api-server-count 2", "0.33.0", 1),
        ("m --dtype half --max-num-seqs 1", "0.33.0", 0),
    ],
)
def test_late_problems(line: str, release: str, late: int) -> None:
    found = serve(line, release)
    assert kinds(found) == []
    assert len(found.late_problems) == late, [p.message for p in found.late_problems]


# ---------------------------------------------------------------- configuration files
def write(folder: pathlib.Path, text: str, name: str = "c.yaml") -> pathlib.Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("text", "release", "values"),
    [
        ("port: 8001\nmax_model_len: 4096\n", "0.33.0", {"port": 8001, "max_model_len": 4096}),
        ("enforce-eager: yes\n", "0.33.0", {"enforce_eager": True}),
        ("enable-prefix-caching: false\n", "0.33.0", {}),
        ("no-enable-prefix-caching: true\n", "0.33.0", {"enable_prefix_caching": False}),
        ("served-model-name: [a, b]\n", "0.33.0", {"served_model_name": ["a", "b"]}),
        ("served-model-name: [a, b]\n", "0.9.2", {"served_model_name": ["['a', 'b']"]}),
        ("hf-overrides:\n  a: 1\n", "0.33.0", {"hf_overrides": {"a": 1}}),
        ("max-model-len: 32_768\n", "0.33.0", {"max_model_len": 32768}),
        ("port: 8001\nport: 8002\n", "0.33.0", {"port": 8002}),
        ("base: &b\n  port: 8001\n<<: *b\nport: 8003\n", "0.33.0", None),
        ("compilation-config.mode: 3\n", "0.33.0", {"compilation_config": {"mode": 3}}),
    ],
)
def test_config_files(tmp_path: pathlib.Path, text: str, release: str, values: dict[str, Any] | None) -> None:
    found = serve("m --config c.yaml", release, write(tmp_path, text))
    if values is None:
        assert kinds(found)
        return
    assert kinds(found) == []
    assert dict(found.values) == values


def test_command_line_beats_the_file(tmp_path: pathlib.Path) -> None:
    found = serve("m --port 9000 --config c.yaml", folder=write(tmp_path, "port: 8001\nseed: 3\n"))
    assert dict(found.values) == {"port": 9000, "seed": 3}
    assert [problem.kind for problem in found.problems] == []


def test_false_is_dropped_by_serve_and_says_so(tmp_path: pathlib.Path) -> None:
    write(tmp_path, "model: m\nenable-prefix-caching: false\n")
    found = serve("--config c.yaml", folder=tmp_path)
    assert [(p.kind, p.is_error, p.flag) for p in found.problems] == [("ignored", False, "--enable-prefix-caching")]
    assert found.problems[0].span.text == "enable-prefix-caching: false"
    kept = module("--config c.yaml", folder=tmp_path)
    assert dict(kept.values) == {"enable_prefix_caching": False}
    assert dict(module("--config c.yaml", "0.27.1", tmp_path).values) == {}


@pytest.mark.parametrize(
    ("name", "text", "line", "kind"),
    [
        ("c.json", "{}", "m --config c.json", "bad_value"),
        ("c.yaml", "port: [1\n", "m --config c.yaml", "bad_value"),
        ("c.yaml", "- a\n", "m --config c.yaml", "bad_value"),
        ("c.yaml", "no-such: 1\n", "m --config c.yaml", "unknown"),
        ("c.yaml", "enforce-eager:\n", "m --config c.yaml", "stray"),
        ("c.yaml", "port: 1\n", "m --config", "missing_value"),
        ("c.yaml", "port: 1\n", "--config c.yaml", "missing_value"),
        ("c.yaml", "port: 1\n", "m --config c.yaml --config c.yaml", "conflict"),
        ("c.yaml", "port: 1\n", "m --config gone.yaml", "bad_value"),
    ],
)
def test_config_refusals(tmp_path: pathlib.Path, name: str, text: str, line: str, kind: str) -> None:
    assert kinds(serve(line, folder=write(tmp_path, text, name))) == [kind]


def test_config_with_equals_is_ignored(tmp_path: pathlib.Path) -> None:
    found = serve("m --config=c.yaml", folder=write(tmp_path, "port: 1\n"))
    assert dict(found.values) == {}
    assert [(p.kind, p.known_flag) for p in found.problems] == [("ignored", "--config")]


def test_model_from_the_file(tmp_path: pathlib.Path) -> None:
    found = serve("--config c.yaml", folder=write(tmp_path, "model: org/m\nport: 1\n"))
    assert found.model == "org/m"
    assert found.model_span is not None
    assert found.model_span.text == "org/m"
    assert found.get("port") is not None
    assert found.get("port").from_config  # type: ignore[union-attr]


@pytest.mark.parametrize("release", known_releases())
def test_a_common_launch_is_read_by_every_release(release: str) -> None:
    found = serve("org/m --max-model-len 4096 --tensor-parallel-size 2 --dtype bfloat16 --host 0.0.0.0", release)
    assert kinds(found) == []
    assert not found.late_problems
    assert found.values["tensor_parallel_size"] == 2
    assert found.value("gpu_memory_utilization") in (0.9, 0.92)


def test_words_alone_and_bad_versions() -> None:
    assert parse_arguments(["m", "--port", "1"], "0.33.0").model == "m"
    with pytest.raises(ValueError, match="release"):
        parse_arguments(["m"], "latest")
