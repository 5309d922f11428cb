"""From a file to the vLLM launches that are written in it.

One module a carrier; the registry says which one reads which file. Nothing that is read is ever run or imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from lint_vllm.extract.registry import CARRIERS, TELLTALE, kind_of

if TYPE_CHECKING:
    from lint_vllm.extract.context import Extraction, Follower
    from lint_vllm.source import SourceFile

__all__ = ["extract", "may_hold_launch"]

MAX_BYTES = 16_000_000
"""Size of a file that is still read."""
MAX_WORDS = 10_000
"""Words of a command that is still judged; a longer one is data."""


def may_hold_launch(data: bytes) -> bool:
    """Whether a file is worth parsing: it says vllm, or has a key that only vLLM's arguments have."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        data = data.replace(b"\0", b"")
    return TELLTALE.search(data) is not None


def extract(source: SourceFile, follow: Follower | None = None) -> Extraction:
    """Every launch of a file, in the order of the text, and the places that could not be read."""
    from lint_vllm.extract.context import Extraction, Unreadable

    if not may_hold_launch(source.data):
        return Extraction()
    kind = kind_of(source.path, source.text[:2000])
    if kind is None:
        return Extraction()
    if len(source.data) > MAX_BYTES:
        reason = f"the file has more than {MAX_BYTES:,} bytes and was not read"
        return Extraction(problems=(Unreadable(source.span(0, 0), reason),))
    module, function = CARRIERS[kind].split(":")
    found: Extraction = getattr(import_module(f"lint_vllm.extract.{module}"), function)(source, follow)
    launches = sorted(found.launches, key=lambda launch: (launch.command.path != source.path, launch.command.start))
    endless = [launch.command for launch in launches if len(launch.words) > MAX_WORDS]
    problems = tuple(Unreadable(place, f"the command has more than {MAX_WORDS:,} words") for place in endless)
    return Extraction(tuple(launch for launch in launches if len(launch.words) <= MAX_WORDS), (*found.problems, *problems))
