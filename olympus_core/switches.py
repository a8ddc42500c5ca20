"""Switches for debugging: each is on within a context, for the thread that entered it.

Nothing enters; contexts leave, and `state`, which says what is on.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = [
    "check_tracer_leaks",
    "checking_leaks",
    "compiling",
    "debug_nans",
    "disable_jit",
    "log_compiles",
    "state",
]

_logger = logging.getLogger("olympus")


class _State(threading.local):
    check_leaks = False
    debug_nans = False
    disable_jit = False
    log_compiles = False


state = _State()


@contextlib.contextmanager
def _switched(name: str, on: bool) -> Iterator[None]:
    old = getattr(state, name)
    setattr(state, name, bool(on))
    try:
        yield
    finally:
        setattr(state, name, old)


@contextlib.contextmanager
def disable_jit(disable: bool = True) -> Iterator[None]:
    """Within the context, run functions as the Python they are.

    `jit` calls its function, and `scan`, `cond`, `switch`, `while_loop`, `fori_loop` and `map`
    run as Python loops and choices on values that are known, so that prints and breakpoints in
    them see arrays.

    >>> with disable_jit():
    ...     f(x)
    """
    with _switched("disable_jit", disable):
        yield


@contextlib.contextmanager
def debug_nans(enable: bool = True) -> Iterator[None]:
    """Within the context, raise NaNError for the first operation that gives a NaN.

    Results of operations and of `jit` are looked at as they are made, which waits for them.  A
    `jit` whose result has one is run again operation by operation; the error names the operation
    and the line it stands at.

    >>> with debug_nans():
    ...     log(-1.0)
    """
    with _switched("debug_nans", enable):
        yield


@contextlib.contextmanager
def check_tracer_leaks(enable: bool = True) -> Iterator[None]:
    """Within the context, raise LeakedTracerError where a traced value outlives its function.

    The check is made after each traced function, and slow.
    """
    with _switched("check_leaks", enable):
        yield


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """The context of `check_tracer_leaks()`."""
    return check_tracer_leaks()


@contextlib.contextmanager
def log_compiles(enable: bool = True) -> Iterator[None]:
    """Within the context, log each compilation as a warning of the logger "olympus"."""
    with _switched("log_compiles", enable):
        yield


@contextlib.contextmanager
def compiling(name: str, avals: Sequence[Any]) -> Iterator[None]:
    """A context around the compilation of `name` for arguments of types `avals`."""
    start = time.perf_counter()
    yield
    if state.log_compiles:
        types = ", ".join(a.long_name() for a in avals)
        took = time.perf_counter() - start
        _logger.warning("compiled %s for (%s) in %.3f s", name, types, took)
