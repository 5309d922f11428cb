#!/usr/bin/env python3
"""Build the flag table of a vLLM release from its published source and add it to the shipped history.

usage: refresh_flags.py RELEASE ...           add (or replace) the tables of these releases
       refresh_flags.py --check RELEASE ...   compare instead; exit status 1 when the shipped table differs by a byte
       refresh_flags.py --new                 print the published releases that have no table yet, and do nothing

    --source FOLDER   use an unpacked source (a folder that holds vllm/) instead of downloading; for one release
    --keep FOLDER     where to leave the downloaded sources (default: a temporary folder)

Run it with a Python that has ``tools/refresh-requirements.txt`` installed. The source comes from the package index through
pip, the sdist where there is one, else the wheel; no GPU is needed. Python 3.11 gives what is shipped.
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable

import build_flags
from build_flags import Table, canonical

from lint_vllm.arguments.tables import known_releases, release_key

HERE = pathlib.Path(__file__).resolve().parent
FINAL = re.compile(r"\d+(\.\d+)+(\.post\d+)?")


def published() -> list[str]:
    """Final releases that the package index offers, oldest first."""
    run = [sys.executable, "-m", "pip", "index", "versions", "vllm"]
    text = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    line = next((line for line in text.splitlines() if line.startswith("Available versions:")), "")
    names = [name.strip() for name in line.partition(":")[2].split(",")]
    return sorted((name for name in names if FINAL.fullmatch(name)), key=release_key)


def new_releases() -> list[str]:
    """Published releases newer than the newest table. Patch releases count: they may change flags."""
    newest = release_key(known_releases()[-1])
    return [name for name in published() if release_key(name) > newest]


def download(release: str, folder: pathlib.Path) -> pathlib.Path:
    """The release's Python files under ``folder``; the folder that holds ``vllm/``."""
    target = folder / release
    if (target / "vllm").is_dir():
        return target
    with tempfile.TemporaryDirectory() as box:
        for kind in (["--no-binary", "vllm", "--no-build-isolation"], ["--only-binary", "vllm"]):
            run = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *kind, "-d", box, f"vllm=={release}"]
            # the sdist's metadata step names a device suffix unless it is told the version
            extra = {"VLLM_TARGET_DEVICE": "empty", "VLLM_VERSION_OVERRIDE": release}
            if subprocess.run(run, env={**os.environ, **extra}).returncode == 0:
                unpack(next(pathlib.Path(box).iterdir()), target)
                return target
    raise SystemExit(f"vllm=={release} cannot be downloaded")


def unpack(archive: pathlib.Path, target: pathlib.Path) -> None:
    """Only the Python files of the package, wherever the archive keeps it."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for name in wheel.namelist():
                _place(target, name, wheel.read(name))
        return
    with tarfile.open(archive) as sdist:
        for member in sdist:
            inner = member.name.partition("/")[2]
            content = sdist.extractfile(member)
            if content is not None:
                _place(target, inner, content.read())


def _place(target: pathlib.Path, name: str, content: bytes) -> None:
    path = pathlib.PurePosixPath(name)
    if path.suffix == ".py" and path.parts[0] == "vllm" and ".." not in path.parts:
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)


def table_of(source: pathlib.Path, release: str) -> Table:
    """The table of an unpacked source, built in a process of its own."""
    run = [sys.executable, str(HERE / "dump_flags.py"), str(source), release]
    done = subprocess.run(run, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(done.stderr[-4000:])
        raise SystemExit(f"the parsers of vLLM {release} could not be built")
    return json.loads(done.stdout)


def compare(fresh: Table) -> bool:
    """Whether the shipped history holds exactly this table; prints the difference."""
    release = fresh["release"]
    shipped = canonical(build_flags.release_table(release)) if release in known_releases() else ""
    found = canonical(fresh)
    if found == shipped:
        print(f"{release}: the shipped table is reproduced, {len(found.encode()):,} bytes")
        return True
    lines = difflib.unified_diff(shipped.splitlines(), found.splitlines(), "shipped", "fresh", lineterm="", n=2)
    print(f"{release}: differs")
    print("\n".join(list(lines)[:200]))
    return False


def add(tables: Iterable[Table]) -> None:
    fresh = {table["release"]: table for table in tables}
    kept = [table for table in build_flags.shipped() if table["release"] not in fresh]
    for name in build_flags.write(build_flags.fold([*kept, *fresh.values()])):
        print(f"wrote lint_vllm/data/flags/{name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("releases", nargs="*")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--new", action="store_true")
    parser.add_argument("--source", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path)
    given = parser.parse_args()
    if given.new:
        print("\n".join(new_releases()))
        return 0
    if not given.releases or (given.source and len(given.releases) != 1):
        parser.error("name the releases; --source goes with one")
    with tempfile.TemporaryDirectory() as box:
        folder = given.keep or pathlib.Path(box)
        tables = [table_of(given.source or download(release, folder), release) for release in given.releases]
    if given.check:
        agree = [compare(table) for table in tables]  # every difference is shown, not only the first
        return int(not all(agree))
    add(tables)
    return 0


if __name__ == "__main__":
    sys.exit(main())
