"""Ctrl-C ends the process at once, wherever it is, and with a short line.

Python would make a KeyboardInterrupt of it, between two bytecodes: modules in C end badly on one
while they are imported, and while the compiler or a program runs none comes.  So a thread that the
signal itself wakes ends the process; where something has to be cleaned up, `interrupts_raised`
lets the KeyboardInterrupt in.  Nothing but Python's own modules of start-up is imported here: this
is the first that a command does.
"""

from __future__ import annotations

import _thread
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NamedTuple, NoReturn

__all__ = [
    "EXIT_CODE",
    "MESSAGE",
    "CommandEnd",
    "Terminated",
    "asked",
    "command_end",
    "ending_with",
    "held",
    "install",
    "interrupts_raised",
    "left_to_another_process",
    "raise_soon",
    "terminations_raised",
]

EXIT_CODE = 130  # 128 + SIGINT, as shells have it
MESSAGE = "interrupted"


_NUDGE = signal.SIGURG  # which nothing else uses, and which a process without a handler ignores


class _State:
    raising = False  # whether a KeyboardInterrupt is wanted
    was_raised = False
    elsewhere = False  # whether another process hears of Ctrl-C for this one
    last_words = b""  # what gives the terminal back
    held: list[BaseException] | None = None  # what came where nothing may be raised


_state = _State()
_leaving = _thread.allocate_lock()


def install() -> None:
    """End the process on Ctrl-C from now on, unless it was started to ignore that.

    Raises:
        RuntimeError: the system has no thread left.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        return
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.signal(signal.SIGINT, _handle)
    signal.signal(_NUDGE, lambda _number, _frame: None)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    _thread.start_new_thread(_watch, (read, _thread.get_ident()))


def left_to_another_process() -> None:
    """From now on a KeyboardInterrupt here is the program's own: the command hears of Ctrl-C."""
    _state.elsewhere = True


def asked() -> bool:
    """Whether a KeyboardInterrupt may come from Ctrl-C; if not, the program itself raised it."""
    if _state.elsewhere:
        return False
    handler = signal.getsignal(signal.SIGINT)
    if handler is not signal.default_int_handler:
        return _state.was_raised
    return signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """A context in which Ctrl-C is a KeyboardInterrupt."""
    before, _state.raising = _state.raising, True
    try:
        yield
    finally:
        _state.raising = before


@contextmanager
def held() -> Iterator[list[BaseException]]:
    """A context in which signals raise nothing: what came, which it gives, is raised at its end.

    Within another one it is raised at the end of that.

    Python drops what is raised in the functions that run around a fork.  To mask the signals does
    not keep their handlers from running there: the thread that waits for them may take them.
    """
    came: list[BaseException] = []
    before, _state.held = _state.held, came
    try:
        yield came
    finally:
        _state.held = before
        if came:
            raise_soon(came[0])


def raise_soon(error: BaseException) -> None:
    """Raise `error` in the handler of a signal, or at the end of `held`."""
    if _state.held is None:
        raise error
    _state.held.append(error)


@contextmanager
def ending_with(last_words: bytes) -> Iterator[None]:
    """A context in which an end writes `last_words` to stderr first."""
    _state.last_words = last_words
    try:
        yield
    finally:
        _state.last_words = b""


def _handle(_number: int, _frame: FrameType | None) -> None:
    """Between two bytecodes of the main thread."""
    if _state.raising:
        _state.was_raised = True
        raise_soon(KeyboardInterrupt())
    else:
        _leave()


def _watch(pipe: int, main: int) -> NoReturn:
    """In a thread, for a main thread that is in C for long."""
    while True:
        came = os.read(pipe, 1)
        if signal.SIGINT in came and not (_state.raising or _state.was_raised):
            _leave()
        if _NUDGE not in came:
            _nudge(main)


def _nudge(main: int) -> None:
    """Interrupt what the main thread waits for, so that Python runs the handler of a signal.

    It does not by itself where the signal came just before the wait began.  A nudge may come too
    early too: there are several.
    """
    for seconds in (0.01, 0.1, 0.5):
        time.sleep(seconds)
        signal.pthread_kill(main, _NUDGE)


def _leave() -> None:
    if _leaving.acquire(blocking=False):  # else the other thread is about to
        try:
            os.write(2, _state.last_words + f"{MESSAGE}\n".encode())
        finally:
            os._exit(EXIT_CODE)


class Terminated(KeyboardInterrupt):
    """SIGTERM has come: an interruption with an exit code of its own."""


class CommandEnd(NamedTuple):
    """The end of a command by a signal: its `kind` in JSON documents, message and exit code."""

    kind: str
    message: str
    exit_code: int


_INTERRUPTED = CommandEnd("Interrupted", MESSAGE, EXIT_CODE)
_TERMINATED = CommandEnd("Terminated", "terminated", 128 + signal.SIGTERM)


def command_end(error: BaseException) -> CommandEnd:
    """Return the end of a command that `error` stops: by SIGTERM for `Terminated`, else by Ctrl-C.

    >>> command_end(Terminated()).exit_code, command_end(KeyboardInterrupt()).exit_code
    (143, 130)
    """
    return _TERMINATED if isinstance(error, Terminated) else _INTERRUPTED


@contextmanager
def terminations_raised() -> Iterator[None]:
    """Let SIGTERM raise `Terminated` meanwhile, once: clearing up is not disturbed by another."""
    before = signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(_number: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise_soon(Terminated())
