"""Applies fixes: picks edits that do not touch each other, writes each file in one step, and lints until nothing changes.

Only the characters of an edit change: line ends, byte order mark, encoding and file mode stay as they are.
"""

from __future__ import annotations

import codecs
import errno
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from lint_vllm.diagnostic import Applicability, Diagnostic, Edit, Fix, Severity
from lint_vllm.frozen import dataclass
from lint_vllm.linting import Choice, lint_paths
from lint_vllm.redaction import Redactor
from lint_vllm.request import Request
from lint_vllm.result import Run
from lint_vllm.source import SourceFile

MAX_ROUNDS = 8
MAX_TRIALS = 100
"""Sets of fixes that are tried, in all rounds."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """``before`` and ``run``: the findings before and after; ``diff``: what changed, as a unified diff."""

    before: Run
    run: Run
    diff: str


@dataclass(frozen=True, slots=True)
class _Change:
    """A file and its new content."""

    source: SourceFile
    data: bytes
    edits: int


@dataclass(frozen=True, slots=True)
class Settled:
    """What is left when no fix applies any more. ``overlay`` holds new contents by real path; ``counts`` edits by path."""

    before: Run
    run: Run
    overlay: Mapping[str, bytes]
    counts: Mapping[str, int]


def fix_paths(paths: Sequence[str], request: Request, choice: Choice, *, unsafe: bool, write: bool) -> Fixed:
    """Fix what can be fixed in some files and folders. ``write`` False leaves the files alone.

    Raises what :func:`lint_vllm.linting.lint_paths` raises, and ``OSError`` when a file cannot be written.
    """

    def lint(overlay: Mapping[str, bytes]) -> Run:
        return lint_paths(paths, replace(request, overlay=overlay), choice)

    settled = settle(lint, unsafe=unsafe)
    diff = diff_of(settled.overlay, settled.counts, settled.before.redactor)
    if write:
        write_all(settled.overlay)
    return Fixed(settled.before, replace(settled.run, fixed=dict(settled.counts)), diff)


def settle(lint: Callable[[Mapping[str, bytes]], Run], *, unsafe: bool, overlay: Mapping[str, bytes] | None = None) -> Settled:
    """Apply the fixes that ``lint`` finds until nothing changes; a step that brings new findings is not taken.

    ``lint`` judges the files with some contents changed (real path -> bytes); ``overlay`` is what has changed before.
    """
    done = dict(overlay or {})
    before = run = lint(done)
    counts: Counter[str] = Counter()

    def tried(changes: Sequence[_Change]) -> tuple[dict[str, bytes], Run] | None:
        trial = {**done, **{os.path.realpath(change.source.path): change.data for change in changes}}
        after = lint(trial)
        return None if _worse(run, after) else (trial, after)

    refused: set[tuple[str, ...]] = set()
    trials = 0
    for _ in range(MAX_ROUNDS):
        fixable = [d for d in run.shown if choose(d.fixes, unsafe) is not None and _identity(d) not in refused]
        kept: list[Diagnostic] = []
        groups = [fixable] if fixable else []
        best: tuple[list[_Change], dict[str, bytes], Run] | None = None
        while groups and trials < MAX_TRIALS:  # those that do harm are found by halves
            group = groups.pop()
            trials += 1
            changes = _changes((*kept, *group), unsafe)
            result = tried(changes) if changes else None
            if result is not None:
                kept += group
                best = (changes, *result)
            elif len(group) == 1:
                refused.add(_identity(group[0]))
            else:
                groups += [group[len(group) // 2 :], group[: len(group) // 2]]
        if best is None:
            break
        changes, done, run = best
        for change in changes:
            counts[change.source.path] += change.edits
    return Settled(before, run, done, counts)


def diff_of(overlay: Mapping[str, bytes], paths: Iterable[str], redactor: Redactor) -> str:
    """What differs from the files on disk, as a unified diff with secrets masked; ``paths`` are the files as named by the user."""
    named = sorted({os.path.realpath(path): path for path in paths}.items())
    return "".join(_diff(SourceFile.read(path), overlay[real], redactor) for real, path in named if real in overlay)


def write_all(overlay: Mapping[str, bytes]) -> None:
    """Put new contents in place of the files that differ; of none when one may not be written. Raises ``OSError``."""
    changed = {path: data for path, data in sorted(overlay.items()) if Path(path).read_bytes() != data}
    for path in changed:
        if not os.access(path, os.W_OK):  # replacing a file needs no right to write it; whoever took that right meant it
            raise PermissionError(errno.EACCES, "is read-only; nothing was changed", path)
    for path, data in changed.items():
        write_atomically(path, data)


def choose(fixes: Iterable[Fix], unsafe: bool) -> Fix | None:
    """The fix that ``--fix`` takes: the first safe one with edits; with ``unsafe`` the first of either kind."""
    for fix in fixes:
        if fix.edits and (fix.applicability is Applicability.SAFE or (unsafe and fix.applicability is Applicability.UNSAFE)):
            return fix
    return None


def compatible(fixes: Iterable[Fix]) -> list[Edit]:
    """The edits of as many fixes as go together, each fix whole; an edit that two fixes share is taken once."""
    taken: list[Edit] = []
    for fix in fixes:
        fresh = [edit for edit in fix.edits if edit not in taken]
        if not any(_clash(edit, other) for edit in fresh for other in taken) and not _clash_within(fresh):
            taken.extend(fresh)
    return taken


def apply(source: SourceFile, edits: Iterable[Edit]) -> bytes:
    """The bytes of a file after edits that do not overlap. Raises ``UnicodeEncodeError`` for text its encoding lacks."""
    text = source.text
    crlf = "\r\n" in text and "\n" not in text.replace("\r\n", "")
    for edit in sorted(edits, key=lambda edit: (edit.span.start, edit.span.end), reverse=True):
        new = edit.text.replace("\r\n", "\n").replace("\n", "\r\n") if crlf else edit.text
        text = text[: edit.span.start] + new + text[edit.span.end :]
    return source.encode(text)


def _changes(diagnostics: Iterable[Diagnostic], unsafe: bool) -> list[_Change]:
    fixes = [fix for d in diagnostics if (fix := choose(d.fixes, unsafe)) is not None]
    by_path: dict[str, list[Edit]] = {}
    for edit in compatible(fixes):
        by_path.setdefault(os.path.realpath(edit.span.path), []).append(edit)
    changes = []
    for edits in by_path.values():
        source = edits[0].span.source
        try:
            data = apply(source, [edit for edit in edits if edit.span.source.data == source.data])
        except UnicodeEncodeError:
            continue
        if data != source.data and os.path.isfile(source.path):
            changes.append(_Change(source, data, len(edits)))
    return changes


def _identity(d: Diagnostic) -> tuple[str, ...]:
    """What stays the same of a finding while other places of the file change."""
    return d.code, d.path, d.span.text, d.message


def _worse(before: Run, after: Run) -> bool:
    """Whether edits made a file unreadable, lost a launch, or brought a finding that was not there."""
    if len(after.launches) < len(before.launches):
        return True
    old, new = _weights(before), _weights(after)
    return any(number > old[code] for code, number in new.items())


def _weights(run: Run) -> Counter[str]:
    return Counter(d.code for d in run.shown if d.severity >= Severity.WARNING or d.code.startswith("SRC"))


def _clash(a: Edit, b: Edit) -> bool:
    if os.path.realpath(a.span.path) != os.path.realpath(b.span.path):
        return False
    if a.span.start == a.span.end == b.span.start == b.span.end:
        return True  # two insertions at one place: their order would be a guess
    return a.span.start < b.span.end and b.span.start < a.span.end


def _clash_within(edits: Sequence[Edit]) -> bool:
    return any(_clash(edit, other) for at, edit in enumerate(edits) for other in edits[:at])


def write_atomically(path: str, data: bytes) -> None:
    """Replace a file's content in one step, keeping its mode; a reader sees the old or the new file, never a part."""
    status = os.stat(path)
    handle, temporary = tempfile.mkstemp(prefix=".lint-vllm-", dir=os.path.dirname(path) or ".")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(status.st_mode))
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _diff(source: SourceFile, data: bytes, redactor: Redactor) -> str:
    import difflib

    shown = Path(source.path).as_posix()
    new = SourceFile(source.path, data)
    mark = "\ufeff" if source.bom == codecs.BOM_UTF8 else ""  # the patch has to fit the bytes
    lines = difflib.unified_diff(_lines(mark + source.text), _lines(mark + new.text), f"a/{shown}", f"b/{shown}")
    return "".join(_ended(redactor.line(line)) for line in lines)


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True) if "\r" in text else [f"{line}\n" for line in text.split("\n")[:-1]] + _last(text)


def _last(text: str) -> list[str]:
    rest = text.rsplit("\n", 1)[-1]
    return [rest] if rest else []


def _ended(line: str) -> str:
    return line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


__all__ = ["Fixed", "Settled", "apply", "choose", "compatible", "diff_of", "fix_paths", "settle", "write_all", "write_atomically"]
