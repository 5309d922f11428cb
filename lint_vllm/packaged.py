"""The data files of this package. ``importlib.resources`` would cost as much start-up time as linting a small file."""

from __future__ import annotations

from pathlib import Path

DATA = Path(__file__).with_name("data")


def data_text(name: str) -> str:
    """The text of a data file, by its path below ``data``."""
    return (DATA / name).read_text(encoding="utf-8")
