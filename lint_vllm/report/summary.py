"""The last lines of a report for people: how much was found, and what was not judged."""

from __future__ import annotations

import re
from collections import Counter

from lint_vllm.diagnostic import Applicability, Severity
from lint_vllm.result import Run

_NAMED = re.compile(r"[\"'`]?[\w.-]*/[\w./-]+[\"'`]?")


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}{'es' if noun.endswith('ch') else 's'}"


def found(run: Run) -> str:
    """``1 error, 2 warnings in 3 launches (2 files read); 1 can be fixed with --fix``."""
    where = f"{counted(len(run.launches), 'launch')} ({counted(run.files, 'file')} read)"
    if not run.shown:
        return f"no findings in {where}"
    kinds = ((Severity.ERROR, "error"), (Severity.WARNING, "warning"), (Severity.INFO, "info"))
    parts = [counted(number, noun) for severity, noun in kinds if (number := run.count(severity))]
    safe = sum(any(fix.applicability is Applicability.SAFE and fix.edits for fix in d.fixes) for d in run.shown)
    return f"{', '.join(parts)} in {where}" + (f"; {safe} can be fixed with --fix" if safe else "")


def not_judged(run: Run) -> str | None:
    """``3 launches not judged for memory: GPU unknown; set `gpu```; ``None`` when all were judged."""
    reasons = Counter({run.redactor.text(reason): number for reason, number in run.reasons().items()})
    if not reasons:
        return None
    head = f"{counted(sum(reasons.values()), 'launch')} not judged for memory"
    if len(reasons) == 1:
        return f"{head}: {advised(next(iter(reasons)))}"
    kinds: Counter[str] = Counter()
    for reason, number in reasons.items():
        kinds[_kind(reason)] += number
    listed = [f"{number} {advised(kind)}" if len(kinds) > 1 else advised(kind) for kind, number in kinds.most_common(4)]
    return f"{head}: {', '.join(listed)}{', ...' if len(kinds) > 4 else ''}"


def _kind(reason: str) -> str:
    """A reason without the names in it: ids and paths."""
    return " ".join(_NAMED.sub("", reason).split())


def advised(reason: str) -> str:
    """A reason with the setting that would change it."""
    lowered = reason.lower()
    if "gpu" in lowered and lowered.endswith("unknown"):
        return f"{reason}; set `gpu`"
    return reason
