"""For people: the place in the source, what is wrong with its numbers, and the ways out with what they cost."""

from __future__ import annotations

from collections.abc import Iterator

from lint_vllm.diagnostic import Applicability, Diagnostic, Fix, Severity
from lint_vllm.report.frame import frame, printable
from lint_vllm.report.style import Style
from lint_vllm.report.summary import found, not_judged
from lint_vllm.result import Run

COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}


def render(run: Run, color: bool = False) -> str:
    style = Style(color)
    lines: list[str] = []
    for diagnostic in run.shown:
        lines.extend(_diagnostic(diagnostic, run, style))
        lines.append("")
    for path, number in run.fixed.items():
        lines.append(f"fixed {printable(path)}: {number} {'edit' if number == 1 else 'edits'}")
    lines.append(style.bold(found(run)))
    rest = not_judged(run)
    if rest is not None:
        lines.append(printable(rest))
    return "\n".join(lines) + "\n"


def _diagnostic(d: Diagnostic, run: Run, style: Style) -> Iterator[str]:
    redactor = run.redactor
    level = style.paint(COLORS[d.severity], d.severity.label)
    yield f"{style.bold(d.code)} {level}: {printable(redactor.text(d.message))} [{d.name}]"
    frames = [(d.span, ""), *((label.span, redactor.text(label.message)) for label in d.finding.related)]
    rows = [(span, list(frame(span, redactor, printable(text)))) for span, text in frames]
    gutter = max(len(number) for _, lines in rows for number, _ in lines)
    bar = style.paint("blue", "|")
    for at, (span, lines) in enumerate(rows):
        arrow = style.paint("blue", "-->" if at == 0 else ":::")
        yield f"{' ' * gutter}{arrow} {printable(span.path)}:{span.line}:{span.column}"
        yield f"{' ' * gutter} {bar}"
        for number, text in lines:
            shown = text if number or at else style.paint(COLORS[d.severity], text)
            yield f"{style.paint('blue', number.rjust(gutter))} {bar} {shown}".rstrip()
    if d.finding.notes or d.fixes:
        yield f"{' ' * gutter} {bar}"
    for note in d.finding.notes:
        yield f"{' ' * gutter} = {printable(redactor.text(note))}"
    for rank, fix in enumerate(d.fixes, 1):
        yield f"{' ' * gutter} = fix {rank}: {printable(redactor.text(describe(fix)))}"


def describe(fix: Fix) -> str:
    """``use --kv-cache-dtype fp8 (checked; loses a little long-context quality)``."""
    facts = []
    if fix.edits and fix.applicability is Applicability.SAFE:
        facts.append("--fix")
    elif fix.edits and fix.applicability is Applicability.UNSAFE:
        facts.append("--unsafe-fixes")
    if fix.verified:
        facts.append("checked")
    if fix.cost:
        facts.append(fix.cost)
    return f"{fix.title} ({'; '.join(facts)})" if facts else fix.title
