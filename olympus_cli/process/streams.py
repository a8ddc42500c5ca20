"""The process's three streams, as a command needs them: there, and stdout for data alone."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["DATA", "Unwritable", "complete", "data_alone", "talk"]

_NAMES = {"stdin": "r", "stdout": "w", "stderr": "w"}


#: What is known of the data on stdout: the key "written" is there once the command wrote any.
DATA: dict[str, bool] = {}


class Unwritable(Exception):
    """Raised when stdout takes no more, for the reason that is its cause.

    No OSError, of which click makes an exit code of its own.
    """


class _Stdout(io.FileIO):
    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise Unwritable(error.strerror) from error


def complete() -> None:
    """Put the null device in the place of streams that are closed, before a file gets there."""
    for number, (name, mode) in enumerate(_NAMES.items()):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # takes the lowest free number
        if getattr(sys, name) is None:
            opened = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, opened)


@contextmanager
def data_alone() -> Iterator[None]:
    """A context in which only `sys.stdout` writes to stdout.

    What the user's program, its children and the compiler write to file descriptor 1 goes to
    stderr, and after the context what Python prints does too.
    """
    sys.stdout.flush()
    raw = io.BufferedWriter(_Stdout(os.dup(1), "w"))
    # what its encoding lacks is written as `\xe9`
    data = io.TextIOWrapper(raw, encoding=sys.stdout.encoding, errors="backslashreplace")
    os.dup2(2, 1)
    sys.stdout = data
    try:
        yield
    finally:
        sys.stdout = sys.stderr
        with suppress(Unwritable):  # which was told when it was written
            data.close()


@contextmanager
def talk() -> Iterator[None]:
    """A context that writes to stderr; where nothing can be written, the exit code says enough."""
    try:
        yield
    except OSError:  # what the stream still holds would fail again at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
