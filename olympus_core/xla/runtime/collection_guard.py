"""The guard of jaxlib for arrays that Python's garbage collector deletes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from olympus_core.base.context import checked, switched
from olympus_core.xla.bindings import _jax

_NAME = "array_garbage_collection_guard"


def _level(value: str) -> object:
    return _jax.guard_lib.GarbageCollectionGuardLevel.__members__[value.upper()]


def guard_process(value: str) -> None:
    """Set the guard of all threads that are in no context of it."""
    _jax.guard_lib.global_state().garbage_collect_array = _level(value)


@contextlib.contextmanager
def array_garbage_collection_guard(new_val: str) -> Iterator[None]:
    """Within the context, select what happens if the garbage collector deletes an array.

    An array in a cycle of references holds its memory until then.  With "log" the runtime writes
    an error to stderr, with the line that created the array; "fatal" ends the process, and "allow"
    does nothing.  Raises ArgumentError (a ValueError) for another value.

    >>> with array_garbage_collection_guard("log"):
    ...     x = numpy.ones(3)
    """
    thread = _jax.guard_lib.thread_local_state()
    old = thread.garbage_collect_array
    with switched(_NAME, checked(_NAME, new_val)):
        thread.garbage_collect_array = _level(new_val)
        try:
            yield
        finally:
            thread.garbage_collect_array = old
