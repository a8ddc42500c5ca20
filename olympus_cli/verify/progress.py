"""Progress of verification: a bar on a terminal, and occasional lines on stderr elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from olympus_cli.terminal import console
from olympus_cli.workers.call import OnStage

_APART = 5.0  # seconds between lines in a log
_OFTEN = 1.0  # seconds between messages of the process that verifies


class Lines:
    """Progress of several targets: an immediate line, and later ones at least 5 seconds apart.

    Example:
      >>> lines = Lines(3)
      >>> with lines.of("forward") as describe:
      ...     describe("compile for cpu")
    """

    def __init__(self, total: int) -> None:
        self._total, self._begun = total, 0
        self._next = 0.0

    @contextmanager
    def of(self, target: str) -> Iterator[Callable[[str], None]]:
        """Open a context for the work on a target; yield a function that shows a stage."""
        self._begun += 1
        with console.progress(f"verifying {target}") as bar:

            def describe(stage: str) -> None:
                bar.describe(f"{target}: {stage}")
                self._log(target, f": {stage}")

            self._log(target, "")
            yield describe

    def _log(self, target: str, stage: str) -> None:
        if sys.stderr.isatty() or time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _APART
        place = f" ({self._begun} of {self._total})" if self._total > 1 else ""
        console.message(f"verifying {target}{place}{stage}")


def operation_counter(on_stage: OnStage) -> Callable[[], None]:
    """Return a function to call after each operation; it reports their number once a second."""
    count, due = 0, time.monotonic() + _OFTEN

    def done() -> None:
        nonlocal count, due
        count += 1
        if time.monotonic() >= due:
            due = time.monotonic() + _OFTEN
            on_stage(f"verify, operations so far: {count}")

    return done
