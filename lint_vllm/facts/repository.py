"""Bounded, read-only look-ups of files that lie near a linted file and belong to it.

Never leaves the repository (or, outside one, the linted file's folder); never follows links out of it; reads text only.
"""

from __future__ import annotations

from pathlib import Path


class Repository:
    """Files beside one linted file. Every look-up is lazy and remembered."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
