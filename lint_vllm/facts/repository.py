"""Bounded, read-only look-ups of files that lie near a linted file and belong to it.

Never leaves the repository (or, outside one, the linted file's folder); never follows links out of it; reads text only.
Every look-up is lazy and remembered. Outside the repository only one place is read: the machine's Hugging Face cache,
for ``config.json`` of models that were downloaded before.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from lint_vllm.frozen import dataclass
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile

T = TypeVar("T")

MAX_TEXT = 512 * 1024
MAX_CONFIG = 4 * 2**20
"""Model folders hold long lists of tensors (``model.safetensors.index.json``)."""
MAX_FILES = 200
MAX_LEVELS = 12

_ROOT_MARKS = (".git", ".lint-vllm.toml")
_CONFIG_FILES = ("config.json", "params.json")
_ENV_LINE = pattern(r"^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_]\w*)[ \t]*=[ \t]*(?P<value>[^\r\n]*)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model that lies in the repository. ``path`` is relative to the repository's root; absent files are ``None``."""

    path: str
    config: Mapping[str, Any] | None = None
    generation_config: Mapping[str, Any] | None = None
    tokenizer_config: Mapping[str, Any] | None = None
    index: Mapping[str, Any] | None = None
    """``model.safetensors.index.json``: ``metadata.total_size`` is the bytes of all tensors."""
    adapter_config: Mapping[str, Any] | None = None
    quant_config: Mapping[str, Any] | None = None
    """``hf_quant_config.json``, which stands for a missing ``quantization_config``."""


@dataclass(frozen=True, slots=True)
class NearbyFile:
    """A text file of the repository; ``path`` is relative to its root."""

    path: str
    text: str = field(repr=False)


@dataclass
class Repository:
    """What lies around one linted file. ``root`` bounds every look-up; ``folder`` is where relative paths start."""

    root: Path
    folder: Path
    use_hub_cache: bool = True
    overlay: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    """Contents that take the place of files, by real path: fixes that are not written yet."""
    _memo: dict[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.root, self.folder = _real(self.root), _real(self.folder)

    @classmethod
    def of(
        cls,
        path: str | Path,
        *,
        boundary: Path | None = None,
        use_hub_cache: bool = True,
        overlay: Mapping[str, bytes] | None = None,
    ) -> Repository:
        """The repository of a linted file: the nearest ``.git`` or settings file upward, else ``boundary`` (a folder that
        the caller was asked to lint, when it holds the file), else the file's own folder."""
        folder = _real(Path(path).absolute().parent)
        return cls(repository_root(folder, boundary), folder, use_hub_cache, overlay or {})

    def remember(self, key: str, compute: Callable[[], T]) -> T:
        """The result of a look-up, made once. Every key is used by one caller only."""
        if key not in self._memo:
            self._memo[key] = compute()
        value: T = self._memo[key]
        return value

    # -- paths ---------------------------------------------------------------------------------------------------------

    def locate(self, relative: str, base: Path | None = None) -> Path | None:
        """The real path of something in the repository, relative to the folder (or ``base``); ``None`` when absent,
        outside, or reached through a link that leads outside."""
        if not relative or len(relative) > 1000 or "\0" in relative or relative.startswith("~"):
            return None
        try:
            real = _real((base or self.folder) / relative)
            return real if real.is_relative_to(self.root) and real.exists() else None
        except (OSError, ValueError, RuntimeError):
            return None

    def exists(self, relative: str) -> bool:
        """Whether a path exists in the repository, seen from the folder or from the root."""
        return self.locate(relative) is not None or self.locate(relative, self.root) is not None

    def name_of(self, path: Path) -> str:
        """A path relative to the root, for people."""
        try:
            return path.relative_to(self.root).as_posix()
        except ValueError:
            return path.name

    def upward(self) -> Iterator[Path]:
        """The folder, then its parents up to the root."""
        at = self.folder
        for _ in range(MAX_LEVELS):
            yield at
            if at in (self.root, at.parent):
                return
            at = at.parent

    # -- files ---------------------------------------------------------------------------------------------------------

    def text(self, path: Path, limit: int = MAX_TEXT) -> str | None:
        """The text of a regular file in the repository; ``None`` when it is none, too large or not text."""
        return self.remember(f"text {path}", lambda: _read_text(path, limit) if self._inside(path) else None)

    def read(self, relative_path: str) -> SourceFile | None:
        """A file as a source, with the path that a person sees; relative to the folder."""
        path = self.locate(relative_path)
        if path is None or self.text(path) is None:
            return None
        return SourceFile(os.path.relpath(path), self.overlay.get(str(path)) or path.read_bytes())

    def json(self, path: Path, limit: int = MAX_CONFIG) -> Mapping[str, Any] | None:
        """A JSON object; ``None`` for anything else."""
        return self.remember(f"json {path}", lambda: _object(_read_text(path, limit)) if self._inside(path) else None)

    def names(self, folder: Path | None = None) -> tuple[str, ...]:
        """Names of the regular files in a folder of the repository, sorted; at most ``MAX_FILES``."""
        where = folder or self.folder
        return self.remember(f"names {where}", lambda: _names(where) if self._inside(where) else ())

    def folders(self, folder: Path) -> tuple[str, ...]:
        """Names of the folders in a folder of the repository, sorted; at most ``MAX_FILES``."""
        if not self._inside(folder) or not folder.is_dir():
            return ()
        with os.scandir(folder) as entries:
            return tuple(
                sorted(entry.name for entry in itertools.islice(entries, MAX_FILES) if entry.is_dir(follow_symlinks=False))
            )

    def _inside(self, path: Path) -> bool:
        return _real(path).is_relative_to(self.root)

    def beside(self, suffixes: tuple[str, ...] = ()) -> Iterator[NearbyFile]:
        """Text files in the linted file's folder, by suffix (all when none is given)."""
        for name in self.names():
            if suffixes and not name.endswith(suffixes):
                continue
            text = self.text(self.folder / name)
            if text is not None:
                yield NearbyFile(self.name_of(self.folder / name), text)

    # -- what is asked -------------------------------------------------------------------------------------------------

    def environment(self, name: str = ".env") -> Mapping[str, str]:
        """The plain assignments of an env file beside the linted file; quotes taken off, nothing expanded."""
        path = self.locate(name)
        text = None if path is None else self.text(path)
        return {} if text is None else {m["name"]: _unquoted(m["value"]) for m in _ENV_LINE.finditer(text)}

    def model_folder(self, model: str, mounts: Mapping[str, str] | None = None) -> ModelFolder | None:
        """The files of a model whose path (not id) leads into the repository.

        ``mounts`` maps folders of a container to folders beside the linted file, so that ``/models/x`` is found under
        ``./models/x``.
        """
        for relative in _candidates(model, mounts or {}):
            for base in (self.folder, self.root):
                path = self.locate(relative, base)
                if path is None:
                    continue
                folder = path if path.is_dir() else path.parent
                found = self._model_folder(folder)
                if found is not None:
                    return found
        return None

    def _model_folder(self, folder: Path) -> ModelFolder | None:
        present = set(self.names(folder))
        if not present & {*_CONFIG_FILES, "adapter_config.json"}:
            return None

        def part(name: str) -> Mapping[str, Any] | None:
            return self.json(folder / name) if name in present else None

        return ModelFolder(
            self.name_of(folder),
            part("config.json"),
            part("generation_config.json"),
            part("tokenizer_config.json"),
            part("model.safetensors.index.json"),
            part("adapter_config.json"),
            part("hf_quant_config.json"),
        )

    def adapter_config(self, path: str, mounts: Mapping[str, str] | None = None) -> Mapping[str, Any] | None:
        """``adapter_config.json`` of a LoRA adapter that lies in the repository."""
        found = self.model_folder(path, mounts)
        return None if found is None else found.adapter_config

    def hub_config(self, model: str) -> Mapping[str, Any] | None:
        """``config.json`` of a model id from the machine's Hugging Face cache."""
        return self.remember(f"hub {model}", lambda: _hub_config(model) if self.use_hub_cache else None)


def repository_root(folder: Path, boundary: Path | None = None) -> Path:
    """The nearest folder upward with ``.git`` or a settings file; else ``boundary`` when it holds the folder; else itself."""
    at = folder
    while True:
        if any(os.path.exists(at / mark) for mark in _ROOT_MARKS):
            return at
        if at.parent == at:
            break
        at = at.parent
    if boundary is not None and folder.is_relative_to(_real(boundary)):
        return _real(boundary)
    return folder


def looks_local(model: str) -> bool:
    """Whether a model is written as a path (``./m``, ``/models/m``, ``m.gguf``), not as an id of the hub."""
    return model.startswith(("/", "./", "../", "~", "\\")) or model.count("/") > 1 or "/" not in model or model.endswith(".gguf")


def _candidates(model: str, mounts: Mapping[str, str]) -> Iterator[str]:
    if not model.startswith("/"):
        yield model
        return
    for target in sorted(mounts, key=len, reverse=True):
        inside = target.rstrip("/")
        if model == inside or model.startswith(inside + "/"):
            yield os.path.join(mounts[target], model[len(inside) :].lstrip("/"))


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def _read_text(path: Path, limit: int) -> str | None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode) or status.st_size > limit:
            return None
        return path.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _names(folder: Path) -> tuple[str, ...]:
    found: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file():
                    found.append(entry.name)
                if len(found) >= MAX_FILES * 5:
                    break
    except OSError:
        return ()
    return tuple(sorted(found)[:MAX_FILES])


def _unquoted(value: str) -> str:
    value = value.strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    return value.split(" #", 1)[0].rstrip()


def hub_cache() -> Path:
    """The machine's Hugging Face cache (huggingface_hub, constants.py)."""
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    cache = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or os.path.join(home, "hub")
    return Path(os.path.expanduser(cache))


def _hub_config(model: str) -> Mapping[str, Any] | None:
    """Layout: ``<cache>/models--org--name/snapshots/<commit>/config.json`` (huggingface_hub, file_download.py)."""
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", model) or ".." in model:
        return None
    folder = hub_cache() / ("models--" + model.replace("/", "--"))
    try:
        main = (folder / "refs" / "main").read_text(encoding="ascii").strip() if (folder / "refs" / "main").is_file() else ""
        snapshots = sorted((p for p in (folder / "snapshots").iterdir() if p.is_dir()), key=lambda p: (p.name != main, p.name))
    except (OSError, UnicodeDecodeError):
        return None
    for snapshot in snapshots[:20]:
        config = _object(_read_text(snapshot / "config.json", MAX_CONFIG))
        if config is not None:
            return config
    return None
