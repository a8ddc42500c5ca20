"""The signals that ask a command to end.

SIGTERM enters and an exception leaves, so that what is under way clears up, as after Ctrl-C.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Terminated", "held", "raised"]


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: an interruption with an exit code of its own."""


@contextmanager
def raised() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` meanwhile, once: clearing up is not disturbed by another."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated


@contextmanager
def held() -> Iterator[None]:
    """Keep what would end this process until the end of what must not be left half done.

    A process that is started meanwhile does not get Ctrl-C, which goes to all of a terminal's: it
    inherits the blocked signal.
    """
    kept: list[int] = []
    handlers = {
        number: signal.signal(number, lambda number, _frame: kept.append(number))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if kept:
        signal.raise_signal(kept[0])
