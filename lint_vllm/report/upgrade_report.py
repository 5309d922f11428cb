"""What an upgrade does, for people (text, markdown), for programs (json), and on the changed line of a pull request (github)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lint_vllm.budget.quantity import GIB, Quantity
from lint_vllm.budget.report import budget_json
from lint_vllm.budget.result import Budget
from lint_vllm.diagnostic import Severity
from lint_vllm.report.budget_report import VERDICTS
from lint_vllm.report.frame import printable
from lint_vllm.report.github_report import workflow_command
from lint_vllm.report.json_report import diagnostic_entry, region
from lint_vllm.report.summary import counted

if TYPE_CHECKING:
    from lint_vllm.release_moves import Move
    from lint_vllm.upgrade import Finding, LaunchUpgrade, Upgrade

VERSION = 1
FORMATS = ("text", "json", "markdown", "github")
Row = tuple[str, str, str]


def render(name: str, upgrade: Upgrade) -> str:
    return _RENDERERS[name](upgrade)


# ---- what every form tells ---------------------------------------------------------------------------------------


def _model(launch: LaunchUpgrade) -> str:
    model = launch.before.args.model
    return model if isinstance(model, str) else "model not known"


def _from(launch: LaunchUpgrade) -> str:
    release = launch.before.facts.release
    return f"{release.version} ({release.origin})"


def memory_rows(launch: LaunchUpgrade) -> list[Row]:
    """(item, before, after) of the account of one GPU; empty where neither release's account is known."""
    was, now = launch.before.facts.budget, launch.after.facts.budget
    if not was.known and not now.known:
        return []
    rows = [
        (name, _gib(read(was)), _gib(read(now))) for name, read in _ITEMS.items() if read(was) is not None or read(now) is not None
    ]
    for name, figure in (("KV pool, tokens", _tokens), ("longest request", _length), ("such requests at once", _requests)):
        rows.append((name, figure(was), figure(now)))
    batch = [
        (name, f"{a:,}", f"{b:,}")
        for name, a, b in (
            ("tokens a batch", was.max_num_batched_tokens, now.max_num_batched_tokens),
            ("sequences a batch", was.max_num_seqs, now.max_num_seqs),
        )
        if a is not None and b is not None and a != b
    ]
    return [*(row for row in (*rows, *batch) if (row[1], row[2]) != ("-", "-")), ("verdict", _verdict(was), _verdict(now))]


_ITEMS: Mapping[str, Callable[[Budget], Quantity | None]] = {
    "share": lambda b: b.requested,
    "weights": lambda b: b.weights,
    "activations": lambda b: b.activations,
    "CUDA graphs": lambda b: b.cuda_graphs,
    "framework": lambda b: b.framework,
    "KV pool": lambda b: b.kv_available,
}


def _gib(item: Quantity | None) -> str:
    if item is None:
        return "-"
    low, high = f"{item.low / GIB:.1f}", f"{item.high / GIB:.1f}"
    return f"{low} GiB" if low == high else f"{item.likely / GIB:.1f} GiB ({low} to {high})"


def _tokens(budget: Budget) -> str:
    return f"{budget.tokens.likely:,.0f}" if budget.tokens is not None else "-"


def _length(budget: Budget) -> str:
    return f"{budget.max_model_len:,} tokens" if budget.max_model_len is not None else "-"


def _requests(budget: Budget) -> str:
    return f"{budget.max_concurrency.likely:,.2f}" if budget.max_concurrency is not None else "-"


def _verdict(budget: Budget) -> str:
    if not budget.known:
        return "not judged"
    return VERDICTS[budget.outcome] + (f" ({budget.confidence})" if budget.outcome != "arg_error" else "")


def pool_sentence(launch: LaunchUpgrade) -> str | None:
    """The change of the pool in one sentence; ``None`` where it is not known on both sides."""
    was, now = launch.before.facts.budget, launch.after.facts.budget
    if was.kv_available is None or now.kv_available is None:
        return None
    moved = (now.kv_available.likely - was.kv_available.likely) / max(was.kv_available.likely, 1)
    part = f", {moved:+.0%}" if abs(moved) >= 0.005 else ""
    text = f"KV pool {was.kv_available.likely / GIB:.1f} -> {now.kv_available.likely / GIB:.1f} GiB{part}"
    if was.tokens is not None and now.tokens is not None:
        text += f" ({was.tokens.likely:,.0f} -> {now.tokens.likely:,.0f} tokens)"
    if was.max_concurrency is not None and now.max_concurrency is not None and now.max_model_len is not None:
        before, after = was.max_concurrency.likely, now.max_concurrency.likely
        text += f"; requests of {now.max_model_len:,} tokens at once {before:.1f} -> {after:.1f}"
    if was.outcome != now.outcome:
        text += f"; {VERDICTS[was.outcome]} -> {VERDICTS[now.outcome]}"
    return text


def why_not_judged(launch: LaunchUpgrade) -> str | None:
    for case in (launch.before, launch.after):
        budget = case.facts.budget
        if not budget.known and budget.unknown:
            return budget.unknown[0]
        if budget.outcome == "arg_error" and budget.details:
            return f"vLLM {case.facts.release.version}: {budget.details[0]}"
    return None


def _common(upgrade: Upgrade) -> tuple[Move, ...]:
    """What changes by itself for every one of several launches: told once."""
    if len(upgrade.launches) < 2:
        return ()
    return tuple(m for m in upgrade.launches[0].moves if all(m in launch.moves for launch in upgrade.launches))


def _own(launch: LaunchUpgrade, upgrade: Upgrade) -> tuple[Move, ...]:
    common = _common(upgrade)
    return tuple(move for move in launch.moves if move not in common)


def _move(move: Move) -> str:
    change = f" ({move.flag} {move.before} -> {move.after})" if move.flag and move.before is not None else ""
    words = f": {move.words}" if move.words else ""
    keep = f"; to keep it: {move.keep}" if move.keep else ""
    return f"{move.title}{change}{words}{keep}"


def _state(finding: Finding, written: bool) -> str:
    words = []
    if finding.fixed:
        words.append("fixed" if written else "in the patch")
    elif finding.diagnostic.severity is Severity.ERROR:
        words.append("by hand")
    if finding.standing:
        words.append("refused today as well")
    return f" [{', '.join(words)}]" if words else ""


def _advice(finding: Finding) -> str | None:
    """The first way out of what the patch leaves."""
    return None if finding.fixed or not finding.diagnostic.fixes else finding.diagnostic.fixes[0].title


def _bump(launch: LaunchUpgrade) -> str:
    if launch.bump is None:
        return f"release not rewritten: {launch.no_bump}"
    return f"release at line {launch.place.line}: rewritten to {launch.bump}"


def _summary(upgrade: Upgrade) -> str:
    total = len(upgrade.launches)
    if not total:
        return "no launches"
    broken = sum(launch.breaks for launch in upgrade.launches)
    accepted = sum(launch.accepted for launch in upgrade.launches)
    text = f"{counted(total, 'launch')} to vLLM {upgrade.target}: {broken} would break"
    if upgrade.edits:
        done = "rewrote" if upgrade.written else "rewrites"
        text += f"; the patch {done} {counted(upgrade.edits, 'place')}, then the parser takes {accepted} of {total}"
        text += "" if upgrade.written else " (--diff shows it, --fix writes it)"
    return text


# ---- text --------------------------------------------------------------------------------------------------------


def _text(upgrade: Upgrade) -> str:
    lines: list[str] = []
    for launch in upgrade.launches:
        lines += [printable(upgrade.redactor.text(line)) for line in _launch_text(launch, upgrade)]
        lines.append("")
    for finding in upgrade.elsewhere:
        lines.append(printable(upgrade.redactor.text(_finding_text(finding, upgrade.written))))
    if common := _common(upgrade):
        lines += [f"what changes by itself in all {len(upgrade.launches)} launches", *_moves_text(common, "  "), ""]
    lines.append(_summary(upgrade))
    return "\n".join(lines) + "\n"


def _launch_text(launch: LaunchUpgrade, upgrade: Upgrade) -> Iterator[str]:
    command = launch.before.launch.command
    yield f"{command.path}:{command.line}  {_model(launch)}"
    yield f"  vLLM {_from(launch)} -> {upgrade.target}"
    if launch.findings:
        yield f"  what {upgrade.target} objects to"
    for finding in launch.findings:
        yield f"    {_finding_text(finding, upgrade.written)}"
        if (advice := _advice(finding)) is not None:
            yield f"      {advice}"
    for problem in _unreported(launch):
        yield f"    {problem}"
    if launch.readings:
        yield "  what is read differently"
    for reading in launch.readings:
        yield f"    {reading.written} was {reading.before}, now {reading.after}"
    if own := _own(launch, upgrade):
        yield "  what changes by itself"
        yield from _moves_text(own, "    ")
    rows = memory_rows(launch)
    if rows:
        before = launch.before.facts.release.version
        yield f"  {'memory of one GPU':<24}{before:<28}{upgrade.target}"
        yield from (f"    {name:<22}{was:<28}{now}".rstrip() for name, was, now in rows)
    reason = why_not_judged(launch)
    if reason is not None:
        yield f"  memory not compared: {reason}"
    yield f"  {_bump(launch)}"


def _moves_text(moves: Sequence[Move], indent: str) -> Iterator[str]:
    return (f"{indent}{move.since:<9} {_move(move)}" for move in moves)


def _finding_text(finding: Finding, written: bool) -> str:
    d = finding.diagnostic
    return f"{d.path}:{d.span.line}:{d.span.column} {d.severity.label} {d.code} {d.message}{_state(finding, written)}"


def _unreported(launch: LaunchUpgrade) -> Iterator[str]:
    """Refusals that remain and that no rule reports."""
    told = {f.diagnostic.span.text for f in launch.findings}
    for problem in launch.refused:
        if problem.span.text not in told:
            yield f"line {problem.span.line}: {problem.message} [by hand]"


# ---- json --------------------------------------------------------------------------------------------------------


def _json(upgrade: Upgrade) -> str:
    document = {
        "version": VERSION,
        "to": upgrade.target,
        "table": upgrade.table,
        "summary": {
            "launches": len(upgrade.launches),
            "breaking": sum(launch.breaks for launch in upgrade.launches),
            "accepted": sum(launch.accepted for launch in upgrade.launches),
            "edits": upgrade.edits,
            "remains": upgrade.remains,
            "written": upgrade.written,
        },
        "launches": [_launch_json(launch, upgrade) for launch in upgrade.launches],
        "elsewhere": [_finding_json(finding, upgrade) for finding in upgrade.elsewhere],
        "diff": upgrade.diff,
    }
    return json.dumps(upgrade.redactor.document(document), indent=2, ensure_ascii=False) + "\n"


def _launch_json(launch: LaunchUpgrade, upgrade: Upgrade) -> dict[str, Any]:
    text, command, release = upgrade.redactor.text, launch.before.launch.command, launch.before.facts.release
    return {
        "path": command.path,
        "line": command.line,
        "site": launch.before.launch.site,
        "model": launch.before.args.model if isinstance(launch.before.args.model, str) else None,
        "from": {"value": release.version, "from": release.origin, "certainty": release.certainty},
        "to": upgrade.target,
        "place": {"path": launch.place.path, **region(launch.place)},
        "bump": launch.bump,
        "no_bump": launch.no_bump or None,
        "breaks": launch.breaks,
        "accepted": launch.accepted,
        "findings": [_finding_json(finding, upgrade) for finding in launch.findings],
        "refused": [{"kind": p.kind, "message": text(p.message), "line": p.span.line} for p in launch.refused],
        "readings": [{"written": r.written, "before": r.before, "after": r.after, "line": r.span.line} for r in launch.readings],
        "moves": [
            {
                "since": m.since,
                "title": m.title,
                "words": m.words,
                "flag": m.flag,
                "before": m.before,
                "after": m.after,
                "keep": m.keep,
                "source": m.source,
            }
            for m in launch.moves
        ],
        "memory": {
            "before": budget_json(launch.before.facts, launch.before.facts.budget),
            "after": budget_json(launch.after.facts, launch.after.facts.budget),
            "sentence": pool_sentence(launch),
        },
    }


def _finding_json(finding: Finding, upgrade: Upgrade) -> dict[str, Any]:
    return {**diagnostic_entry(finding.diagnostic, upgrade.redactor), "standing": finding.standing, "fixed": finding.fixed}


# ---- markdown ----------------------------------------------------------------------------------------------------


def _markdown(upgrade: Upgrade) -> str:
    lines = [f"## vLLM upgrade to {upgrade.target}", "", _summary(upgrade) + ".", ""]
    for launch in upgrade.launches:
        lines += [upgrade.redactor.text(line) for line in _launch_markdown(launch, upgrade)]
    if common := _common(upgrade):
        lines += [f"### In all {len(upgrade.launches)} launches", "", *_moves_markdown(common)]
    if upgrade.diff:
        fence = "`" * max(3, _longest_run(upgrade.diff) + 1)
        lines += ["### Patch", "", f"{fence}diff", upgrade.diff.rstrip("\n"), fence, ""]
    return "\n".join(lines)


def _launch_markdown(launch: LaunchUpgrade, upgrade: Upgrade) -> Iterator[str]:
    command = launch.before.launch.command
    yield f"### `{_code(f'{command.path}:{command.line}')}` {_cell(_model(launch))}"
    yield ""
    yield f"vLLM {_cell(_from(launch))} → {upgrade.target}; {_cell(_bump(launch))}."
    yield ""
    if launch.findings or launch.refused:
        yield from _table(
            ("where", "what", "how"),
            [
                (
                    f"line {f.diagnostic.span.line}",
                    f"**{f.diagnostic.severity.label}** {f.diagnostic.code}: {f.diagnostic.message}",
                    "in the patch" if f.fixed else _advice(f) or "by hand",
                )
                for f in launch.findings
            ]
            + [("", problem, "by hand") for problem in _unreported(launch)],
        )
    if launch.readings:
        yield from _table(("written", "was", "is"), [(r.written, r.before, r.after) for r in launch.readings])
    rows = memory_rows(launch)
    if rows:
        yield from _table(("memory of one GPU", launch.before.facts.release.version, upgrade.target), rows)
    reason = why_not_judged(launch)
    if reason is not None:
        yield f"Memory not compared: {_cell(reason)}."
        yield ""
    yield from _moves_markdown(_own(launch, upgrade))


def _moves_markdown(moves: Sequence[Move]) -> Iterator[str]:
    if moves:
        rows = [(m.since, _move(replace(m, keep=None)), f"`{m.keep}`" if m.keep else "") for m in moves]
        yield from _table(("since", "changes by itself", "to keep it"), rows)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(_cell(cell) for cell in head)} |"
    yield f"|{' --- |' * len(head)}"
    yield from (f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)
    yield ""


def _cell(text: str) -> str:
    return printable(" ".join(text.split())).replace("|", "\\|").replace("<", "&lt;")


def _code(text: str) -> str:
    return printable(text).replace("`", "'")


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# ---- github ------------------------------------------------------------------------------------------------------


def _github(upgrade: Upgrade) -> str:
    """One annotation a launch where the release is stated (the line that a bump changes), one a finding on its own line."""
    lines = []
    for launch in upgrade.launches:
        title = f"vLLM {launch.before.facts.release.version} to {upgrade.target}"
        level = "error" if launch.breaks else "notice"
        lines.append(workflow_command(level, launch.place, title, upgrade.redactor.text(_annotation(launch))))
        for finding in launch.findings:
            d = finding.diagnostic
            level = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}[d.severity]
            message = upgrade.redactor.text(d.message + _state(finding, upgrade.written))
            lines.append(workflow_command(level, d.span, f"{d.code} {d.name}", message))
    lines.append(_summary(upgrade))
    return "\n".join(lines) + "\n"


def _annotation(launch: LaunchUpgrade) -> str:
    lost = dict.fromkeys(f.diagnostic.span.text for f in launch.findings if f.diagnostic.severity >= Severity.WARNING)
    lines = [f"flags and variables lost: {', '.join(lost)}"] if lost else []
    sentence = pool_sentence(launch)
    reason = why_not_judged(launch)
    lines.append(sentence or f"memory not compared{f': {reason}' if reason else ''}")
    lines += [f"since {move.since}: {_move(move)}" for move in launch.moves]
    return "\n".join(lines)


_RENDERERS: Mapping[str, Callable[[Upgrade], str]] = {"text": _text, "json": _json, "markdown": _markdown, "github": _github}
