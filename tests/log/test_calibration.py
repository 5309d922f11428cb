"""Calibrations: written, read, matched and applied."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.runtime import estimate
from lint_vllm.calibration import FILE_NAME, Calibration, CalibrationError, apply, entry, load, match, read, save
from lint_vllm.facts.cards import find_card, with_memory
from lint_vllm.facts.model import Model
from lint_vllm.log import StartupLog

MODEL = Model(
    "acme/8b",
    "test",
    True,
    {},
    {},
    architectures=("LlamaForCausalLM",),
    num_layers=32,
    hidden_size=4096,
    attention_heads=32,
    kv_heads=8,
    head_dim=128,
    intermediate_size=14336,
    vocab_size=128256,
)
CONFIG = EngineConfig(
    MODEL,
    with_memory(find_card("A100-80GB"), 79.25),
    1,
    "0.31.0",
    cudagraph_capture_sizes=tuple(range(51)),
)
LOG = StartupLog(
    release="0.31.0",
    model="acme/8b",
    total_gib=79.25,
    utilization=0.92,
    requested_gib=72.91,
    weights_gib=15.0,
    consumed_gib=15.26,
    activation_peak_gib=1.44,
    cudagraph_gib=0.23,
    cudagraph_estimate_gib=0.3,
    estimate_applied=True,
    kv_available_gib=56.21,
)


def saved() -> Calibration:
    made = entry(LOG, CONFIG, estimate(CONFIG), "boot.log")
    assert made is not None
    return made


def test_an_entry_holds_what_was_measured() -> None:
    made = saved()
    assert (made.weights_gib, made.activations_gib, made.framework_gib) == (15.0, pytest.approx(1.14), pytest.approx(0.26))
    assert made.runtime_gib == pytest.approx(1.70)
    assert made.origin == "measured on this rig (boot.log)"


def test_no_entry_without_a_pool() -> None:
    assert entry(replace(LOG, kv_available_gib=None), CONFIG, estimate(CONFIG), "boot.log") is None


def test_saved_entries_are_read_back_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / FILE_NAME
    save(path, saved())
    save(path, replace(saved(), kv_available_gib=50.0))
    save(path, replace(saved(), model="acme/other"))
    assert [c.kv_available_gib for c in read(path)] == [50.0, 56.21]
    assert load(tmp_path / "sub") == read(path)
    assert [p.name for p in tmp_path.iterdir()] == [FILE_NAME]


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", '{"version": 2, "calibrations": []}', '{"version": 1, "calibrations": [1]}', '{"version": 1, "calibrations": [{}]}',
     '{"version": 1, "calibrations": [{"model": 1, "total_gib": 1, "release": "0.9", "source": "x"}]}'],
)  # fmt: skip
def test_a_broken_file_is_one_sentence(tmp_path: Path, content: str) -> None:
    (tmp_path / FILE_NAME).write_text(content)
    with pytest.raises(CalibrationError, match=FILE_NAME):
        load(tmp_path)


def test_the_same_launch_takes_the_measured_items() -> None:
    known = match(CONFIG, (saved(),))
    assert known is not None
    calibrated = apply(CONFIG, estimate(CONFIG), known)
    assert calibrated.same_launch
    with_weights = apply(CONFIG, estimate(CONFIG), known, Quantity.exact(14.96 * GIB))
    assert with_weights.runtime.margin.likely == pytest.approx(0.04 * GIB)
    assert calibrated.runtime.in_share.likely == pytest.approx(1.70 * GIB, rel=0.01)
    assert calibrated.runtime.in_share.high - calibrated.runtime.in_share.low < 0.5 * GIB


def test_another_launch_is_shifted_by_what_the_rig_was_off() -> None:
    other = replace(CONFIG, model=replace(MODEL, id="acme/14b", intermediate_size=20000, hidden_size=5120))
    plain = estimate(other)
    calibrated = apply(other, plain, saved())
    off = (saved().runtime_gib or 0) - (saved().predicted_runtime_gib or 0)
    assert not calibrated.same_launch
    moved = (calibrated.runtime.in_share.likely - plain.in_share.likely) / GIB
    assert moved == pytest.approx(off, abs=0.2), "all of a large difference, little of one within the scatter of a rig"
    far = replace(saved(), runtime_gib=(saved().predicted_runtime_gib or 0) + 3)
    assert (apply(other, plain, far).runtime.in_share.likely - plain.in_share.likely) / GIB == pytest.approx(3, abs=0.07)


@pytest.mark.parametrize("change", [{"release": "0.30.0"}, {"card": find_card("RTX 4090")}, {"card": None}])
def test_other_rigs_do_not_match(change: dict[str, object]) -> None:
    assert match(replace(CONFIG, **change), (saved(),)) is None  # type: ignore[arg-type]


def test_the_nearest_entry_is_taken() -> None:
    near, far = saved(), replace(saved(), tensor_parallel_size=2)
    assert match(CONFIG, (far, near)) == near


def test_the_file_is_plain_json(tmp_path: Path) -> None:
    save(tmp_path / FILE_NAME, saved())
    content = json.loads((tmp_path / FILE_NAME).read_text())
    assert content["version"] == 1
    assert content["calibrations"][0]["source"] == "boot.log"
