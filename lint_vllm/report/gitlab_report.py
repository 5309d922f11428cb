"""GitLab code quality: a list of issues in the Code Climate form."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path, PurePath
from typing import Any

from lint_vllm.baseline import fingerprint
from lint_vllm.diagnostic import Severity
from lint_vllm.result import Run

LEVELS = {Severity.ERROR: "major", Severity.WARNING: "minor", Severity.INFO: "info"}


def render(run: Run, color: bool = False) -> str:
    return json.dumps(document(run), indent=2, ensure_ascii=False) + "\n"


def document(run: Run) -> list[dict[str, Any]]:
    seen: Counter[str] = Counter()
    issues = []
    for d in run.shown:
        mark = fingerprint(d, Path.cwd())
        seen[mark] += 1
        issues.append(
            {
                "type": "issue",
                "check_name": d.code,
                "description": run.redactor.text(f"{d.message} [{d.name}]"),
                "categories": ["Bug Risk"],
                "severity": LEVELS[d.severity],
                "fingerprint": mark if seen[mark] == 1 else f"{mark}-{seen[mark]}",
                "location": {
                    "path": PurePath(d.path).as_posix(),
                    "lines": {"begin": d.span.line, "end": d.span.end_line},
                },
            }
        )
    return issues
