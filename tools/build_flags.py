#!/usr/bin/env python3
"""Fold tables of single releases into the history that lint-vllm ships, one line per thing.

usage: build_flags.py TABLE.json ... [--into lint_vllm/data/flags]

Each TABLE is what ``tools/dump_flags.py`` wrote for one release. The history holds exactly the same facts:
``lint_vllm.arguments.tables.release_table`` gives every table back, which ``tools/refresh_flags.py --check`` verifies.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "lint_vllm" / "data" / "flags"
sys.path.insert(0, str(ROOT))

from lint_vllm.arguments.tables import release_key, release_table  # noqa: E402

Table = dict[str, Any]
Things = dict[tuple[str, ...], dict[str, Any]]


def canonical(table: Table) -> str:
    """The text two tables are compared by: names sorted, the order of choices and flags kept."""
    table = {**table, **{key: {owner: sorted(names) for owner, names in table[key].items()} for key in ("python", "values")}}
    return json.dumps(table, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def things(table: Table) -> dict[str, Things]:
    """A table taken apart: file -> (name of the thing) -> its state in this release."""
    fields: Things = {}
    for cls, record in table["classes"].items():
        fields[(cls,)] = {key: value for key, value in record.items() if key != "fields"}
        for field, state in record["fields"].items():
            fields[(cls, field)] = state
    return {
        "options": {(key,): state for key, state in table["options"].items()},
        "env": {(key,): state for key, state in table["env"].items()},
        "classes": fields,
        "enums": {(key,): {"members": members} for key, members in table["enums"].items()},
        "python": {(owner, name): {} for owner, names in table["python"].items() for name in names},
        "values": {(dest, value): {} for dest, values in table["values"].items() for value in values},
    }


def history(states: Iterable[tuple[str, dict[str, Any] | None]]) -> list[list[Any]]:
    """``[[release, changes], ...]``: the full state first, then changed keys; ``"-"`` lists keys that went; null = gone."""
    steps: list[list[Any]] = []
    last: dict[str, Any] | None = None
    for release, state in states:
        if state == last:
            continue
        if state is None:
            steps.append([release, None])
        elif last is None:
            steps.append([release, state])
        else:
            changes = {key: value for key, value in state.items() if key not in last or not _same(last[key], value)}
            dropped = sorted(set(last) - set(state))
            if dropped:
                changes["-"] = dropped
            if changes:
                steps.append([release, changes])
        last = state
    return steps


def _same(a: Any, b: Any) -> bool:
    return json.dumps(a, sort_keys=True) == json.dumps(b, sort_keys=True)


def fold(tables: Iterable[Table]) -> dict[str, str]:
    """The text of every data file, from the tables of all releases."""
    ordered = sorted(tables, key=lambda table: release_key(table["release"]))
    releases = [table["release"] for table in ordered]
    apart = [things(table) for table in ordered]
    files = {"releases.json": json.dumps(releases, indent=1) + "\n"}
    for file in apart[0]:
        lines = []
        for name in sorted({name for part in apart for name in part[file]}):
            states = zip(releases, (part[file].get(name) for part in apart), strict=True)
            line = [*name, history(states)]
            lines.append(json.dumps(line, ensure_ascii=False, separators=(",", ":"), sort_keys=True))
        files[f"{file}.jsonl"] = "\n".join(lines) + "\n"
    return files


def shipped() -> list[Table]:
    """The tables that the shipped history holds."""
    return [release_table(release) for release in json.loads((DATA / "releases.json").read_text())]


def write(files: dict[str, str], into: pathlib.Path = DATA) -> list[str]:
    """Write what changed; the names of the files written."""
    into.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, text in files.items():
        path = into / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(name)
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="+", type=pathlib.Path)
    parser.add_argument("--into", type=pathlib.Path, default=DATA)
    given = parser.parse_args()
    tables = [json.loads(path.read_text(encoding="utf-8")) for path in given.tables]
    for name in write(fold(tables), given.into):
        print(given.into / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
