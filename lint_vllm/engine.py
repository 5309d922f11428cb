"""Everything for one file: read, extract, resolve, judge, silence. The only place that catches exceptions of rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from pathlib import Path

from lint_vllm.diagnostic import Applicability, Diagnostic, Finding, Fix
from lint_vllm.extract.context import Unreadable
from lint_vllm.facts.resolve import Shared
from lint_vllm.frozen import dataclass
from lint_vllm.inspection import Case, Inspection, inspect_file, shared_facts
from lint_vllm.launch import Launch
from lint_vllm.redaction import secrets_in
from lint_vllm.registry import rules
from lint_vllm.request import Request
from lint_vllm.result import FileResult, JudgedLaunch
from lint_vllm.selection import Active, Selection
from lint_vllm.settings import Settings, Table
from lint_vllm.source import SourceFile
from lint_vllm.suppress import Suppressions

UNREADABLE = "SRC001"
UNUSED_IGNORE = "SRC002"
FAILED = "SRC900"
"""Rules whose findings the engine itself makes; their modules declare them like all others."""

MAX_FINDINGS = 2000
"""Of one rule in one file; a generated file repeats itself."""


@dataclass
class Engine:
    """Lints files for one request. Settings errors surface as :class:`lint_vllm.settings.SettingsError`."""

    request: Request
    selection: Selection
    inline_ignores: bool = True
    _shared: dict[str | None, Shared] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        request: Request,
        *,
        select: tuple[str, ...] | None = None,
        ignore: tuple[str, ...] = (),
        inline_ignores: bool = True,
    ) -> Engine:
        return cls(request, Selection(rules(), select, ignore, request.profile), inline_ignores)

    def lint(self, source: SourceFile, folder: str | None = None) -> FileResult:
        """The launches and diagnostics of one file; suppressed ones are marked, not left out.

        ``folder`` is the walked folder that the file was found in.
        """
        if folder not in self._shared:
            self._shared[folder] = shared_facts(self.request, folder)
        whole = Path(source.path).absolute()
        settings = self.request.settings_in(whole.parent)
        table = settings.table_for(whole)
        active = self.selection.active(table)
        request = replace(self.request, profile=self.selection.profile(table))
        inspection = inspect_file(source, request, table, self._shared[folder])
        found = _unique((*_judge(inspection, active, table), *_unreadable(inspection, active)))
        diagnostics = self._silenced(source, found, settings, active)
        return FileResult(
            source.path,
            tuple(_judged(case) for case in inspection.cases),
            tuple(sorted(diagnostics, key=_order)),
            inspection.read | _places(inspection),
        )

    def unreadable(self, path: str, reason: str, *, fault: bool = False) -> FileResult:
        """The result of a file that could not be read at all; ``fault``: by no fault of its own."""
        whole = Path(path).absolute()
        active = self.selection.active(self.request.settings_in(whole.parent).table_for(whole))
        source = SourceFile(path, b"")
        inspection = Inspection(source, problems=(Unreadable(source.span(0, 0), reason, fault),))
        return FileResult(path, diagnostics=tuple(item.diagnostic for item in _unreadable(inspection, active)))

    def _silenced(
        self, source: SourceFile, found: Sequence[_Found], settings: Settings, active: Sequence[Active]
    ) -> Iterator[Diagnostic]:
        """The findings with those marked that a comment silences, and the comments that silence nothing."""
        ignores = Suppressions.of(source, self.inline_ignores and settings.inline_ignores)
        for item in found:
            d = item.diagnostic
            yield replace(d, suppressed=ignores.match(d.code, d.name, d.span, item.launch))
        rule = _named(active, UNUSED_IGNORE)
        if rule is None:
            return
        ran = {key for each in active for key in (each.rule.code, each.rule.name)}
        for unused in ignores.unused(ran):
            what = ", ".join(code.upper() for code in unused.codes) or "this comment"
            fix = Fix("remove it", (unused.edit,), Applicability.SAFE, verified=True)
            yield _diagnostic(rule, Finding(unused.span, f"{what} silences nothing here", (fix,)))


@dataclass(frozen=True, slots=True)
class _Found:
    diagnostic: Diagnostic
    launch: Launch | None = None


def _judge(inspection: Inspection, active: Sequence[Active], table: Table) -> Iterator[_Found]:
    for case in inspection.cases:
        documentation = case.launch.passage == "doc"
        for each in active:
            if documentation and not _speaks_on_docs(each, table):
                continue
            for item in _run(each, case, active):
                yield _without_safe_fixes(item) if documentation and table.docs is None else item


def _without_safe_fixes(found: _Found) -> _Found:
    """A document may speak of another release on purpose: its text is rewritten only on request."""
    finding = found.diagnostic.finding
    fixes = tuple(
        replace(fix, applicability=Applicability.UNSAFE) if fix.applicability is Applicability.SAFE else fix
        for fix in finding.fixes
    )
    return replace(found, diagnostic=replace(found.diagnostic, finding=replace(finding, fixes=fixes)))


def _speaks_on_docs(each: Active, table: Table) -> bool:
    wanted = table.docs or "arguments"
    return wanted == "all" or (wanted == "arguments" and each.rule.docs)


def _run(each: Active, case: Case, active: Sequence[Active]) -> Iterator[_Found]:
    try:
        for number, finding in enumerate(each.rule.check(case.args, case.facts, each.options)):
            if number >= MAX_FINDINGS:
                return
            yield _Found(_diagnostic(each, finding), case.launch)
    except Exception as error:  # a broken rule must not hide the findings of others
        reporter = _named(active, FAILED)
        if reporter is not None:
            message = f"rule {each.rule.code} ({each.rule.name}) failed on this launch: {type(error).__name__}: {error}"
            yield _Found(_diagnostic(reporter, Finding(case.launch.command, message)), case.launch)


def _unreadable(inspection: Inspection, active: Sequence[Active]) -> Iterator[_Found]:
    for problem in inspection.problems:
        rule = _named(active, FAILED if problem.fault else UNREADABLE)
        if rule is not None:
            yield _Found(_diagnostic(rule, Finding(problem.span, problem.sentence)))


def _places(inspection: Inspection) -> frozenset[str]:
    """Other files in which arguments of the launches are written."""
    spans = (argument.span for case in inspection.cases for argument in case.args.arguments)
    sources = {id(span.source): span.path for span in spans if span.source is not inspection.source}
    return frozenset(os.path.realpath(path) for path in sources.values())


def _named(active: Iterable[Active], code: str) -> Active | None:
    return next((each for each in active if each.rule.code == code), None)


def _diagnostic(each: Active, finding: Finding) -> Diagnostic:
    if each.severity is not None:
        severity = each.severity
    else:
        severity = finding.severity if finding.severity is not None else each.rule.severity
    return Diagnostic(each.rule.code, each.rule.name, severity, finding, each.rule.url)


def _unique(found: Iterable[_Found]) -> list[_Found]:
    """Without repeats: launches that share an anchor or a script share its findings."""
    seen: set[tuple[str, str, int, int, str]] = set()
    kept = []
    for item in found:
        d = item.diagnostic
        key = (d.code, d.path, d.span.start, d.span.end, d.message)
        if key not in seen:
            seen.add(key)
            kept.append(item)
    return kept


def _order(d: Diagnostic) -> tuple[str, int, int, str]:
    return (d.path, d.span.start, -int(d.severity), d.code)


def _judged(case: Case) -> JudgedLaunch:
    unknown: list[str] = list(case.launch.unresolved)
    try:
        budget = case.facts.budget
        memory = budget.known
        unknown = [*budget.unknown, *(reason for reason in unknown if reason not in budget.unknown)]
    except Exception as error:  # the engine's own fault is a reason like any other
        memory = False
        unknown = [f"the budget engine failed: {type(error).__name__}: {error}", *unknown]
    return JudgedLaunch(case.launch, case.args.complete, memory, tuple(unknown), case.files, tuple(secrets_in(case.args.arguments)))
