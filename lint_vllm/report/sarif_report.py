"""SARIF 2.1.0, suppressed findings included, for code scanning."""

from __future__ import annotations

import json
import os
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import quote

from lint_vllm.baseline import fingerprint
from lint_vllm.diagnostic import Diagnostic, Fix, Severity
from lint_vllm.redaction import Redactor
from lint_vllm.result import Run
from lint_vllm.source import Span
from lint_vllm.version import VERSION

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
HOME = "https://lint-vllm.readthedocs.io"


def render(run: Run, color: bool = False) -> str:
    return json.dumps(document(run), indent=2, ensure_ascii=False) + "\n"


def document(run: Run) -> dict[str, Any]:
    codes = sorted({d.code for d in run.diagnostics})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(codes)},
                "columnKind": "unicodeCodePoints",
                "results": [_result(d, codes.index(d.code), run.redactor) for d in run.diagnostics],
            }
        ],
    }


def _driver(codes: list[str]) -> dict[str, Any]:
    driver: dict[str, Any] = {"name": "lint-vllm", "version": VERSION, "informationUri": HOME, "rules": []}
    if codes:
        from lint_vllm.registry import rules

        declared = {rule.code: rule for rule in rules()}
        for code in codes:
            rule = declared[code]
            driver["rules"].append(
                {
                    "id": code,
                    "name": rule.name,
                    "shortDescription": {"text": f"{rule.summary}."},
                    "fullDescription": {"text": rule.doc.strip()},
                    "helpUri": rule.url,
                    "defaultConfiguration": {"level": LEVELS[rule.severity]},
                }
            )
    return driver


def _result(d: Diagnostic, index: int, redactor: Redactor) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": d.code,
        "ruleIndex": index,
        "level": LEVELS[d.severity],
        "message": {"text": redactor.text("\n".join([d.message, *d.finding.notes]))},
        "locations": [{"physicalLocation": _place(d.span)}],
        "partialFingerprints": {"lintVllm/v1": fingerprint(d, Path.cwd())},
    }
    if d.finding.related:
        result["relatedLocations"] = [
            {"physicalLocation": _place(label.span), "message": {"text": redactor.text(label.message)}}
            for label in d.finding.related
        ]
    fixes = [_fix(fix, redactor) for fix in d.fixes if fix.edits]
    if fixes:
        result["fixes"] = fixes
    if d.suppressed is not None:
        kind = "inSource" if d.suppressed.by == "comment" else "external"
        result["suppressions"] = [{"kind": kind, "justification": d.suppressed.reason}]
    return result


def _fix(fix: Fix, redactor: Redactor) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        replacement = {"deletedRegion": _region(edit.span), "insertedContent": {"text": redactor.text(edit.text)}}
        changes.setdefault(uri(edit.span.path), []).append(replacement)
    return {
        "description": {"text": redactor.text(fix.title)},
        "artifactChanges": [
            {"artifactLocation": {"uri": path}, "replacements": replacements} for path, replacements in changes.items()
        ],
    }


def _place(span: Span) -> dict[str, Any]:
    return {"artifactLocation": {"uri": uri(span.path)}, "region": _region(span)}


def _region(span: Span) -> dict[str, int]:
    return {"startLine": span.line, "startColumn": span.column, "endLine": span.end_line, "endColumn": span.end_column}


def uri(path: str) -> str:
    """A path as a relative URI where it lies below the current folder, else as it is."""
    if os.path.isabs(path):
        below = os.path.relpath(path)
        path = path if below.startswith("..") else below
    posix = PurePath(path).as_posix()
    return (
        quote(posix.encode("utf-8", "surrogateescape"))
        if not posix.startswith("/")
        else "file://" + quote(posix.encode("utf-8", "surrogateescape"))
    )
