"""The stable JSON form of a run (version 1). Lines and columns from 1, columns in characters, ends exclusive."""

from __future__ import annotations

import json
from typing import Any

from lint_vllm.diagnostic import Diagnostic, Edit, Fix, Severity
from lint_vllm.redaction import Redactor
from lint_vllm.result import Run
from lint_vllm.source import Span

VERSION = 1


def render(run: Run, color: bool = False) -> str:
    return json.dumps(document(run), indent=2, ensure_ascii=False) + "\n"


def document(run: Run) -> dict[str, Any]:
    return {
        "version": VERSION,
        "summary": {
            "files": run.files,
            "launches": len(run.launches),
            "judged": {"arguments": run.judged_arguments, "memory": run.judged_memory},
            "errors": run.count(Severity.ERROR),
            "warnings": run.count(Severity.WARNING),
            "infos": run.count(Severity.INFO),
        },
        "launches": [
            {
                "path": judged.launch.path,
                "line": judged.launch.command.line,
                "judged": {"arguments": judged.arguments, "memory": judged.memory},
                "unknown": [run.redactor.text(reason) for reason in judged.unknown],
            }
            for judged in run.launches
        ],
        "diagnostics": [diagnostic_entry(d, run.redactor) for d in run.diagnostics],
    }


def diagnostic_entry(d: Diagnostic, redactor: Redactor) -> dict[str, Any]:
    return {
        "code": d.code,
        "name": d.name,
        "severity": d.severity.label,
        "message": redactor.text(d.message),
        "path": d.path,
        **region(d.span),
        "url": d.url,
        "related": [
            {"path": label.span.path, **region(label.span), "message": redactor.text(label.message)} for label in d.finding.related
        ],
        "notes": [redactor.text(note) for note in d.finding.notes],
        "fixes": [_fix(fix, redactor) for fix in d.fixes],
        "suppressed": None if d.suppressed is None else {"by": d.suppressed.by, "reason": d.suppressed.reason},
    }


def _fix(fix: Fix, redactor: Redactor) -> dict[str, Any]:
    return {
        "title": redactor.text(fix.title),
        "applicability": fix.applicability.value,
        "cost": fix.cost,
        "verified": fix.verified,
        "edits": [_edit(edit, redactor) for edit in fix.edits],
    }


def _edit(edit: Edit, redactor: Redactor) -> dict[str, Any]:
    return {"path": edit.span.path, **region(edit.span), "text": redactor.text(edit.text)}


def region(span: Span) -> dict[str, int]:
    return {"line": span.line, "column": span.column, "end_line": span.end_line, "end_column": span.end_column}
