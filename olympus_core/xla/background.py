"""Work of the compiler's that neither a Ctrl-C nor the end of the process cuts off.

XLA looks for signals while it compiles.  If it finds one it returns at once, although its own
threads still read the program, and the process crashes when that is freed.  So a compilation runs
in a thread of its own, which sees no signal and keeps what it reads alive until it has ended.  A
process that ends while any of its threads compiles would crash too: Python ends a thread that comes
back from native code then.  So the end waits.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import TypeVar

__all__ = ["run_to_the_end"]

T = TypeVar("T")

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_running: dict[threading.Thread, threading.Event] = {}
_ending = threading.Event()


def run_to_the_end(work: Callable[[], T]) -> T:
    """What `work()` gives or raises.

    A Ctrl-C raises KeyboardInterrupt here at once, and `work` goes on in the background.  The
    process ends no sooner than it does, unless Ctrl-C is pressed once more while that is awaited.
    In a thread that is not the main one, which sees no signal, `work` runs in that thread.

    >>> run_to_the_end(lambda: 1 + 1)
    2
    """
    if threading.current_thread() is not threading.main_thread():
        return _awaited(work)
    future: Future[T] = Future()
    thread = threading.Thread(target=_fulfil, args=(future, work), name="olympus-compile")
    try:
        try:
            thread.start()
        except RuntimeError:  # the interpreter is ending, or the system allows no more threads
            return work()
        return future.result()
    except KeyboardInterrupt as interrupt:
        if not future.done():
            interrupt.add_note("the compilation goes on in the background until it has ended")
        raise
    finally:
        del future  # it holds what `work` raised, whose traceback holds this frame


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = _awaited(work)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _awaited(work: Callable[[], T]) -> T:
    """What `work()` gives; the process does not end meanwhile."""
    thread, ended = threading.current_thread(), threading.Event()
    _stop_a_daemon(thread)
    _running[thread] = ended
    try:
        return work()
    finally:
        del _running[thread]
        ended.set()
        _stop_a_daemon(thread)


def _stop_a_daemon(thread: threading.Thread) -> None:
    """Keep a daemon thread from native code once the process is ending."""
    if thread.daemon and _ending.is_set():
        threading.Event().wait()


@atexit.register
def _end() -> None:
    """Wait for what is compiled in daemon threads; Python has waited for the others by now.

    End without freeing anything if a Ctrl-C cuts off one of the two waits.
    """
    _ending.set()
    cut_off = any(not thread.daemon for thread in list(_running))
    try:
        for ended in [] if cut_off else list(_running.values()):
            ended.wait()
    except KeyboardInterrupt:
        cut_off = True
    if cut_off:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):
                stream.flush()
        os._exit(_INTERRUPTED)
