"""Fit the runtime term to measured start-ups, and say how well it predicts machines it has not seen.

usage: fit_runtime.py [--check]

Reads ``tools/data/measured.jsonl`` (published launches with their sources) and ``tools/data/runtime_prior.json`` (coefficients as
printed parts of logs and vLLM's source give them, each with its range). Writes
  ``lint_vllm/data/runtime.json``   the prior with its likely values moved by the fit, never out of their range
  ``tools/data/residuals.jsonl``    each launch: measured, predicted in sample, predicted with its source left out
  ``docs/accuracy.md``, ``docs/accuracy.svg``

The fit moves one factor a driver. Every source has one vote however many launches it has, the error is the logarithm of a
ratio, and each factor is drawn to 1 (what the logs print) unless several sources disagree: no launch alone can move it far.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measured import HERE, Judged, judge, load

from lint_vllm.budget import activations, framework, graphs
from lint_vllm.budget.coefficients import coefficients, gib
from lint_vllm.budget.engine_config import EngineConfig
from lint_vllm.budget.model_runner import model_runner
from lint_vllm.budget.quantity import GIB

ROOT = HERE.parent
DRAWN_TO_ONE = 6.0
"""Weight of the squared logarithm of a factor against the mean error of the sources."""
OUTLIER = 0.35
"""Errors beyond this factor (1.4) count no further: they are launches that the formula does not describe."""
FACTORS = ("forward", "sampler_v0", "sampler_v1", "sampler_v2", "encoder", "graphs", "framework")
LEFT_OUT_NOTES = ("sleep", "leak", "hurried")
"""Words of notes on launches whose figures do not show what the formula is about."""


@dataclass(frozen=True)
class Features:
    """The drivers of one launch at the prior's likely values, GiB."""

    forward: float
    sampler: float
    encoder: float
    graphs: float
    framework: float
    constant: float
    runner: str

    @classmethod
    def of(cls, config: EngineConfig) -> Features:
        counts = framework.penalty_counts(config) / GIB
        return cls(
            forward=activations.forward(config).likely / GIB,
            sampler=activations.sampler(config).likely / GIB,
            encoder=activations.encoder(config).likely / GIB,
            graphs=graphs.captured(config).likely / GIB if graphs.inside_share(config) else 0.0,
            framework=framework.framework(config).likely / GIB - counts,
            constant=counts + gib("margin", "gib").likely / GIB,
            runner=model_runner(config),
        )

    def total(self, factors: Mapping[str, float]) -> float:
        peak = max(
            self.forward * factors["forward"],
            self.sampler * factors[f"sampler_{self.runner}"],
            self.encoder * factors["encoder"],
        )
        return peak + self.graphs * factors["graphs"] + self.framework * factors["framework"] + self.constant


@dataclass(frozen=True)
class Sample:
    judged: Judged
    features: Features
    measured: float


def samples(judged: Sequence[Judged]) -> list[Sample]:
    """The launches that the fit may use: stated release, sure pool, sure weights, nothing odd about them."""
    usable = []
    for one in judged:
        runtime = one.runtime_gib
        if runtime is None or one.config is None or runtime <= 0.05:
            continue
        if not one.config.release_sure or one.config.vendor_build:
            continue
        if any(word in one.start.note or word in one.start.id for word in LEFT_OUT_NOTES):
            continue
        if one.config.card is not None and one.config.card.vendor == "amd" and one.config.model.experts:
            continue
        usable.append(Sample(one, Features.of(one.config), runtime))
    return usable


def loss(chosen: Sequence[Sample], factors: Mapping[str, float]) -> float:
    by_source: dict[str, list[float]] = defaultdict(list)
    for sample in chosen:
        off = abs(math.log(max(sample.features.total(factors), 0.05) / sample.measured))
        by_source[sample.judged.start.source].append(min(off, OUTLIER))
    error = sum(sum(errors) / len(errors) for errors in by_source.values())
    return error + DRAWN_TO_ONE * sum(math.log(factor) ** 2 for factor in factors.values())


def fit(chosen: Sequence[Sample]) -> dict[str, float]:
    """One factor a driver, by coordinate descent over a fine grid."""
    factors = dict.fromkeys(FACTORS, 1.0)
    grid = [math.exp(step / 20) for step in range(-14, 15)]
    for _round in range(4):
        for name in FACTORS:
            factors[name] = min(grid, key=lambda value: loss(chosen, {**factors, name: value}))
    return factors


def leave_one_source_out(chosen: Sequence[Sample]) -> dict[str, float]:
    """Predicted runtime of each launch from a fit that saw nothing of its source, GiB, by id."""
    predicted = {}
    for source in sorted({sample.judged.start.source for sample in chosen}):
        factors = fit([sample for sample in chosen if sample.judged.start.source != source])
        for sample in chosen:
            if sample.judged.start.source == source:
                predicted[sample.judged.start.id] = sample.features.total(factors)
    return predicted


def fitted(prior: Mapping[str, Any], factors: Mapping[str, float]) -> dict[str, Any]:
    """The prior with its likely values moved, each within its own range."""
    table = json.loads(json.dumps(prior))

    def move(triple: list[float], factor: float) -> list[float]:
        low, likely, high = triple
        return [low, round(min(max(likely * factor, low), high), 3), high]

    for kind in ("dense", "wide"):
        table["forward"][kind] = move(table["forward"][kind], factors["forward"])
    for runner, history in table["sampler"]["by_runner"].items():
        table["sampler"]["by_runner"][runner] = [[since, move(t, factors[f"sampler_{runner}"])] for since, t in history]
    for kind in ("factor", "long_video_factor"):
        table["encoder"][kind] = move(table["encoder"][kind], factors["encoder"])
    for kind in ("estimated_v1", "estimated_v2"):
        table["graphs"][kind] = move(table["graphs"][kind], factors["graphs"])
    for name, value in table["framework"].items():
        if name.endswith("_gib"):
            table["framework"][name] = move(value, factors["framework"])
    table["factors"] = {name: round(value, 3) for name, value in factors.items()}
    return table  # type: ignore[no-any-return]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 when the generated files are not fresh")
    options = parser.parse_args()
    prior = json.loads((HERE / "data" / "runtime_prior.json").read_text("utf-8"))
    starts = load()
    use(prior)
    chosen = samples([judge(start) for start in starts])
    factors = fit(chosen)
    out = leave_one_source_out(chosen)
    table = fitted(prior, factors)
    use(table)
    judged = [judge(start) for start in starts]

    from accuracy_report import page, plot, residual_rows

    outputs = {
        ROOT / "lint_vllm" / "data" / "runtime.json": json.dumps(table, indent=1, ensure_ascii=False) + "\n",
        HERE / "data" / "residuals.jsonl": "".join(json.dumps(row) + "\n" for row in residual_rows(judged, out)),
        ROOT / "docs" / "accuracy.svg": plot(judged),
        ROOT / "docs" / "accuracy.md": page(judged, chosen, out, factors, table),
    }
    return write(outputs, options.check)


def use(table: Mapping[str, Any]) -> None:
    """Let the engine use these coefficients from here on."""
    coefficients.cache_clear()
    current = coefficients()
    assert isinstance(current, dict)
    current.clear()
    current.update(table)


def write(outputs: Mapping[Path, str], check: bool) -> int:
    stale = [path for path, text in outputs.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        if check:
            print(f"{path} is not fresh: run tools/fit_runtime.py")
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_text(outputs[path], "utf-8")
            print(f"wrote {path}")
    return int(bool(stale) and check)


if __name__ == "__main__":
    sys.exit(main())
