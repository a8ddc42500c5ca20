"""The end of a process in which a program ran: as Python's own, as far as a program counts on that.

Python waits for the threads of a program, runs what is registered with `atexit`, and writes what is
left in the buffers of open files as it frees them.  It also frees every object and unloads every
library, which takes 80 ms once the compiler is loaded and is of no use to anybody.
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
from os import _exit, write  # what the program does to the module `os` is not heard here

__all__ = ["finish_process"]

_LONGEST_WAIT = 5.0  # seconds; a program that never ends shall not keep its build from ending
# What writes through another comes before that; those of other classes, as of gzip, before all.
_LAYERS = (io.TextIOWrapper, io.BufferedRWPair, io.BufferedRandom, io.BufferedWriter)


def finish_process(*own: int) -> None:
    """Do at the end of this process what Python would do, but for freeing what is in it.

    The descriptors `own` are not the program's.  A thread of it that goes on for 5 s more is ended
    with the process, and so is a file that takes as long.  What cannot be done is told on stderr.

    Example: `finish(0, 1, 2)`.
    """
    if _threads():
        with _limited("threads of the program did not end and were ended"):
            threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if _has_written(own):
        with _limited("files of the program could not be closed"):
            _close_files()


def _threads() -> list[str]:
    """The names of the threads that Python waits for."""
    main = threading.main_thread()
    return [each.name for each in threading.enumerate() if each is not main and not each.daemon]


@contextmanager
def _limited(late: str) -> Iterator[None]:
    """A context that ends the process if it takes too long; `late` is then said of it."""

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
    """Whether the program may have a descriptor open that can be written to; most have none."""
    try:
        numbers = {int(name) for name in os.listdir("/dev/fd")}
    except OSError:  # there are no more descriptors
        return True
    for number in numbers.difference(own):
        with suppress(OSError):  # that of the listing itself
            if fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE:
                return True
    return False


def _close_files() -> None:
    """Close what the program has opened; the files of the command are not among these objects."""
    found = [each for each in gc.get_objects() if issubclass(type(each), _io._IOBase)]
    others = [each for each in found if type(each).__module__ != "_io"]
    for file in others + [each for kind in _LAYERS for each in found if type(each) is kind]:
        try:
            file.close()
        except Exception as error:  # also what a class of the program's own raises
            write(2, f"a file of the program could not be written: {error}\n".encode())
