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
from collections.abc import Collection
from contextlib import suppress
from os import _exit, write  # what the program does to the module `os` is not heard here

__all__ = ["finish"]

_LONGEST_WAIT = 5.0  # seconds; a program that never ends shall not keep its build from ending
# What writes through another comes before that; those of other classes, as of gzip, before all.
_LAYERS = (io.TextIOWrapper, io.BufferedRWPair, io.BufferedRandom, io.BufferedWriter)


def finish(*own: int) -> None:
    """Do at the end of this process what Python would do, but for freeing what is in it.

    The descriptors `own` are not the program's.  A thread of it that goes on for 5 s more is ended
    with the process.  What cannot be written is told on stderr.

    Example: `finish(0, 1, 2)`.
    """
    _wait_for_threads()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    if _has_written(own):
        _close_files()


def _wait_for_threads() -> None:
    own = threading.current_thread()
    if all(each is own or each.daemon for each in threading.enumerate()):
        return
    late = threading.Timer(_LONGEST_WAIT, _give_up)
    late.daemon = True
    late.start()
    threading._shutdown()  # type: ignore[attr-defined]
    late.cancel()


def _give_up() -> None:
    main = threading.main_thread()
    left = ", ".join(x.name for x in threading.enumerate() if x is not main and not x.daemon)
    write(2, f"threads of the program did not end and were ended: {left}\n".encode())
    _exit(1)


def _has_written(own: Collection[int]) -> bool:
    """Whether the program has a descriptor open that can be written to; most have none."""
    for number in {int(name) for name in os.listdir("/dev/fd")}.difference(own):
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
