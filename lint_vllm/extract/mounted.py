"""Files of the repository by the path at which a container sees them: bind mounts of ``docker run`` and compose."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

from lint_vllm.extract.context import Follower
from lint_vllm.frozen import dataclass
from lint_vllm.launch import Mount
from lint_vllm.patterns import pattern
from lint_vllm.source import SourceFile

_HERE = pattern(r"(?:\$\{?PWD\}?|\$\(pwd\)|`pwd`|\.)(?:/|$)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class MountedFiles:
    """Reads a path of the container through the bind mounts whose source lies beside the linted file."""

    follow: Follower
    folders: tuple[tuple[str, str], ...]
    """(path in the container, path relative to the linted file), the longest first."""

    def read(self, relative_path: str) -> SourceFile | None:
        if not relative_path.startswith("/"):
            return self.follow.read(relative_path)
        path = PurePosixPath(relative_path)
        for target, source in self.folders:
            if path.is_relative_to(target):
                found = self.follow.read(str(PurePosixPath(source) / path.relative_to(target)))
                if found is not None:
                    return found
        return None


def with_mounts(follow: Follower | None, mounts: Iterable[Mount]) -> Follower | None:
    """A follower that also knows the container's own paths; the same one where nothing of the repository is mounted."""
    if follow is None:
        return None
    folders = [(m.target.rstrip("/") or "/", near) for m in mounts if m.kind == "bind" and (near := _beside(m.source)) is not None]
    folders.sort(key=lambda pair: len(pair[0]), reverse=True)
    return MountedFiles(follow, tuple(folders)) if folders else follow


def _beside(source: str | None) -> str | None:
    """A mount's source as a path relative to the linted file; ``None`` for one that lies elsewhere."""
    if not source:
        return None
    here = _HERE.match(source)
    path = source[here.end() :] if here else source
    return (path or ".") if not path.startswith(("/", "~", "$", "`")) else None
