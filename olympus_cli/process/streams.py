"""The process's three standard streams: all of them open, and stdout only for data."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, suppress
from typing import Any

_NAMES = {"stdin": "r", "stdout": "w", "stderr": "w"}


#: The state of the data on stdout: it has the key "written" once the command wrote any.
DATA: dict[str, bool] = {}


class Unwritable(Exception):
    """Raised if a write to stdout fails; its cause is the OSError.

    It is not an OSError itself, for which click has its own exit code.
    """


class _Stdout(io.FileIO):
    def write(self, content: Any, /) -> int:
        try:
            return super().write(content)
        except OSError as error:
            raise Unwritable(error.strerror) from error


def complete() -> None:
    """Open the null device for closed streams, before a file gets one of their descriptors."""
    for number, (name, mode) in enumerate(_NAMES.items()):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # uses the lowest free number
        if getattr(sys, name) is None:
            opened = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, opened)


@contextmanager
def data_alone() -> Iterator[None]:
    """A context in which only `sys.stdout` writes to stdout.

    Output of the user's program, its children and the compiler to file descriptor 1 goes to stderr.
    After the context, Python's prints go to stderr too.
    """
    sys.stdout.flush()
    raw = io.BufferedWriter(_Stdout(os.dup(1), "w"))
    # characters that the encoding lacks are written as `\xe9`
    data = io.TextIOWrapper(raw, encoding=sys.stdout.encoding, errors="backslashreplace")
    os.dup2(2, 1)
    sys.stdout = data
    try:
        yield
    finally:
        sys.stdout = sys.stderr
        with suppress(Unwritable):  # which was reported at the write
            data.close()


@contextmanager
def stderr_discarded() -> Iterator[None]:
    """A context in which nothing is written to stderr, by Python or by native code."""
    with open(os.devnull, "w") as nowhere, redirect_stderr(nowhere):
        stderr = os.dup(2)
        os.dup2(nowhere.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)


@contextmanager
def message_stream() -> Iterator[None]:
    """A context for writing to stderr; a failure is ignored, because the exit code remains."""
    try:
        yield
    except OSError:  # a flush of the buffered text would fail again at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
