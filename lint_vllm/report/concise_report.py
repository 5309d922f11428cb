"""One line a finding: ``path:line:column: severity CODE message [name]``."""

from __future__ import annotations

from lint_vllm.report.frame import printable
from lint_vllm.report.style import Style
from lint_vllm.report.summary import found, not_judged
from lint_vllm.report.text_report import COLORS
from lint_vllm.result import Run


def render(run: Run, color: bool = False) -> str:
    style = Style(color)
    lines = []
    for d in run.shown:
        place = f"{printable(d.path)}:{d.span.line}:{d.span.column}"
        message = printable(run.redactor.text(d.message))
        lines.append(f"{place}: {style.paint(COLORS[d.severity], d.severity.label)} {d.code} {message} [{d.name}]")
    lines.append(found(run))
    rest = not_judged(run)
    if rest is not None:
        lines.append(printable(rest))
    return "\n".join(lines) + "\n"
