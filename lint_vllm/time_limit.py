"""A bound on the time that one file may take, whatever stands in it.

Everything here is meant to take time in proportion to the size of a file; a file made to break that, or a fault, must not hold up
a whole run. CPU time of the process counts, so that a busy machine changes nothing.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS_A_FILE = 30.0
TOO_LONG = f"the file took more than {SECONDS_A_FILE:.0f} s of CPU time and was not judged"


class TooLong(BaseException):
    """The time is over. No ``Exception``: what catches the faults of rules must not catch it."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises :class:`TooLong` when the block takes more CPU time; no limit where signals cannot be used (threads, Windows)."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
