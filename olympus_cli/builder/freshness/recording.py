"""Recording of what a program reads, with Python's audit events and with replaced functions.

Python's audit events report each file that is opened and each folder that is listed. Functions
without an event are replaced while the recording lasts.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from olympus_cli.builder.freshness.generators import prepare_generators
from olympus_cli.builder.freshness.recorder import Recorder
from olympus_cli.builder.freshness.replacements import replacements

_active: list[Recorder] = []
_last: list[Recorder] = []  # also after its recording, for a program that retains a replacement


@functools.cache
def _install() -> None:
    """Add the audit hook, which cannot be removed again."""

    def audit(event: str, args: tuple[Any, ...]) -> None:
        if _active:
            _active[0].audit(event, args)

    sys.addaudithook(audit)


@functools.cache
def _replacements() -> tuple[tuple[Any, str, Any], ...]:
    return tuple(replacements(lambda: _last[0]))


def prepare_recording() -> None:
    """Make the replacements, which are then those of all processes forked from this one."""
    _replacements()
    prepare_generators()


@contextmanager
def recording(ignored: str) -> Iterator[Recorder]:
    """A context in which a program's reads are recorded, except of files below `ignored`."""
    _install()
    recorder = Recorder(ignored)
    _last[:] = [recorder]
    originals = [(place, name, getattr(place, name)) for place, name, _ in _replacements()]
    try:
        for replacement in _replacements():
            setattr(*replacement)
        recorder.generators.start()
        _active[:] = [recorder]
        yield recorder
    finally:
        _active.clear()
        recorder.generators.stop()
        for original in reversed(originals):
            setattr(*original)
