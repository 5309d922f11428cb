"""What changes between two releases without a word in the file: defaults that move, and behaviour that changes by itself.

Defaults come from the history of the releases' own parsers; ``data/upgrade_notes.json`` adds dated behaviour that no parser
table shows, and says in words what a move means and how to keep what was.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from lint_vllm.arguments.history import changes
from lint_vllm.arguments.tables import known_releases, load
from lint_vllm.budget.refusal import RefusalKind
from lint_vllm.facts import version_key
from lint_vllm.frozen import dataclass
from lint_vllm.packaged import data_text

if TYPE_CHECKING:
    from lint_vllm.inspection import Case

_LENGTH: RefusalKind = "max_model_len"


@dataclass(frozen=True, slots=True)
class Move:
    """Something that changes by itself. ``flag`` is the option whose default moves, with ``before`` and ``after`` as text.

    ``since`` is the first release with the new behaviour; ``keep`` is what to write to keep the old one.
    """

    since: str
    title: str
    words: str = ""
    flag: str | None = None
    before: str | None = None
    after: str | None = None
    keep: str | None = None
    source: str = ""


def moves(before: Case, after: Case) -> tuple[Move, ...]:
    """What changes by itself for a launch between the releases that two readings of it are made with, oldest first."""
    old, new = before.facts.release, after.facts.release
    if version_key(old.version) >= version_key(new.version):
        return ()  # behaviour is dated by where it begins; what a step back brings is told by the defaults alone
    told = [row for row in _notes() if _crosses(row, old.version, new.version) and _concerns(row, before, after)]
    found = [_told(row) for row in told]
    dests = {row["dest"] for row in _notes() if "dest" in row} | {dest for row in _notes() for dest in row.get("also", ())}
    found += [
        move for move in _defaults(old.table, new.table, after) if (move.flag or "").lstrip("-").replace("-", "_") not in dests
    ]
    return tuple(sorted(found, key=lambda move: version_key(move.since)))


@functools.lru_cache(maxsize=1)
def _notes() -> tuple[Mapping[str, Any], ...]:
    text = data_text("upgrade_notes.json")
    return tuple(json.loads(text))


def _crosses(row: Mapping[str, Any], old: str, new: str) -> bool:
    """Whether an upgrade passes the release of a note, and does not end where the note no longer holds."""
    since, until = version_key(row["since"]), row.get("until")
    return version_key(old) < since <= version_key(new) and (until is None or version_key(new) < version_key(until))


def _concerns(row: Mapping[str, Any], before: Case, after: Case) -> bool:
    dests = [dest for dest in (row.get("dest"), *row.get("also", ())) if dest]
    if any(before.args.given(dest) or after.args.given(dest) for dest in dests) or row.get("unless_env") in after.launch.env:
        return False
    return all(_CONDITIONS[name](before, after) for name in row.get("when", ()))


def _told(row: Mapping[str, Any]) -> Move:
    flag = "--" + row["dest"].replace("_", "-") if "dest" in row else None
    return Move(row["since"], row["title"], row["words"], flag, row.get("before"), row.get("after"), row.get("keep"), row["source"])


def _serves(before: Case, after: Case) -> bool:
    return after.args.form != "python"


def _on_gpus(before: Case, after: Case) -> bool:
    """Whether the release's engine for GPUs runs; other devices have their own history."""
    from lint_vllm.facts.images import image_facts

    image = image_facts(after.launch.image)
    return image is None or image.device in (None, "cuda", "rocm")


def _captures_graphs(before: Case, after: Case) -> bool:
    return after.args.value("enforce_eager") is not True and _on_gpus(before, after)


def _is_data_parallel(before: Case, after: Case) -> bool:
    size = after.args.value("data_parallel_size")
    return isinstance(size, int) and size > 1


def _has_shorter_length(before: Case, after: Case) -> bool:
    """Whether the model's own limit falls, as the engine computes it."""
    was, now = before.facts.budget, after.facts.budget
    if now.refusal is not None and now.refusal.kind == _LENGTH:
        return was.derived_max_model_len is not None
    return None not in (was.derived_max_model_len, now.derived_max_model_len) and (
        (was.derived_max_model_len or 0) > (now.derived_max_model_len or 0)
    )


_CONDITIONS: Mapping[str, Callable[[Case, Case], bool]] = {
    "serves": _serves,
    "cuda": _on_gpus,
    "graphs": _captures_graphs,
    "data_parallel": _is_data_parallel,
    "shorter_length": _has_shorter_length,
}


def _defaults(old: str, new: str, after: Case) -> Iterator[Move]:
    """Defaults that move from one value to another and that the launch leaves to the release."""
    for change in changes(old, new):
        plain = isinstance(change.before, (int, float, str)) and isinstance(change.after, (int, float, str))
        if change.kind != "default" or not plain or "" in (change.before, change.after) or after.args.given(change.dest):
            continue
        if change.dest == "model" and after.args.model_span is not None:
            continue
        yield Move(
            _first_with(change.flag, change.after, old, new),
            f"the default of {change.flag} moves",
            flag=change.flag,
            before=_shown(change.before),
            after=_shown(change.after),
            keep=_keep(change.flag, change.before, new),
            source="the releases' own parsers",
        )


def _first_with(flag: str, default: object, old: str, new: str) -> str:
    """The first release, of those passed, with a default."""
    passed = [r for r in known_releases() if version_key(old) < version_key(r) <= version_key(new)]
    since = new
    for release in reversed(passed):
        option = load(release).by_flag.get(flag)
        if option is None or option.default != default:
            break
        since = release
    return since


def _shown(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def _keep(flag: str, value: object, release: str) -> str | None:
    """How the target writes the old default; ``None`` where it takes it no more."""
    option = load(release).by_flag.get(flag)
    if option is None or (option.choices is not None and value not in option.choices):
        return None
    if isinstance(value, bool):
        return (flag if value else option.negative) if option.is_switch else None
    return f"{flag} {value}"
