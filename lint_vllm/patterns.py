"""Regular expressions that are compiled when they are first used: most runs meet few of them."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands for a compiled pattern; takes the real methods over on first use."""

    def __init__(self, text: str, flags: int) -> None:
        self._source = (text, flags)

    def __getattr__(self, name: str) -> Any:
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """``re.compile(text, flags)``, later. For patterns of modules; not for ``re.sub(pattern, ...)`` and its relatives."""
    return cast("re.Pattern[str]", _Lazy(text, flags))
