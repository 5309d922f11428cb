"""What moving to another vLLM release does to the launches of some files, and the patch that takes them there.

Nothing is judged here: the rules read each launch as both releases do, and what only the target objects to is the upgrade's;
the budget engine computes both accounts; the rules' own fixes and the release's new tag or pin make the patch. The launches are
read with the tag already moved, so that the image's entry point and build are the target's too.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lint_vllm.arguments.tables import load, table_release
from lint_vllm.diagnostic import Diagnostic, Edit, Severity
from lint_vllm.facts import version_key
from lint_vllm.facts.images import image_facts
from lint_vllm.fixer import apply, diff_of, settle, write_all
from lint_vllm.frozen import dataclass
from lint_vllm.inventory import inspect_paths
from lint_vllm.linting import Choice, lint_paths
from lint_vllm.release_moves import Move, moves
from lint_vllm.result import Run
from lint_vllm.source import SourceFile, Span

if TYPE_CHECKING:
    from lint_vllm.arguments.model import Problem
    from lint_vllm.inspection import Case
    from lint_vllm.redaction import Redactor
    from lint_vllm.request import Request

ORIGIN = "--to"
"""What messages name as the source of the target release."""

_EXACT_PIN = re.compile(r"vllm(?:\[[^\]]*\])?[ \t]*={2,3}[ \t]*(?P<version>\d[\w.]*)[\"']?")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the target objects to. ``standing``: the release in use does so too. ``fixed``: the patch solves it."""

    diagnostic: Diagnostic
    standing: bool
    fixed: bool


@dataclass(frozen=True, slots=True)
class Reading:
    """Words that both releases take and read differently: an abbreviation that now means another option."""

    written: str
    before: str
    after: str
    span: Span


@dataclass(frozen=True, slots=True)
class LaunchUpgrade:
    """One launch, as the release in use reads it (``before``) and as the target reads it once patched (``after``).

    ``place`` is where the file states the release, else the launch itself; ``bump`` is the new text there, or ``None`` where
    there is nothing to rewrite, and ``no_bump`` says why. ``refused`` are the errors of the target's parser that remain.
    """

    before: Case
    after: Case
    place: Span
    bump: str | None
    no_bump: str
    findings: tuple[Finding, ...]
    readings: tuple[Reading, ...]
    moves: tuple[Move, ...]
    refused: tuple[Problem, ...]

    @property
    def accepted(self) -> bool:
        """Whether the target's parser takes the patched launch."""
        return not self.refused

    @property
    def breaks(self) -> bool:
        """Whether the target will not start the launch as the files stand: it is refused, or no longer fits."""
        fails = self.after.facts.budget.fails and self.after.facts.budget.confidence != "possible"
        starts = self.before.facts.budget.outcome == "starts"
        return any(_is_new_error(f) for f in self.findings) or not self.accepted or (fails and starts)


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A whole run. ``edits`` counts the places that the patch rewrites, the release's own included."""

    target: str
    table: str
    launches: tuple[LaunchUpgrade, ...]
    elsewhere: tuple[Finding, ...]
    diff: str
    edits: int
    redactor: Redactor
    written: bool = False

    @property
    def remains(self) -> bool:
        """Whether something breaks that the patch does not mend."""
        return any(
            not launch.accepted or any(_is_new_error(f) and not f.fixed for f in launch.findings) or _falls(launch)
            for launch in self.launches
        )

    @property
    def breaks(self) -> bool:
        return any(launch.breaks for launch in self.launches)


def _is_new_error(finding: Finding) -> bool:
    return finding.diagnostic.severity is Severity.ERROR and not finding.standing


def _falls(launch: LaunchUpgrade) -> bool:
    """Whether a launch that starts today is likely not to start any more, patched."""
    now = launch.after.facts.budget
    return launch.before.facts.budget.outcome == "starts" and now.fails and now.confidence != "possible"


def upgrade_paths(
    paths: Sequence[str], request: Request, target: str, *, unsafe: bool = False, bump: bool = True, write: bool = False
) -> Upgrade:
    """Compare the launches of files and folders as they are with what they are under ``target``.

    ``request.facts.vllm_version`` is the release in use where the files do not say; ``bump`` rewrites the tag or pin that
    states it. Raises what :func:`lint_vllm.linting.lint_paths` raises, and ``OSError`` where a file cannot be written.
    """
    choice = Choice()
    before = inspect_paths(paths, request).cases
    stated = before
    if request.facts.vllm_version is not None:  # a stated release hides where the file names one
        stated = inspect_paths(paths, replace(request, facts=replace(request.facts, vllm_version=None))).cases
    bumps = [_bump(case, target) for case in stated]
    moved = _apply(_everywhere(edit for edit, _ in bumps if edit is not None)) if bump else {}
    wanted = replace(request, facts=replace(request.facts, vllm_version=target, release_origin=ORIGIN))
    if len(inspect_paths(paths, replace(wanted, overlay=moved)).cases) != len(before):
        moved = {}  # the new tag makes another program of the image: judge the words alone
    old = lint_paths(paths, request, choice)
    known = _marks(old.shown, before)

    def lint(overlay: Mapping[str, bytes]) -> Run:
        asked = replace(wanted, overlay=overlay)
        run = lint_paths(paths, asked, choice)
        cases = inspect_paths(paths, asked).cases
        return replace(run, diagnostics=tuple(d for d, _ in _of_the_upgrade(run.shown, cases, known)))

    settled = settle(lint, unsafe=unsafe, overlay=moved)
    first = inspect_paths(paths, replace(wanted, overlay=moved)).cases
    last = inspect_paths(paths, replace(wanted, overlay=settled.overlay)).cases
    left = _marks(settled.run.shown, last)
    found: dict[int, list[Finding]] = {}
    for at, d, standing in _attributed(settled.before.shown, first, known):
        found.setdefault(at, []).append(Finding(d, standing, not left[(at, d.code, d.span.text)]))
    if write:
        write_all(settled.overlay)
    touched = [*settled.counts, *(edit.span.path for edit, _ in bumps if edit is not None)]
    return Upgrade(
        target=target,
        table=table_release(target)[0],
        launches=tuple(
            LaunchUpgrade(
                before=was,
                after=now,
                place=_place(case),
                bump=edit.text if edit is not None and moved else None,
                no_bump=reason if bump else "not asked for",
                findings=tuple(found.get(at, ())),
                readings=tuple(_readings(was, unpatched)),
                moves=moves(was, now),
                refused=tuple(p for p in now.args.problems if p.is_error),
            )
            for at, (was, case, unpatched, now, (edit, reason)) in enumerate(zip(before, stated, first, last, bumps, strict=True))
        ),
        elsewhere=tuple(found.get(-1, ())),
        diff=diff_of(settled.overlay, touched, settled.before.redactor),
        edits=sum(settled.counts.values()) + (len({edit.span for edit, _ in bumps if edit is not None}) if moved else 0),
        redactor=settled.before.redactor,
        written=write,
    )


# ---- the release itself ------------------------------------------------------------------------------------------


def _place(case: Case) -> Span:
    span = case.facts.release.span
    return span if span is not None and span.source is case.launch.source else case.launch.command


def _bump(case: Case, target: str) -> tuple[Edit | None, str]:
    """The edit that states the target where the file states the release in use, or why there is none."""
    release, image = case.facts.release, case.launch.image
    span = release.span
    if release.certainty in ("floating", "assumed"):
        return None, "no release is stated to rewrite"
    if version_key(release.version) == version_key(target):
        return None, "it is stated already"
    if span is None:
        return None, f"the release is known from {release.origin}: change it there"
    if image is not None and image.tag_span == span and image.tag is not None:
        if image.digest is not None:
            return None, "the image is pinned by its digest as well"
        known = image_facts(image)
        if known is None or not known.official:
            return None, f"which tag of {image.name} holds vLLM {target} is not known"
        if image.tag.removeprefix("v") != release.version:
            return None, f"whether {image.name} has such a tag of vLLM {target} as {image.tag} is not known"
        return _literal(span, image.tag, image.tag.replace(release.version, target))
    text, version = span.text, release.version
    if text == version or text == f"v{version}":
        return Edit(span, text.replace(version, target)), ""
    pin = _EXACT_PIN.fullmatch(text)
    if pin is not None and pin["version"] == version:
        start = span.start + pin.start("version")
        return Edit(Span(span.source, start, start + len(version)), target), ""
    return None, f"`{' '.join(text.split())}` is not a plain pin"


def _literal(span: Span, written: str, text: str) -> tuple[Edit | None, str]:
    """An edit where the file holds exactly these characters."""
    return (Edit(span, text), "") if span.text == written else (None, "the tag is put together from parts")


def _everywhere(edits: Iterable[Edit]) -> Iterator[Edit]:
    """The edits, and the same for every other mention of the same image in its file: a cluster's workers must not lag behind."""
    for edit in edits:
        yield edit
        text, start, end = edit.span.source.text, edit.span.start, edit.span.end
        name = re.search(r"[\w./:-]+:\Z", text[max(0, start - 300) : start])
        if name is None:
            continue
        for match in re.finditer(rf"(?<![\w./-]){re.escape(name.group())}{re.escape(edit.span.text)}(?![\w.-])", text):
            line = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
            if match.end() != end and "#" not in line:
                yield Edit(Span(edit.span.source, match.end() - (end - start), match.end()), edit.text)


def _apply(edits: Iterable[Edit]) -> dict[str, bytes]:
    """New contents by real path."""
    by_path: dict[str, list[Edit]] = {}
    for edit in dict.fromkeys(edits):
        by_path.setdefault(os.path.realpath(edit.span.path), []).append(edit)
    return {path: apply(_one_source(chosen), chosen) for path, chosen in by_path.items()}


def _one_source(edits: Sequence[Edit]) -> SourceFile:
    return edits[0].span.source


# ---- whose finding it is -----------------------------------------------------------------------------------------


def _marks(diagnostics: Iterable[Diagnostic], cases: Sequence[Case]) -> Counter[tuple[int, str, str]]:
    """What is found, by launch, rule and underlined text: places move when a file is edited, these do not."""
    return Counter((at, d.code, d.span.text) for d in diagnostics for at in _owners(d, cases))


def _attributed(
    diagnostics: Iterable[Diagnostic], cases: Sequence[Case], known: Mapping[tuple[int, str, str], int]
) -> Iterator[tuple[int, Diagnostic, bool]]:
    for d in diagnostics:
        for at in _owners(d, cases):
            yield at, d, bool(known.get((at, d.code, d.span.text)))


def _of_the_upgrade(
    diagnostics: Iterable[Diagnostic], cases: Sequence[Case], known: Mapping[tuple[int, str, str], int]
) -> Iterator[tuple[Diagnostic, bool]]:
    """What only the target objects to, and what its parser refuses in any case."""
    for d in diagnostics:
        standing = all(known.get((at, d.code, d.span.text)) for at in _owners(d, cases))
        refused = d.severity is Severity.ERROR and d.code.startswith("ARG")
        if not standing or refused:
            yield d, standing


def _owners(d: Diagnostic, cases: Sequence[Case]) -> tuple[int, ...]:
    """The launches that a finding is about: those with something written there, else the innermost around it; -1 for none."""
    touching = tuple(at for at, case in enumerate(cases) if any(_overlap(d.span, span) for span in _spans(case)))
    if touching:
        return touching
    around = [(case.launch.block.end - case.launch.block.start, at) for at, case in enumerate(cases) if _around(case, d.span)]
    return (min(around)[1],) if around else (-1,)


def _spans(case: Case) -> Iterator[Span]:
    launch = case.launch
    yield launch.command
    if launch.image is not None:
        yield launch.image.span
    for word in launch.words:
        yield word.span
        if word.defined is not None:
            yield word.defined
    for setting in launch.settings:
        yield setting.name.span
        if setting.value is not None:
            yield setting.value.span
    for variable in launch.env.values():
        yield variable.span


def _overlap(a: Span, b: Span) -> bool:
    return a.source.path == b.source.path and a.start < b.end and b.start < a.end


def _around(case: Case, span: Span) -> bool:
    block = case.launch.block
    return block.path == span.path and block.start <= span.start and span.end <= block.end


def _readings(was: Case, now: Case) -> Iterator[Reading]:
    """Abbreviations that both releases take, each for another option; a new inverse spelling in full means what it meant."""
    before = {(a.spelled, a.raw): a for a in was.args.arguments}
    spellings = load(now.facts.release.table).by_flag
    for argument in now.args.arguments:
        old = before.get((argument.spelled, argument.raw))
        if old is not None and old.dest != argument.dest and argument.spelled.startswith("-") and argument.spelled not in spellings:
            yield Reading(argument.spelled, old.flag, argument.flag, argument.name_span)


__all__ = ["Finding", "LaunchUpgrade", "Reading", "Upgrade", "upgrade_paths"]
