"""GitHub workflow commands: one annotation a finding, on the line it is about."""

from __future__ import annotations

from lint_vllm.diagnostic import Diagnostic, Severity
from lint_vllm.redaction import Redactor
from lint_vllm.report.summary import found, not_judged
from lint_vllm.report.text_report import describe
from lint_vllm.result import Run
from lint_vllm.source import Span

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(run: Run, color: bool = False) -> str:
    lines = [annotation(d, run.redactor) for d in run.shown]
    lines.append(found(run))
    rest = not_judged(run)
    if rest is not None:
        lines.append(rest)
    return "\n".join(lines) + "\n"


def annotation(d: Diagnostic, redactor: Redactor) -> str:
    body = [d.message, *d.finding.notes, *(f"fix: {describe(fix)}" for fix in d.fixes)]
    return workflow_command(_LEVELS[d.severity], d.span, f"{d.code} {d.name}", redactor.text(chr(10).join(body)))


def workflow_command(level: str, span: Span, title: str, message: str) -> str:
    """An annotation of ``level`` (``error``, ``warning``, ``notice``) at a place."""
    properties = {"file": span.path, "line": span.line, "endLine": span.end_line, "title": title}
    if span.line == span.end_line:
        properties |= {"col": span.column, "endColumn": span.end_column}
    listed = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{level} {listed}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
