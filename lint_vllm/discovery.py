"""From the paths of the command line to the files that are read.

A named file is always read unless settings exclude it. A named folder is walked: ``.gitignore`` files hold (also those of
the folders above, up to the repository), links are not followed, caches and very large files are left out. Nothing is
executed.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from lint_vllm.frozen import dataclass
from lint_vllm.globs import translate
from lint_vllm.settings import Settings

MAX_BYTES = 4 * 2**20
"""Files above this size are not read: no launch file is that long, data files are."""

SKIPPED_FOLDERS = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", ".venv", ".tox", ".nox", ".cache", ".direnv", ".eggs", ".terraform"),
        *(".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", "__pycache__", "node_modules", "site-packages"),
    )
)
_SKIPPED_SUFFIXES = (
    *(".safetensors", ".gguf", ".bin", ".pt", ".pth", ".onnx", ".npy", ".npz", ".parquet", ".arrow", ".pkl"),
    *(".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".pdf", ".mp4", ".mp3", ".wav", ".ttf", ".woff", ".woff2"),
    *(".gz", ".zip", ".tar", ".tgz", ".xz", ".zst", ".bz2", ".whl", ".jar", ".so", ".a", ".o", ".pyc", ".dll", ".exe"),
)


class PathError(Exception):
    """A path of the command line that cannot be linted; the message says why."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file to lint. ``size`` in bytes; ``folder`` is the walked folder, ``None`` for a file named on the command line."""

    path: str
    size: int
    folder: str | None = None

    @property
    def named(self) -> bool:
        return self.folder is None

    @property
    def too_large(self) -> bool:
        return self.size > MAX_BYTES


def discover(paths: Iterable[str], settings_of: Callable[[Path], Settings]) -> Iterator[Found]:
    """The files of some paths, each once, folders in order of name. ``settings_of`` takes a folder.

    Raises :class:`PathError` for a path that does not exist, before anything is yielded.
    """
    named = [(path, _status(path)) for path in paths]
    seen: set[str] = set()
    for path, status in named:
        if stat.S_ISDIR(status.st_mode):
            candidates: Iterable[Found] = walk(path)
        else:
            candidates = (Found(path, status.st_size),)
        for found in candidates:
            place = os.path.realpath(found.path)
            if place in seen:
                continue
            seen.add(place)
            whole = Path(found.path).absolute()
            settings = settings_of(whole.parent)
            if settings.exclude and settings.excluded(whole):
                continue
            yield found


def _status(path: str) -> os.stat_result:
    try:
        status = os.stat(path)
    except (OSError, ValueError) as error:
        raise PathError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if not (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode)):
        raise PathError(f"{path}: neither a file nor a folder")
    return status


def walk(folder: str) -> Iterator[Found]:
    """The files below a folder that version control would know, without data files and caches, in order of name."""
    for path, size in _walk(folder, _rules_above(Path(folder).absolute())):
        yield Found(path, size, folder)


def _walk(folder: str, rules: tuple[IgnoreFile, ...]) -> Iterator[tuple[str, int]]:
    try:
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except PermissionError:
        yield folder, 1  # reading it fails, and is said
        return
    except OSError:
        return
    if any(entry.name == ".gitignore" for entry in entries):
        rules = (*rules, *_rules_of(Path(folder).absolute()))
    whole = os.path.abspath(folder) if rules else ""
    for entry in entries:
        try:
            if entry.is_symlink():
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if is_folder and entry.name in SKIPPED_FOLDERS:
                continue
            if not is_folder and (entry.name.endswith(_SKIPPED_SUFFIXES) or not entry.is_file(follow_symlinks=False)):
                continue
            if rules and _ignored(f"{whole}/{entry.name}", is_folder, rules):
                continue
            path = entry.name if folder == "." else os.path.join(folder, entry.name)
            if is_folder:
                yield from _walk(path, rules)
            elif 0 < (size := entry.stat(follow_symlinks=False).st_size) <= MAX_BYTES:
                yield path, size
        except OSError:
            continue


def repository_root(folder: Path) -> Path | None:
    """The folder upward that holds ``.git``; ``None`` outside a repository."""
    for candidate in (folder, *folder.parents):
        if os.path.exists(candidate / ".git"):  # where one may not look, there is none
            return candidate
    return None


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """A ``.gitignore``: groups of patterns of one sign, in order; the last group that matches decides."""

    base: str
    groups: tuple[tuple[bool, re.Pattern[str], re.Pattern[str]], ...]
    """(ignored, pattern over any entry, pattern over folders only)."""

    def verdict(self, path: str, is_folder: bool) -> bool | None:
        relative = path[len(self.base) :]
        for ignored, anything, folders in reversed(self.groups):
            if anything.match(relative) or (is_folder and folders.match(relative)):
                return ignored
        return None


def _ignored(path: str, is_folder: bool, rules: tuple[IgnoreFile, ...]) -> bool:
    for rule in reversed(rules):
        verdict = rule.verdict(path, is_folder)
        if verdict is not None:
            return verdict
    return False


def _rules_above(folder: Path) -> tuple[IgnoreFile, ...]:
    """The ignore files of the folders above, from the repository's root down; none outside a repository."""
    root = repository_root(folder)
    if root is None:
        return ()
    between = [parent for parent in reversed(folder.parents) if parent.is_relative_to(root)]
    rules = _rules_of(root, ".git/info/exclude")
    for parent in between:
        rules = (*rules, *_rules_of(parent))
    return rules


def _rules_of(folder: Path, name: str = ".gitignore") -> tuple[IgnoreFile, ...]:
    try:
        text = (folder / name).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ()
    groups: list[tuple[bool, list[str], list[str]]] = []
    for line in text.splitlines()[:5000]:
        pattern = line.rstrip()
        if not pattern or pattern.startswith("#"):
            continue
        negated = pattern.startswith("!")
        pattern = pattern[1:] if negated else pattern
        if not groups or groups[-1][0] is negated:
            groups.append((not negated, [], []))
        _, anything, folders = groups[-1]
        (folders if pattern.endswith("/") else anything).append(translate(pattern))
    base = f"{str(folder).rstrip('/')}/"
    return (IgnoreFile(base, tuple((sign, _either(a), _either(b)) for sign, a, b in groups)),) if groups else ()


def _either(patterns: list[str]) -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(patterns)})\\Z", re.DOTALL) if patterns else re.compile(r"(?!)")
