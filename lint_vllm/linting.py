"""From the paths of a command line to a whole run. A file that cannot hold a launch costs one look at its bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from lint_vllm.discovery import Found, discover, repository_root, walk
from lint_vllm.extract import may_hold_launch
from lint_vllm.frozen import dataclass
from lint_vllm.request import Request

if TYPE_CHECKING:
    from lint_vllm.baseline import Baseline
    from lint_vllm.diagnostic import Diagnostic
    from lint_vllm.engine import Engine
    from lint_vllm.result import FileResult, Run


@dataclass(frozen=True, slots=True)
class Choice:
    """Which rules run, over what settings say: codes, names or families."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    inline_ignores: bool = True


def lint_paths(paths: Sequence[str], request: Request, choice: Choice) -> Run:
    """Lint files and folders. Raises ``PathError``, ``SettingsError``, ``RegistryError``, ``BaselineError``."""
    from lint_vllm.result import Run

    linter = _Linter(request, choice)
    files = 0
    results: list[FileResult] = []
    named: list[str] = []
    for found in discover(paths, request.settings_in):
        files += 1
        if found.named:
            named.append(found.path)
        result = linter.lint(found)
        if result is not None:
            results.append(result)
    results.extend(linter.referring(named, {os.path.realpath(result.path) for result in results}))
    return linter.joined(files, results) if results else Run(files, (), ())


class _Linter:
    def __init__(self, request: Request, choice: Choice) -> None:
        self.request = request
        self.choice = choice

    @cached_property
    def engine(self) -> Engine:
        """The rules and all they need, loaded for the first file that may hold a launch."""
        from lint_vllm.engine import Engine

        choice = self.choice
        return Engine.of(self.request, select=choice.select, ignore=choice.ignore, inline_ignores=choice.inline_ignores)

    def lint(self, found: Found) -> FileResult | None:
        """The result of a file; ``None`` when it cannot hold a launch."""
        if found.too_large:
            reason = f"the file has {found.size:,} bytes and was not read"
            return self.engine.unreadable(found.path, reason) if found.named else None
        try:
            data = self.request.read(found.path)
        except OSError as error:
            return self.engine.unreadable(found.path, error.strerror or str(error))
        if not may_hold_launch(data):
            return None
        from lint_vllm.source import SourceFile
        from lint_vllm.time_limit import SECONDS_A_FILE, TOO_LONG, TooLong, time_limit

        engine = self.engine  # loading the rules is not the file's doing
        try:
            with time_limit(SECONDS_A_FILE):
                return engine.lint(SourceFile(found.path, data), found.folder)
        except TooLong:
            return engine.unreadable(found.path, TOO_LONG, fault=True)

    def referring(self, named: Sequence[str], done: set[str]) -> Iterator[FileResult]:
        """Launches elsewhere in the repository that read a named file: it changed, so they did.

        Only for named files (a commit hook): a walked folder holds its launches itself.
        """
        changed = {os.path.realpath(path) for path in named if _may_be_referred_to(path)}
        if not changed:
            return
        roots = {root for path in changed if (root := repository_root(Path(path).parent)) is not None}
        for root in sorted(roots):
            for found in walk(os.path.relpath(root)):
                if os.path.realpath(found.path) in done or self.request.settings_in(root).excluded(Path(found.path).absolute()):
                    continue
                result = self.lint(found)
                if result is not None and result.refers_to & changed:
                    yield _only_referring(result, changed)

    def joined(self, files: int, results: Sequence[FileResult]) -> Run:
        from lint_vllm.inspection import without_repeats
        from lint_vllm.redaction import Redactor
        from lint_vllm.result import Run

        found = [(result.path, judged) for result in results for judged in result.launches]
        launches = without_repeats(found, lambda judged: judged.launch, lambda judged: judged.files)
        redactor = Redactor()
        for _, judged in found:
            redactor.learn((judged.launch,), judged.secrets)
        diagnostics = [d for result in results for d in result.diagnostics]
        return Run(files, tuple(launches), tuple(self._accepted(_distinct(diagnostics))), redactor)

    def _accepted(self, diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
        """The diagnostics with those of a baseline marked."""
        baselines: dict[Path, Baseline] = {}
        for d in diagnostics:
            settings = self.request.settings_in(Path(d.path).absolute().parent)
            if settings.baseline is not None and d.suppressed is None:
                from lint_vllm.baseline import Baseline
                from lint_vllm.diagnostic import Suppression

                path = settings.root / settings.baseline
                if path not in baselines:
                    baselines[path] = Baseline.read(path)
                if baselines[path].accepts(d):
                    d = replace(d, suppressed=Suppression("baseline", f"accepted in {settings.baseline}"))
            yield d


def _may_be_referred_to(path: str) -> bool:
    """Files that launches read: ``.env`` files, and YAML or JSON with keys of vLLM (``--config``, chart values)."""
    name = os.path.basename(path).lower()
    if name.startswith(".env") or name.endswith(".env"):
        return True
    if not name.endswith((".yaml", ".yml", ".json")):
        return False
    try:
        return may_hold_launch(Path(path).read_bytes())
    except OSError:
        return False


def _only_referring(result: FileResult, changed: set[str]) -> FileResult:
    """The launches that hold text of the changed files; all of the file when none shows it (a value that is gone)."""
    touching = [judged for judged in result.launches if any(os.path.realpath(path) in changed for path in judged.paths)]
    if not touching:
        return result
    blocks = [judged.launch.block for judged in touching]
    kept = [d for d in result.diagnostics if os.path.realpath(d.path) in changed or any(block.contains(d.span) for block in blocks)]
    return replace(result, launches=tuple(touching), diagnostics=tuple(kept))


def _distinct(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Without repeats between files: a shared script is reported once."""
    seen: set[tuple[str, str, int, int, str]] = set()
    kept = []
    for d in diagnostics:
        key = (d.code, os.path.normpath(d.path), d.span.start, d.span.end, d.message)
        if key not in seen:
            seen.add(key)
            kept.append(d)
    return kept
