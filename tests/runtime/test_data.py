"""The shipped coefficients and the measured start-ups they were fitted to."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]
RUNTIME = json.loads((ROOT / "lint_vllm" / "data" / "runtime.json").read_text("utf-8"))


def triples(value: Any, path: str = "") -> Iterator[tuple[str, list[float]]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from triples(inner, f"{path}.{key}")
    elif isinstance(value, list) and len(value) == 3 and all(isinstance(item, (int, float)) for item in value):
        yield path, value
    elif isinstance(value, list):
        for inner in value:
            yield from triples(inner, path)


def test_every_coefficient_is_low_likely_high() -> None:
    found = list(triples(RUNTIME))
    assert len(found) > 25
    for path, (low, likely, high) in found:
        assert low <= likely <= high, path


def test_every_section_says_where_it_is_from() -> None:
    for name in ("forward", "sampler", "encoder", "graphs", "framework", "margin", "load", "outside"):
        assert RUNTIME[name]["source"]


def test_measured_starts_have_sources_and_plain_figures() -> None:
    lines = (ROOT / "tools" / "data" / "measured.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len({row["id"] for row in rows}) == len(rows) > 100
    for row in rows:
        assert row["source"]
        assert row["argv"][0] == "--model"
        assert all(isinstance(value, (int, float)) for value in row["measured"].values())


def test_the_card_table_is_fresh() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "build_gpus.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_the_plot_is_well_formed() -> None:
    root = ElementTree.fromstring((ROOT / "docs" / "accuracy.svg").read_text("utf-8"))
    assert len(list(root.iter("{http://www.w3.org/2000/svg}circle"))) > 60
