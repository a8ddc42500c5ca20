"""Python functions that running programs call, and the programs whose effects are not over."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from olympus_core.base.context import state
from olympus_core.base.errors import UsageError
from olympus_core.xla.bindings import JaxRuntimeError
from olympus_core.xla.messages import execution_error
from olympus_core.xla.runtime.partitioners import Partitioner


class HostCalls(NamedTuple):
    """The functions that a program calls, in the order of its indices.

    They take and return NumPy arrays. `has_effects` is False if all are pure, and `is_ordered` is
    True if the order of the program's effects and those of other programs matters. `partitioners`
    are called by the compiler, to partition operations.
    """

    functions: tuple[Callable[..., Any], ...] = ()
    has_effects: bool = False
    is_ordered: bool = False
    partitioners: tuple[Partitioner, ...] = ()


#: a program that starts after so many others with effects waits for these
_MANY = 1000


class _Running:
    """The tokens of the programs with effects that may not have ended."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tokens: list[Any] = []
        self._ordered: Any = None
        self._waits_at_exit = False

    def before_ordered(self) -> None:
        """Wait for the last program with ordered effects."""
        if not state.in_host_call:  # which would wait for itself
            with self._lock:
                token, self._ordered = self._ordered, None
            _wait(token)

    def add(self, token: Any, is_ordered: bool) -> None:
        """Add the token of a program that has started; wait for the oldest if there are many."""
        oldest: list[Any] = []
        with self._lock:
            if not self._waits_at_exit:
                self._waits_at_exit = True
                atexit.register(self.wait)
            if is_ordered:
                self._ordered = token
            self._tokens.append(token)
            if len(self._tokens) > _MANY and not state.in_host_call:
                oldest, self._tokens = self._tokens[:_MANY], self._tokens[_MANY:]
        for x in oldest:  # without the lock: their functions may start programs with effects
            _wait(x)

    def wait(self) -> None:
        """Wait for all programs with effects that were started; raise the error of one."""
        with self._lock:
            tokens, self._tokens, self._ordered = self._tokens, [], None
        for token in tokens:
            _wait(token)


_running = _Running()
effects_barrier = _running.wait


def _wait(token: Any) -> None:
    if token is None:
        return
    try:
        token.block_until_ready()
    except (JaxRuntimeError, ValueError) as error:
        raise execution_error(error) from None


def starter(raw: Any, calls: HostCalls | None) -> Callable[[list[Any]], Any]:
    """Return the function that starts a program on Buffers, and returns the runtime's results.

    `calls` is None for a program that calls functions which are not known: it is not started,
    because the runtime would call what is not there.
    """
    if calls is None:
        return _refuse
    if not calls.has_effects:
        return raw.execute_sharded  # type: ignore[no-any-return]

    def run(buffers: list[Any]) -> Any:
        if calls.is_ordered:
            _running.before_ordered()
        results = raw.execute_sharded(buffers, with_tokens=True)
        _running.add(results.consume_token(), calls.is_ordered)
        return results

    return run


def _refuse(buffers: list[Any]) -> Any:
    raise UsageError(
        "the program calls Python functions, and was loaded without them",
        hint="load it with its functions: load(path, callbacks={name: function})",
    )
