"""Build ``lint_vllm/data/gpus.jsonl`` and ``gpu_families.json`` from what device outputs and logs printed.

usage: build_gpus.py [--check]

Input: ``tools/data/cards.jsonl``, one device a line, every figure with its sources:
  ``cuda_mib``  totals that CUDA or HIP reported on Linux, MiB;  ``smi_mib``  totals of nvidia-smi;
  ``wsl_mib``   totals that CUDA reported under WSL2 or Windows;  ``gb``  the size sellers write;
  ``free``      [free, total (GiB), system, ranks] that vLLM printed when it started on an otherwise idle card.
Output: intervals [low, likely, high] in MiB, the only thing the linter reads.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from lint_vllm.facts.cards import name_keys  # noqa: E402

DATA = HERE.parent / "lint_vllm" / "data"
GIB = 1024.0

DRIVER_SPREAD = 0.1 * GIB
"""A card with one print: the total moves by up to 0.15 GiB between drivers (24 and 48 GB cards)."""

IDLE_GAP = (0.15 * GIB, 0.45 * GIB, 0.65 * GIB)
"""Taken before vLLM looks, NVIDIA card on Linux without display: 0.19 (L4) to 0.61 GiB (B300) printed."""


def total(card: dict[str, Any]) -> list[int] | None:
    """Memory as CUDA or HIP reports it on Linux, [low, likely, high] MiB."""
    if prints := card.get("cuda_mib"):
        low, high = min(prints), max(prints)
        slack = DRIVER_SPREAD if high - low < 8 and not card.get("unified") else 6
        return _rounded(low - slack, statistics.median(prints), high + slack)
    if shown := card.get("smi_mib") or card.get("wsl_mib"):
        # CUDA on Linux reports less than nvidia-smi: 0.2 GiB on 10 GB cards, 0.3 to 0.5 on 24, 0.5 to 0.9 on 80.
        gap = min(0.15 * GIB + 0.0075 * min(shown), 0.9 * GIB)
        return _rounded(min(shown) - 1.6 * gap, min(shown) - gap, max(shown) - 0.4 * gap)
    if "mig" in card:
        size = card["mig"][2]
        if size:
            return _rounded(0.96 * size * GIB, 0.985 * size * GIB, size * GIB)
        return _rounded(0.93 * card["gb"] * GIB, 0.965 * card["gb"] * GIB, 0.99 * card["gb"] * GIB)
    if sold := card.get("gb"):
        # Ratios of 49 NVIDIA cards: 0.91 (ECC on) to 0.996; AMD reports what it sells, less 0.02 GiB.
        low, likely, high = {"nvidia": (0.925, 0.973, 0.995), "amd": (0.975, 0.9995, 1.0)}.get(card["vendor"], (0.94, 0.98, 1.0))
        return _rounded(low * sold * GIB, likely * sold * GIB, high * sold * GIB)
    return None


def gap(card: dict[str, Any], system: str) -> list[int] | None:
    """Memory gone before vLLM looks at an otherwise idle card, [low, likely, high] MiB."""
    seen = [(size - free) * GIB for free, size, where, _ranks in card.get("free", ()) if where == system]
    if system == "wsl":
        return _rounded(0.8 * min(seen), statistics.median(seen), 1.3 * max(seen)) if seen else None
    floor, usual, ceiling = IDLE_GAP
    if card.get("unified"):
        return _rounded(0.3 * min(seen), statistics.median(seen), 1.5 * max(seen)) if seen else None
    if seen:
        return _rounded(min(floor, 0.8 * min(seen)), statistics.median(seen), max(1.3 * max(seen), usual))
    return _rounded(floor, usual, ceiling) if card["vendor"] == "nvidia" and "mig" not in card else None


def capability(card: dict[str, Any]) -> list[int] | None:
    text = card.get("cc")
    if not text or card["vendor"] != "nvidia":
        return None
    major, minor = text.split(".")
    return [int(major), int(minor)]


def built(card: dict[str, Any]) -> dict[str, Any]:
    keys, forms = name_keys((card["name"], *card.get("aliases", ())))
    row = {
        "name": card["name"],
        "vendor": card["vendor"],
        "aliases": card.get("aliases", []),
        "keys": keys,
        "forms": forms,
        "gb": card.get("gb"),
        "total": total(card),
        "wsl": max(card["wsl_mib"]) if card.get("wsl_mib") else None,
        "gap": gap(card, "linux"),
        "wsl_gap": gap(card, "wsl"),
        "capability": capability(card),
        "arch": card.get("arch", "") if card["vendor"] == "nvidia" else card.get("cc", card.get("arch", "")),
        "supports": card.get("supports"),
        "unified": card.get("unified"),
        "mig": card["mig"][0] if "mig" in card else None,
        "sources": card.get("sources", []),
    }
    return {key: value for key, value in row.items() if value not in (None, [])}


def _rounded(*values: float) -> list[int]:
    return [round(value) for value in values]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="exit 1 when the built files are not fresh")
    options = parser.parse_args()
    cards = [json.loads(line) for line in (HERE / "data" / "cards.jsonl").read_text("utf-8").splitlines()]
    families = json.loads((HERE / "data" / "card_families.json").read_text("utf-8"))
    names = {card["name"] for card in cards}
    for family, members in families.items():
        if missing := set(members) - names:
            raise SystemExit(f"family {family}: no card named {', '.join(sorted(missing))}")
    outputs = {
        DATA / "gpus.jsonl": "".join(json.dumps(built(card), ensure_ascii=False) + "\n" for card in cards),
        DATA / "gpu_families.json": json.dumps(families, indent=1) + "\n",
    }
    stale = [path for path, text in outputs.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in stale:
        if options.check:
            print(f"{path} is not fresh: run tools/build_gpus.py")
        else:
            path.write_text(outputs[path], "utf-8")
    return int(bool(stale) and options.check)


if __name__ == "__main__":
    sys.exit(main())
