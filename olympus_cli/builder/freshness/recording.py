"""Recording of what a program reads, with Python's audit events and with replaced functions.

Python's audit events report each file that is opened and each folder that is listed. Functions
without an event are replaced while the recording lasts.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from olympus_cli.builder.freshness.recorder import Recorder
from olympus_cli.builder.freshness.replacements import replacements

_active: list[Recorder] = []


@functools.cache
def _install() -> None:
    """Add the audit hook, which cannot be removed again."""

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if _active:
            _active[0].audit(event, args)

    sys.addaudithook(audit)


@contextmanager
def recording(ignored: str) -> Iterator[Recorder]:
    """A context in which a program's reads are recorded, except of files below `ignored`."""
    _install()
    recorder = Recorder(ignored)
    with ExitStack() as stack:
        for place, name, replacement in replacements(recorder):
            stack.callback(setattr, place, name, getattr(place, name))
            setattr(place, name, replacement)
        recorder.generators.start()
        stack.callback(recorder.generators.stop)
        _active[:] = [recorder]
        try:
            yield recorder
        finally:
            _active.clear()
