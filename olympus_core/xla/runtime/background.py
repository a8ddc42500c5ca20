"""Compiler work that neither a Ctrl-C nor the end of the process interrupts.

XLA checks for signals while it compiles. If it finds one it returns immediately, although its own
threads still read the program, and the process crashes when the program is freed. So a compilation
runs in a thread of its own, which receives no signal and keeps a reference to its input until it
ends. A process that ends during a compilation in any of its threads would crash too: Python then
ends a thread that returns from native code. So the end of the process waits.
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

T = TypeVar("T")

_INTERRUPTED = 130  # 128 + SIGINT, as shells have it
_running: dict[threading.Thread, threading.Event] = {}
_ending = threading.Event()


def run_to_the_end(work: Callable[[], T]) -> T:
    """Return the result of `work()`, or raise its error.

    A Ctrl-C raises KeyboardInterrupt here immediately, and `work` continues in the background. The
    process waits for its end, unless Ctrl-C is pressed again during that wait. In a thread other
    than the main one, which receives no signal, `work` runs in that thread.

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
        del future  # it holds the error of `work`, whose traceback holds this frame


def _fulfil(future: Future[T], work: Callable[[], T]) -> None:
    try:
        result = _awaited(work)
    except BaseException as error:
        future.set_exception(error)
    else:
        future.set_result(result)


def _awaited(work: Callable[[], T]) -> T:
    """Return the result of `work()`; the process waits for it before it ends."""
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
    """Prevent a daemon thread from entering native code while the process ends."""
    if thread.daemon and _ending.is_set():
        threading.Event().wait()


@atexit.register
def _end() -> None:
    """Wait for compilations in daemon threads; Python has already waited for the others.

    If a Ctrl-C interrupts one of the two waits, end without freeing anything.
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
