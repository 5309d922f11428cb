"""What a caller asks of a run, apart from the files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from lint_vllm.frozen import dataclass
from lint_vllm.settings import Settings, Stated, find

if TYPE_CHECKING:
    from lint_vllm.facts.hub import Hub


@dataclass(frozen=True, slots=True)
class Request:
    """What the caller asks for. ``facts`` come from the command line and win over everything that files say.

    ``isolated``: no settings file, baseline or calibration. ``settings``: the file named by ``--config``. ``overlay``: contents
    that take the place of files on disk, by real path (a fix that is not written yet). ``hub``: where configurations of models are
    fetched from; ``None`` for no network.
    """

    facts: Stated = field(default_factory=Stated)
    isolated: bool = False
    settings: Settings | None = None
    profile: str | None = None
    overlay: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    hub: Hub | None = None

    def read(self, path: str) -> bytes:
        """The content of a file. Raises ``OSError``."""
        changed = self.overlay.get(os.path.realpath(path)) if self.overlay else None
        return Path(path).read_bytes() if changed is None else changed

    def settings_in(self, folder: Path) -> Settings:
        """The settings that hold in a folder. Raises :class:`lint_vllm.settings.SettingsError`."""
        if self.isolated:
            return Settings(folder)
        return self.settings if self.settings is not None else find(folder)
