"""JUnit XML: a suite a file, a failed case a finding; without findings one case that passes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from lint_vllm.diagnostic import Diagnostic
from lint_vllm.report.text_report import describe
from lint_vllm.result import Run

_NOT_XML = re.compile(r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(run: Run, color: bool = False) -> str:
    shown = sorted(run.shown, key=lambda d: d.path)
    lines = ['<?xml version="1.0" encoding="utf-8"?>']
    lines.append(f'<testsuites name="lint-vllm" tests="{max(1, len(shown))}" failures="{len(shown)}" errors="0">')
    if not shown:
        lines.append('  <testsuite name="lint-vllm" tests="1" failures="0" errors="0">')
        lines.append('    <testcase name="no findings" classname="lint-vllm"/>')
        lines.append("  </testsuite>")
    for path, group in groupby(shown, key=lambda d: d.path):
        found = list(group)
        lines.append(f'  <testsuite name={_attribute(path)} tests="{len(found)}" failures="{len(found)}" errors="0">')
        for d in found:
            lines.extend(_case(d, run))
        lines.append("  </testsuite>")
    return "\n".join([*lines, "</testsuites>"]) + "\n"


def _case(d: Diagnostic, run: Run) -> Iterator[str]:
    place = f"{d.path}:{d.span.line}:{d.span.column}"
    message = run.redactor.text(d.message)
    body = [place, *d.finding.notes, *(f"fix: {describe(fix)}" for fix in d.fixes)]
    text = run.redactor.text("\n".join(body))
    yield f"    <testcase name={_attribute(f'{d.code} {d.name} {place}')} classname={_attribute(d.path)}>"
    yield f"      <failure type={_attribute(d.severity.label)} message={_attribute(message)}>{escape(_clean(text))}</failure>"
    yield "    </testcase>"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))


def _clean(text: str) -> str:
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", text)
