"""The table of the implementations of random keys: their names, sizes and functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from olympus_core.base.avals import Shape

#: the implementation of keys by default
THREEFRY = "threefry2x32"


class KeyFunctions(NamedTuple):
    """The functions of an implementation that a user defines, on the words of one key.

    The words of a key have the shape `key_shape`.
    """

    key_shape: Shape
    seed: Callable[[Any], Any]
    split: Callable[[Any, Shape], Any]
    random_bits: Callable[[Any, int, Shape], Any]
    fold_in: Callable[[Any, Any], Any]


class Implementation(NamedTuple):
    """An implementation of keys: its name in dtypes, and its functions if it has no primitives."""

    tag: str
    key_shape: Shape
    functions: KeyFunctions | None = None
    #: True if a user defined it: then it has no name that functions take
    is_defined: bool = False


def _of_hash(name: str, tag: str, size: int) -> Implementation:
    """Return the implementation by a hash of counters, whose module is imported at its use."""

    def function(of: str) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            from olympus_core.library.random.counter_hashes import HASHES

            return getattr(HASHES[name], of)(*args)

        return call

    functions = KeyFunctions((size,), *map(function, KeyFunctions._fields[1:]))
    return Implementation(tag, (size,), functions)


IMPLEMENTATIONS = {
    THREEFRY: Implementation("fry", (2,)),
    "rbg": Implementation("rbg", (4,)),
    "unsafe_rbg": Implementation("urbg", (4,)),
    "threefry4x32": _of_hash("threefry4x32", "fry4", 4),
    "philox2x32": _of_hash("philox2x32", "phx2", 1),
    "philox4x32": _of_hash("philox4x32", "phx4", 2),
}
