"""The memory limit of a worker, which its supervisor checks.

The resident memory of the worker and of all processes that it started counts. The kernel's limit
of address space (`RLIMIT_AS`) is not used: XLA reserves several times the memory that it uses, and
an allocation that fails ends the process without a message.
"""

from __future__ import annotations

import os
import time

from olympus_cli.process.process_tree import descendants, proportional_memory, resident_memory

_BETWEEN_CHECKS = 0.05  # seconds
_BETWEEN_LISTINGS = 0.5  # seconds: a list of all processes takes longer than a check


class MemoryLimit:
    """The limit in bytes of all processes below this one; None is no limit."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._processes: list[int] = []
        self._listed_at = self._checked_at = 0.0

    @property
    def timeout(self) -> float | None:
        """The milliseconds until the next check; None if there is no limit."""
        return None if self._limit is None else 1000 * _BETWEEN_CHECKS

    def exceeded(self) -> int | None:
        """Return the bytes in use if they are above the limit, else None."""
        now = time.monotonic()
        if self._limit is None or now - self._checked_at < _BETWEEN_CHECKS:
            return None
        self._checked_at = now
        if now - self._listed_at >= _BETWEEN_LISTINGS:
            self._processes = descendants(os.getpid())
            self._listed_at = now
        used = resident_memory(self._processes)
        if used <= self._limit:
            return None
        if len(self._processes) > 1:  # a fork shares pages with its parent
            shared_once = proportional_memory(self._processes)
            used = used if shared_once is None else shared_once
        return used if used > self._limit else None
