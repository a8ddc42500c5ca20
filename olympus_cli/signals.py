"""The signals that ask a command to end.

SIGTERM becomes an exception, so that what is under way clears up, as after Ctrl-C.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from olympus_cli import interrupts

__all__ = ["Terminated", "raised"]


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
    interrupts.raise_soon(Terminated())
