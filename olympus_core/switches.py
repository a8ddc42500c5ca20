"""Switches: what is on in the process, and, within a context, in the thread that entered it.

Names and values enter; contexts leave, and `state`, which says what is on.  `config` sets the
process's values.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from olympus_core.errors import ArgumentError

__all__ = [
    "check_tracer_leaks",
    "checked",
    "checking_leaks",
    "compiling",
    "debug_infs",
    "debug_nans",
    "disable_jit",
    "disable_x64",
    "enable_checks",
    "enable_x64",
    "log_compiles",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "set_process",
    "state",
    "switched",
]

_logger = logging.getLogger("olympus")


def _switched_on(variable: str) -> bool:
    text = os.environ.get(variable, "").lower()
    if text not in ("", "0", "false", "no", "1", "true", "yes"):
        warnings.warn(f"{variable} is 0 or 1, and not {text!r}, which is taken for 0", stacklevel=2)
    return text in ("1", "true", "yes")


class _State(threading.local):
    """A thread's switches; the attributes of the class are the process's."""

    check_tracer_leaks = False
    debug_infs = False
    debug_nans = False
    default_matmul_precision: Any = None  # a parameter `precision` of contractions
    disable_jit = False
    enable_checks = False
    enable_x64 = _switched_on("OLYMPUS_ENABLE_X64")
    log_compiles = False
    numpy_dtype_promotion = "standard"
    numpy_rank_promotion = "allow"


state = _State()

#: the switches that are names; the others, but for the precision, are on or off
_CHOICES = {
    "numpy_dtype_promotion": ("standard", "strict"),
    "numpy_rank_promotion": ("allow", "warn", "raise"),
}
_UNSET: Any = object()


def checked(name: str, value: Any) -> Any:
    """The value of a switch, as it is kept; raises ArgumentError for one that it cannot have."""
    choices = _CHOICES.get(name)
    if choices is None:
        if value not in (True, False):
            raise ArgumentError(f"{name} is True or False, not {value!r:.60}")
        return bool(value)
    if value not in choices:
        raise ArgumentError(f"{name} is {' or '.join(map(repr, choices))}, not {value!r:.60}")
    return value


def set_process(name: str, value: Any) -> None:
    """Set a switch for every thread that is not in a context of its own for it."""
    setattr(_State, name, value)


@contextlib.contextmanager
def switched(name: str, value: Any) -> Iterator[None]:
    """Within the context, a switch has a value that is checked, in this thread."""
    old = vars(state).get(name, _UNSET)
    setattr(state, name, value)
    try:
        yield
    finally:
        if old is _UNSET:
            delattr(state, name)
        else:
            setattr(state, name, old)


def enable_x64(new_val: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, keep 64-bit dtypes (or, with False, narrow them).

    The process's default comes from the environment variable OLYMPUS_ENABLE_X64 (0 or 1).

    >>> with enable_x64():
    ...     x = numpy.arange(3.0)  # of dtype float64
    """
    return switched("enable_x64", checked("enable_x64", new_val))


def disable_x64() -> contextlib.AbstractContextManager[None]:
    """The context of `enable_x64(False)`."""
    return enable_x64(False)


def numpy_dtype_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, promote as in "standard", or refuse mixed dtypes with "strict".

    Raises ArgumentError (a ValueError) for another value.
    """
    return switched("numpy_dtype_promotion", checked("numpy_dtype_promotion", new_val))


def numpy_rank_promotion(new_val: str) -> contextlib.AbstractContextManager[None]:
    """Within the context, say what happens where operands differ in rank and none is a scalar.

    "allow" broadcasts them, as NumPy does; "warn" says so; "raise" raises ShapeError.  Raises
    ArgumentError (a ValueError) for another value.

    >>> with numpy_rank_promotion("raise"):
    ...     ones((2, 3)) + ones(3)
    """
    return switched("numpy_rank_promotion", checked("numpy_rank_promotion", new_val))


def disable_jit(disable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, run functions as the Python they are.

    `jit` calls its function, and `scan`, `cond`, `switch`, `while_loop`, `fori_loop` and `map`
    run as Python loops and choices on values that are known, so that prints and breakpoints in
    them see arrays.

    >>> with disable_jit():
    ...     f(x)
    """
    return switched("disable_jit", checked("disable_jit", disable))


def debug_nans(enable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise NaNError for the first operation that gives a NaN.

    Results of operations and of `jit` are looked at as they are made, which waits for them.  A
    `jit` whose result has one is run again operation by operation; the error names the operation
    and the line it stands at.

    >>> with debug_nans():
    ...     log(-1.0)
    """
    return switched("debug_nans", checked("debug_nans", enable))


def debug_infs(enable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise NaNError for the first operation that gives an infinity.

    Otherwise like `debug_nans`.
    """
    return switched("debug_infs", checked("debug_infs", enable))


def enable_checks(enable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, check each program that is traced, as a test of OLYMPUS itself.

    Raises InternalError where a program is not well formed or not typed as it must be.
    """
    return switched("enable_checks", checked("enable_checks", enable))


def check_tracer_leaks(enable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, raise LeakedTracerError where a traced value outlives its function.

    The check is made after each traced function, and slow.
    """
    return switched("check_tracer_leaks", checked("check_tracer_leaks", enable))


def checking_leaks() -> contextlib.AbstractContextManager[None]:
    """The context of `check_tracer_leaks()`."""
    return check_tracer_leaks()


def log_compiles(enable: bool = True) -> contextlib.AbstractContextManager[None]:
    """Within the context, log each compilation as a warning of the logger "olympus"."""
    return switched("log_compiles", checked("log_compiles", enable))


@contextlib.contextmanager
def compiling(name: str, avals: Sequence[Any]) -> Iterator[None]:
    """A context around the compilation of `name` for arguments of types `avals`."""
    start = time.perf_counter()
    yield
    if state.log_compiles:
        types = ", ".join(a.long_name() for a in avals)
        took = time.perf_counter() - start
        _logger.warning("compiled %s for (%s) in %.3f s", name, types, took)
