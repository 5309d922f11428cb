"""Colour, where a terminal shows it and the user did not ask for none."""

from __future__ import annotations

import os
import sys

_CODES = {"red": "31", "green": "32", "yellow": "33", "blue": "34", "cyan": "36"}


def wants_color() -> bool:
    """Colour on a terminal only; ``NO_COLOR`` switches it off, ``FORCE_COLOR`` on."""
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


class Style:
    def __init__(self, color: bool) -> None:
        self.color = color

    def paint(self, color: str, text: str) -> str:
        return f"\x1b[1;{_CODES[color]}m{text}\x1b[0m" if self.color and text else text

    def bold(self, text: str) -> str:
        return f"\x1b[1m{text}\x1b[0m" if self.color else text
