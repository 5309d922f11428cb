"""Settings: ``[tool.lint-vllm]`` in ``pyproject.toml``, or ``.lint-vllm.toml``; the nearest one upward of each linted file.

This module finds and merges tables; validation (and with it pydantic) is loaded only when a settings file exists. Rule
options stay raw here: the engine validates them against each rule's own options.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import field, fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from lint_vllm.frozen import dataclass
from lint_vllm.globs import compiled

FILE_NAME = ".lint-vllm.toml"
CALIBRATION_NAME = ".lint-vllm-calibration.json"
PROFILES = ("default", "strict")
LEVELS = ("info", "warning", "error")


class SettingsError(Exception):
    """Settings that cannot be used; the message names the file, the key and, where there is one, the key meant."""


@dataclass(frozen=True, slots=True)
class Stated:
    """Facts that somebody stated in one place: the command line, a settings table. ``None`` where nobody did.

    ``gpu`` is a card, an alias or a family name; ``context_tokens`` is prompt plus output of one request (p99);
    ``model_config`` is the path of a ``config.json``; ``models`` maps a model id to such a path or to a table of facts.
    """

    gpu: str | None = None
    gpu_count: int | None = None
    gpu_memory_gib: float | None = None
    vllm_version: str | None = None
    model_config: str | None = None
    concurrency: int | None = None
    context_tokens: int | None = None
    context_tokens_p50: int | None = None
    output_tokens: int | None = None
    task: str | None = None
    models: Mapping[str, str | Mapping[str, object]] = field(default_factory=dict)
    root: Path | None = None
    """The folder that relative paths in ``models`` start from."""
    release_origin: str | None = None
    """What messages name as the place that states ``vllm_version``, where it is not ``--vllm-version``."""

    def below(self, other: Stated) -> Stated:
        """These facts with ``other``'s on top, fact by fact."""
        changes = {f.name: value for f in fields(other) if (value := getattr(other, f.name)) is not None and f.name != "models"}
        return replace(self, **changes, models={**self.models, **other.models})


@dataclass(frozen=True, slots=True)
class Table:
    """One table of settings: the top level, or an entry of ``per-path``. Rules are named by code, name or family."""

    facts: Stated = Stated()
    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    severity: Mapping[str, str] = field(default_factory=dict)
    profile: str | None = None
    docs: str | None = None
    """Which rules judge launches in documentation: ``arguments`` (default: rules that say so), ``all``, ``none``."""
    options: Mapping[str, Mapping[str, object]] = field(default_factory=dict)

    def below(self, other: Table) -> Table:
        """This table with ``other`` on top: facts and single values are replaced, lists and maps grow."""
        return Table(
            facts=self.facts.below(other.facts),
            select=self.select if other.select is None else other.select,
            extend_select=(*self.extend_select, *other.extend_select),
            ignore=(*self.ignore, *other.ignore),
            severity={**self.severity, **other.severity},
            profile=other.profile or self.profile,
            docs=other.docs or self.docs,
            options={k: {**self.options.get(k, {}), **other.options.get(k, {})} for k in (*self.options, *other.options)},
        )


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of one folder. ``file`` is ``None`` when there is none; paths and globs are relative to ``root``."""

    root: Path
    file: Path | None = None
    top: Table = Table()
    per_path: tuple[tuple[str, Table], ...] = ()
    exclude: tuple[str, ...] = ()
    fail_on: str | None = None
    baseline: str | None = None
    inline_ignores: bool = True

    def excluded(self, path: Path) -> bool:
        return any(matches(pattern, path, self.root) for pattern in self.exclude)

    def per_path_for(self, path: Path) -> Table:
        """What the ``per-path`` tables say for a file, later tables on top."""
        table = Table()
        for pattern, entry in self.per_path:
            if matches(pattern, path, self.root):
                table = table.below(entry)
        return table

    def table_for(self, path: Path) -> Table:
        return self.top.below(self.per_path_for(path)) if self.per_path else self.top


def matches(pattern: str, path: Path, root: Path) -> bool:
    """Whether a glob names a path or one of its folders, as in ``.gitignore``: a pattern without ``/`` matches at any depth."""
    try:
        relative = path.resolve().relative_to(root.resolve()).as_posix()
    except (OSError, ValueError):
        relative = path.as_posix().lstrip("/")
    return compiled(pattern.strip()).match(relative) is not None


def find(folder: Path) -> Settings:
    """The settings that hold in a folder: the nearest file upward, not beyond the repository. Raises :class:`SettingsError`."""
    return _find(Path(folder).absolute())


@lru_cache(maxsize=4096)
def _find(folder: Path) -> Settings:
    for name in (FILE_NAME, "pyproject.toml"):
        found = _read(folder / name)
        if found is not None:
            return found
    if folder.parent == folder or os.path.exists(folder / ".git"):
        return Settings(folder)
    return _find(folder.parent)


def load(path: str | Path) -> Settings:
    """The settings of a file named by the caller. Raises :class:`SettingsError` when it holds none or cannot be read."""
    target = Path(path)
    if not os.path.isfile(target):
        raise SettingsError(f"{path}: no such settings file")
    found = _read(target, named=True)
    if found is None:
        raise SettingsError(f"{path}: no [tool.lint-vllm] table")
    return found


def _read(path: Path, named: bool = False) -> Settings | None:
    try:
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        if named or path.name == FILE_NAME:
            raise SettingsError(f"{path}: {error.strerror or error}") from None
        return None
    in_pyproject = path.name == "pyproject.toml"
    if in_pyproject and b"lint-vllm" not in data:
        return None
    raw = _toml(path, data)
    if in_pyproject:
        tool = raw.get("tool")
        raw = tool.get("lint-vllm") if isinstance(tool, dict) else None
        if raw is None:
            return None
    from lint_vllm.settings_model import validate

    return validate(raw, path)


def _toml(path: Path, data: bytes) -> Any:
    import sys

    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SettingsError(f"{path}: not valid TOML: {error}") from None


def shown(settings: Settings, path: Path) -> dict[str, Any]:
    """What holds for a path, under the keys of a settings file; keys that nobody set are left out."""
    table = settings.table_for(path)
    facts = {dashed(f.name): getattr(table.facts, f.name) for f in fields(table.facts) if f.name != "root"}
    load = {key: facts.pop(key) for key in ("concurrency", "context-tokens", "context-tokens-p50", "output-tokens", "task")}
    everything: dict[str, Any] = {
        **facts,
        "workload": {key: value for key, value in load.items() if value is not None},
        "select": table.select,
        "extend-select": table.extend_select,
        "ignore": table.ignore,
        "severity": table.severity,
        "profile": table.profile,
        "docs": table.docs,
        "options": table.options,
        "exclude": settings.exclude,
        "fail-on": settings.fail_on,
        "baseline": settings.baseline,
        "inline-ignores": None if settings.inline_ignores else False,
    }
    return {key: value for key, value in everything.items() if value is not None and value != () and value != {}}


def is_release(text: str) -> bool:
    """Whether a text names a release: ``0.33.0``, ``v0.9.1.post1``, ``0.10.0rc1``, ``0.8.5+cu121``."""
    return re.fullmatch(r"v?\d+(?:\.\d+)*(?:\.?(?:a|b|rc|post|dev)\d*)*(?:[+-][\w.+-]+)?", text.strip()) is not None


def dashed(name: str) -> str:
    return name.replace("_", "-")
