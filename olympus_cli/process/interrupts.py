"""Ctrl-C, which ends the process immediately with a short message.

Python would raise a KeyboardInterrupt between two bytecodes.  C modules fail badly on one while
they are imported, and none is raised while the compiler or a program runs.  Therefore the signal
wakes a thread that ends the process.  Code that must clean up uses `interrupts_raised` to get a
KeyboardInterrupt, after the import of a C module if one is in progress.  This module imports only
modules that Python loads at its start, because a command installs it first.
"""

from __future__ import annotations

import _thread
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import ExtensionFileLoader
from types import FrameType
from typing import NamedTuple, NoReturn

EXIT_CODE = 130  # 128 + SIGINT, as in shells
MESSAGE = "interrupted"


_NUDGE = signal.SIGURG  # has no other use; a process without a handler ignores it
_C_IMPORTS = (ExtensionFileLoader.create_module.__code__, ExtensionFileLoader.exec_module.__code__)


class _State:
    raising = False  # True if Ctrl-C raises a KeyboardInterrupt
    was_raised = False
    elsewhere = False  # True if another process handles Ctrl-C for this one
    last_words = b""  # the bytes that restore the terminal
    deferred: list[BaseException] | None = None  # the exceptions deferred by `deferred`


_state = _State()
_leaving = _thread.allocate_lock()


def install() -> None:
    """End the process on Ctrl-C from now on, unless it was started with SIGINT ignored.

    Until then, a command has the system's action, and any other process Python's handler.

    Raises:
        RuntimeError: the system has no thread left.
    """
    if signal.getsignal(signal.SIGINT) not in (signal.default_int_handler, signal.SIG_DFL):
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(signal.SIGINT, _handle)
    signal.signal(_NUDGE, lambda _number, _frame: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    _thread.start_new_thread(_watch, (read, _thread.get_ident()))


def left_to_another_process() -> None:
    """Leave Ctrl-C to the command; a KeyboardInterrupt in this process is now the program's own."""
    _state.elsewhere = True


def may_be_ctrl_c() -> bool:
    """Return True if a KeyboardInterrupt may be from Ctrl-C; if not, the program raised it."""
    if _state.elsewhere:
        return False
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:
        return _state.was_raised
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """A context in which Ctrl-C raises a KeyboardInterrupt."""
    before, _state.raising = _state.raising, True
    try:
        yield
    finally:
        _state.raising = before


@contextmanager
def deferred() -> Iterator[list[BaseException]]:
    """A context that defers exceptions of signals: the first is raised at the end.

    The value of the context is the list of deferred exceptions.  In a nested context, the exception
    is raised at the end of the outer one.

    Python drops exceptions of the functions that run around a fork.  Masking the signals does not
    prevent their handlers from running there, because the thread that waits for signals may
    receive them.
    """
    came: list[BaseException] = []
    before, _state.deferred = _state.deferred, came
    try:
        yield came
    finally:
        _state.deferred = before
        if came:
            raise_soon(came[0])


def raise_soon(error: BaseException) -> None:
    """Raise `error` in the handler of a signal, or at the end of `deferred`."""
    if _state.deferred is None:
        raise error
    _state.deferred.append(error)


@contextmanager
def ending_with(last_words: bytes) -> Iterator[None]:
    """A context in which Ctrl-C writes `last_words` to stderr before the process ends."""
    _state.last_words = last_words
    try:
        yield
    finally:
        _state.last_words = b""


def _handle(number: int, frame: FrameType | None) -> None:
    """Handle SIGINT, between two bytecodes of the main thread."""
    if not _state.raising:
        _leave()
    elif not _sent_again(number, frame):
        _state.was_raised = True
        raise_soon(KeyboardInterrupt())


def _sent_again(number: int, frame: FrameType | None) -> bool:
    """Send a signal again in a moment if a C module is being imported; return True if so.

    The code of a C module that runs at its import reports any exception as a failed import, or
    crashes.
    """
    while frame is not None and frame.f_code not in _C_IMPORTS:
        frame = frame.f_back
    if frame is None:
        return False
    _thread.start_new_thread(_send_soon, (number, _thread.get_ident()))
    return True


def _send_soon(number: int, main: int) -> None:
    time.sleep(0.01)
    signal.pthread_kill(main, number)


def _watch(pipe: int, main: int) -> NoReturn:
    """Handle SIGINT in a thread, for a main thread that runs C code for a long time."""
    while True:
        came = os.read(pipe, 1)
        if signal.SIGINT in came and not (_state.raising or _state.was_raised):
            _leave()
        if _NUDGE not in came:
            _nudge(main)


def _nudge(main: int) -> None:
    """Interrupt a wait of the main thread, so that Python runs the handler of a signal.

    Python does not run it if the signal arrived just before the wait began.  A nudge may also
    arrive too early, so there are several.
    """
    for seconds in (0.01, 0.1, 0.5):
        time.sleep(seconds)
        signal.pthread_kill(main, _NUDGE)


def _leave() -> None:
    if _leaving.acquire(blocking=False):  # otherwise the other thread ends the process
        try:
            os.write(2, _state.last_words + f"{MESSAGE}\n".encode())
        finally:
            os._exit(EXIT_CODE)


class Terminated(KeyboardInterrupt):
    """An interruption by SIGTERM, with its own exit code."""


class CommandEnd(NamedTuple):
    """The end of a command by a signal: its `kind` in JSON documents, message and exit code."""

    kind: str
    message: str
    exit_code: int


INTERRUPTED = CommandEnd("Interrupted", MESSAGE, EXIT_CODE)
TERMINATED = CommandEnd("Terminated", "terminated", 128 + signal.SIGTERM)


def command_end(error: BaseException) -> CommandEnd:
    """Return the end of a command stopped by `error`: SIGTERM for `Terminated`, else Ctrl-C.

    >>> command_end(Terminated()).exit_code, command_end(KeyboardInterrupt()).exit_code
    (143, 130)
    """
    return TERMINATED if isinstance(error, Terminated) else INTERRUPTED


@contextmanager
def terminations_raised() -> Iterator[None]:
    """A context in which SIGTERM raises `Terminated`, once: a second one does not stop cleanup."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> None:
    if not _sent_again(number, frame):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise_soon(Terminated())
