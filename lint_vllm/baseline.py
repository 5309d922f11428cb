"""Accepted findings: a file of fingerprints that survive moved lines."""

from __future__ import annotations

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from lint_vllm.diagnostic import Diagnostic

VERSION = 1


class BaselineError(Exception):
    """A baseline file that cannot be used."""


def fingerprint(diagnostic: Diagnostic, root: Path) -> str:
    """Rule, path and the argument's text without layout: no line numbers, so that it survives moved lines."""
    try:
        path = Path(diagnostic.path).resolve().relative_to(root.resolve()).as_posix()
    except (OSError, ValueError):
        path = Path(diagnostic.path).as_posix()
    text = " ".join(diagnostic.span.text.split())
    return hashlib.sha256("\0".join((diagnostic.code, path, text)).encode("utf-8", "replace")).hexdigest()[:16]


class Baseline:
    """How often each fingerprint is accepted; matching uses an acceptance up, so that a new twin is reported."""

    def __init__(self, accepted: Counter[str], root: Path) -> None:
        self._left = Counter(accepted)
        self.root = root

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Raises :class:`BaselineError` for a missing or damaged file."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            accepted = Counter({str(row["fingerprint"]): int(row.get("count", 1)) for row in data["accepted"]})
        except OSError as error:
            raise BaselineError(f"{path}: {error.strerror or error}") from None
        except (ValueError, KeyError, TypeError, RecursionError):
            raise BaselineError(f"{path}: not a baseline of lint-vllm; write one with `lint-vllm check --write-baseline`") from None
        return cls(accepted, path.parent)

    def accepts(self, diagnostic: Diagnostic) -> bool:
        key = fingerprint(diagnostic, self.root)
        if self._left[key] <= 0:
            return False
        self._left[key] -= 1
        return True


def save(path: Path, diagnostics: Iterable[Diagnostic]) -> int:
    """Write the findings that are there now; returns their number. Raises :class:`BaselineError`."""
    rows: dict[str, dict[str, object]] = {}
    counts: Counter[str] = Counter()
    for diagnostic in diagnostics:
        key = fingerprint(diagnostic, path.parent)
        counts[key] += 1
        place = Path(os.path.relpath(diagnostic.path, path.parent)).as_posix()
        rows[key] = {"fingerprint": key, "code": diagnostic.code, "path": place}
    ordered = sorted(rows.values(), key=lambda row: (str(row["path"]), str(row["code"]), str(row["fingerprint"])))
    document = {"version": VERSION, "accepted": [{**row, "count": counts[str(row["fingerprint"])]} for row in ordered]}
    try:
        path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise BaselineError(f"{path}: {error.strerror or error}") from None
    return sum(counts.values())
