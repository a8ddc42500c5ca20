"""Functions of Python that read without an audit event, and their replacements for a recording."""

from __future__ import annotations

import builtins
import functools
import os
import random
import time
from collections.abc import Callable, Iterator
from typing import Any

from olympus_cli.builder.freshness.reads import CLOCK, RANDOM, SYSTEM
from olympus_cli.builder.freshness.recorder import Recorder

_CLOCKS = (
    *("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns"),
    *("process_time", "process_time_ns", "thread_time", "thread_time_ns"),
    *("clock_gettime", "clock_gettime_ns"),
)
_SYSTEM_FACTS = ("getpid", "getppid", "getloadavg", "statvfs", "times")
#: Functions that take the present time if they have fewer arguments.
_PRESENT = {"localtime": 1, "gmtime": 1, "ctime": 1, "asctime": 1, "strftime": 2}


def replacements(current: Callable[[], Recorder]) -> Iterator[tuple[Any, str, Any]]:
    """Yield each replaced function: the module or class that has it, its name, the replacement.

    `current` returns the recorder of a call.
    """

    def always(source: str, *, direct: bool) -> Callable[[], None]:
        return lambda: current().always(source, direct=direct)

    clock = always(CLOCK, direct=True)
    for name in _CLOCKS:
        yield time, name, _noting(getattr(time, name), clock)
    for name, arguments in _PRESENT.items():
        yield time, name, _noting(getattr(time, name), clock, arguments)
    state = always(SYSTEM, direct=True)
    for name in _SYSTEM_FACTS:
        yield os, name, _noting(getattr(os, name), state)
    for module, name in ((os, "urandom"), (os, "getrandom"), (random, "_urandom")):
        yield module, name, _noting(getattr(module, name), lambda: current().entropy())
    chance = always(RANDOM, direct=False)
    yield random.Random, "seed", _noting_self(random.Random.seed, chance)
    for name in ("getcwd", "getcwdb"):
        yield os, name, _noting(getattr(os, name), lambda: current().working_directory())
    for name in ("stat", "lstat", "access"):
        yield os, name, _with_first(getattr(os, name), lambda path: current().status(path))
    yield os, "open", _with_folder(os.open, lambda path, at: current().read_in_folder(path, at))
    yield os, "fstat", _with_first(os.fstat, lambda opened: current().status_of_opened(opened))
    yield builtins, "hash", _with_first(hash, lambda value: current().hash_seed(value))
    yield os, "readlink", _with_first(os.readlink, lambda path: current().link(path))
    variables: Any = type(os.environ)
    get, change = variables.__getitem__, variables.__setitem__
    yield variables, "__getitem__", _with_second(get, lambda key: current().variable(key))
    yield variables, "__setitem__", _with_second(change, lambda key: current().set_variable(key))
    for name in ("__iter__", "__len__"):
        yield variables, name, _noting(getattr(variables, name), lambda: current().variable(None))


def _noting(
    real: Callable[..., Any], note: Callable[[], None], arguments: int | None = None
) -> Callable[..., Any]:
    """Return a function that notes each call, or only calls with fewer than `arguments`."""

    @functools.wraps(real)
    def function(*args: Any, **options: Any) -> Any:
        if arguments is None or len(args) < arguments:
            note()
        return real(*args, **options)

    return function


def _noting_self(real: Callable[..., Any], note: Callable[[], None]) -> Callable[..., Any]:
    """Return a method that notes each call without a seed."""

    @functools.wraps(real)
    def method(self: Any, a: Any = None, *args: Any, **options: Any) -> Any:
        if a is None:
            note()
        return real(self, a, *args, **options)

    return method


def _with_first(real: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
    @functools.wraps(real)
    def function(first: Any, *args: Any, **options: Any) -> Any:
        note(first)
        return real(first, *args, **options)

    return function


def _with_folder(real: Callable[..., Any], note: Callable[[Any, int], None]) -> Callable[..., Any]:
    @functools.wraps(real)
    def function(path: Any, *args: Any, dir_fd: int | None = None, **options: Any) -> Any:
        if dir_fd is not None:
            note(path, dir_fd)
        return real(path, *args, dir_fd=dir_fd, **options)

    return function


def _with_second(real: Callable[..., Any], note: Callable[[Any], None]) -> Callable[..., Any]:
    @functools.wraps(real)
    def method(self: Any, second: Any, *args: Any) -> Any:
        note(second)
        return real(self, second, *args)

    return method
