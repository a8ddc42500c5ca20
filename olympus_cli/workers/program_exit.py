"""The exit of a process that ran a program: the steps of Python's exit that a program relies on.

Python joins the threads of a program, runs the functions registered with `atexit`, and flushes open
files when it frees them.  It also frees every object and unloads every library.  That takes 80 ms
once the compiler is loaded, and is useless here.
"""

from __future__ import annotations

import _io
import atexit
import fcntl
import gc
import io
import os
import sys
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from os import _exit, write  # changes of the program to the module `os` have no effect here

_LONGEST_WAIT = 5.0  # seconds; a program that never ends must not block its build
# A file that writes through another is closed first.  Files of other classes, such as those of
# gzip, are closed before all of these.
_LAYERS = (io.TextIOWrapper, io.BufferedRWPair, io.BufferedRandom, io.BufferedWriter)


def finish_process(*own: int) -> None:
    """Do the steps of Python's exit, without freeing the objects of this process.

    The descriptors `own` are not the program's.  If the threads of the program take 5 s more, or
    its files take 5 s to close, the process ends without them.  Failures are reported on stderr.

    Example: `finish_process(0, 1, 2)`.
    """
    if _threads():
        with _limited("threads of the program did not end and were stopped"):
            threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if _has_written(own):
        with _limited("files of the program could not be closed"):
            _close_files()


def _threads() -> list[str]:
    """Return the names of the threads that Python waits for."""
    main = threading.main_thread()
    return [
        thread.name for thread in threading.enumerate() if thread is not main and not thread.daemon
    ]


@contextmanager
def _limited(late: str) -> Iterator[None]:
    """A context that ends the process with the message `late` if it takes too long."""

    def give_up() -> None:
        names = ", ".join(_threads())
        write(2, f"{late}{names and ': '}{names}\n".encode())
        _exit(1)

    timer = threading.Timer(_LONGEST_WAIT, give_up)
    timer.daemon = True
    timer.start()
    yield
    timer.cancel()


def _has_written(own: Collection[int]) -> bool:
    """Return True if the program may have a writable descriptor open; most programs have none."""
    try:
        numbers = {int(name) for name in os.listdir("/dev/fd")}
    except OSError:  # no descriptor is left
        return True
    for number in numbers.difference(own):
        with suppress(OSError):  # the descriptor of the listing itself
            if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE:
                return True
    return False


def _close_files() -> None:
    """Close the files of the program; the files of the command are not among these objects."""
    files = [value for value in gc.get_objects() if issubclass(type(value), _io._IOBase)]
    others = [value for value in files if type(value).__module__ != "_io"]
    for file in others + [value for kind in _LAYERS for value in files if type(value) is kind]:
        try:
            file.close()
        except Exception as error:  # also one from a class of the program
            write(2, f"a file of the program could not be written: {error}\n".encode())
