"""The account that the project began with: one 24 GiB card, four sequences of 32,768 tokens.

Each launch is written as a shell script, a compose file, a Kubernetes manifest and a ``--config`` file; every fix that a memory
finding offers is applied to the file, and the result is judged again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lint_vllm import budget, lint
from lint_vllm.diagnostic import Diagnostic, Fix, Severity
from lint_vllm.examples import compose, pod
from lint_vllm.fixer import apply
from lint_vllm.settings import Stated

GIB = 2**30
CARD = Stated(gpu="NVIDIA GeForce RTX 4090", vllm_version="0.33.0")
FOUR = ("--max-model-len", "32768", "--max-num-seqs", "4")
QWEN, LLAMA = "Qwen/Qwen2.5-7B-Instruct", "meta-llama/Llama-3.1-8B-Instruct"


def shell(model: str, *flags: str) -> tuple[str, str]:
    return "run.sh", f"vllm serve {model} {' '.join(flags)}\n"


def compose_file(model: str, *flags: str) -> tuple[str, str]:
    return "compose.yaml", compose(model, *(f'"{f}"' for f in flags))


def manifest(model: str, *flags: str) -> tuple[str, str]:
    return "pod.yaml", pod(model, *(f'"{f}"' for f in flags))


def config(model: str, *flags: str) -> tuple[str, str]:
    pairs = zip(flags[::2], flags[1::2], strict=True)
    return "serve.yaml", f"model: {model}\n" + "".join(f"{k.lstrip('-')}: {v}\n" for k, v in pairs)


CARRIERS = (shell, compose_file, manifest, config)


def memory_findings(folder: Path, severity: Severity = Severity.WARNING) -> list[Diagnostic]:
    run = lint([folder], facts=CARD, isolated=True)
    assert not [d for d in run.diagnostics if d.code.startswith("SRC")]
    return [d for d in run.diagnostics if d.code.startswith("MEM") and d.severity >= severity]


def write(folder: Path, file: tuple[str, str]) -> Path:
    path = folder / file[0]
    path.write_text(file[1], encoding="utf-8")
    return path


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    ("model", "flags", "expected"),
    [
        (QWEN, FOUR, {"MEM031"}),
        (QWEN, (*FOUR, "--kv-cache-dtype", "fp8"), set()),
        (QWEN, ("--max-model-len", "16384", "--max-num-seqs", "4"), set()),
        (QWEN, ("--max-model-len", "32768", "--max-num-seqs", "2"), set()),
        ("Qwen/Qwen2.5-7B-Instruct-GPTQ-Int8", FOUR, set()),
        ("Qwen/Qwen2.5-7B-Instruct-AWQ", FOUR, set()),
        (LLAMA, FOUR, {"MEM031"}),
        ("Qwen/Qwen2.5-14B-Instruct", FOUR, {"MEM001"}),
        (QWEN, ("--max-model-len", "8192", "--gpu-memory-utilization", "0.98"), {"MEM022"}),
    ],
)
def test_what_holds_on_24_gib(tmp_path: Path, carrier, model: str, flags: tuple[str, ...], expected: set[str]) -> None:  # type: ignore[no-untyped-def]
    write(tmp_path, carrier(model, *flags))
    assert {d.code for d in memory_findings(tmp_path)} == expected


def test_the_figures_of_the_account() -> None:
    account = budget(["vllm", "serve", QWEN, *FOUR], facts=CARD, isolated=True)
    assert account.weights is not None
    assert account.demand is not None
    assert round(account.weights.likely / GIB, 1) == 14.2
    assert account.bytes_per_sequence == 2 * 28 * 32768 * 4 * 128 * 2 == 1.75 * GIB
    assert account.outcome == "starts"
    assert 2.5 <= account.demand.fits.low <= account.demand.fits.likely < 4


def test_eight_heads_need_four_gib_a_sequence() -> None:
    account = budget(["vllm", "serve", LLAMA, *FOUR], facts=CARD, isolated=True)
    assert account.bytes_per_sequence == 4 * GIB
    assert account.demand is not None
    assert 1 <= account.demand.fits.low <= account.demand.fits.high < 2


def test_four_bit_llama_is_on_the_edge(tmp_path: Path) -> None:
    model = "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4"
    account = budget(["vllm", "serve", model, *FOUR], facts=CARD, isolated=True)
    assert account.kv_available is not None
    assert account.demand is not None
    assert 14 <= account.kv_available.likely / GIB <= 16
    assert account.demand.fits.low < 4
    write(tmp_path, shell(model, *FOUR))
    assert {d.code for d in memory_findings(tmp_path)} <= {"MEM031"}


def test_lower_utilization_never_creates_room() -> None:
    pools = []
    for share in ("0.95", "0.92", "0.85", "0.7"):
        account = budget(["vllm", "serve", QWEN, *FOUR, "--gpu-memory-utilization", share], facts=CARD, isolated=True)
        assert account.kv_available is not None
        pools.append(account.kv_available.likely)
    assert pools == sorted(pools, reverse=True)


@pytest.mark.parametrize("carrier", CARRIERS)
def test_the_share_is_lowered_safely(tmp_path: Path, carrier) -> None:  # type: ignore[no-untyped-def]
    write(tmp_path, carrier(QWEN, "--max-model-len", "8192", "--gpu-memory-utilization", "0.98"))
    (finding,) = memory_findings(tmp_path)
    assert finding.span.text == "0.98"
    assert finding.fixes[0].applicability.value == "safe"
    assert [e.text for e in finding.fixes[0].edits] == ["0.95"]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_context_far_above_the_need(tmp_path: Path, carrier) -> None:  # type: ignore[no-untyped-def]
    name, text = carrier(QWEN, "--max-model-len", "32768", "--max-num-seqs", "64")
    write(tmp_path, (name, f"# lint-vllm: context=4096\n{text}"))
    (finding,) = memory_findings(tmp_path)
    assert finding.code == "MEM061"
    assert finding.span.text == "32768"
    assert "4,096" in finding.message
    assert "GiB" in finding.message


def edits_of(finding: Diagnostic) -> Iterator[Fix]:
    for fix in finding.fixes:
        if fix.edits:
            yield fix


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize(
    ("model", "flags"),
    [
        (QWEN, FOUR),
        (LLAMA, FOUR),
        ("Qwen/Qwen2.5-14B-Instruct", FOUR),
        ("Qwen/Qwen2.5-7B-Instruct-1M", ("--max-model-len", "262144")),
        (QWEN, ("--max-model-len", "8192", "--gpu-memory-utilization", "0.3")),
    ],
)
def test_every_offered_fix_holds(tmp_path: Path, carrier, model: str, flags: tuple[str, ...]) -> None:  # type: ignore[no-untyped-def]
    path = write(tmp_path, carrier(model, *flags))
    before = path.read_bytes()
    findings = memory_findings(tmp_path)
    assert findings
    for finding in findings:
        for fix in edits_of(finding):
            path.write_bytes(apply(finding.span.source, fix.edits))
            still = [d for d in memory_findings(tmp_path) if d.code == finding.code]
            assert not still, f"{fix.title}: {still[0].message}"
            path.write_bytes(before)


def test_the_origin_offers_all_its_ways_out(tmp_path: Path) -> None:
    write(tmp_path, shell(QWEN, *FOUR))
    (finding,) = memory_findings(tmp_path)
    offered = " | ".join(fix.title for fix in finding.fixes)
    for way in ("--kv-cache-dtype fp8", "--max-num-seqs", "--max-model-len", "Qwen2.5-7B-Instruct-", "--tensor-parallel-size 2"):
        assert way in offered, offered
    assert all(fix.verified and fix.cost for fix in finding.fixes)
