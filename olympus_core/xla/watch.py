"""What XLA's partitioner says, while it compiles, of where the arrays of a program lie.

It calls back through an address in the module, which is of this process and of this compilation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from olympus_core.xla.door import _jax

__all__ = ["Watch"]

_T = TypeVar("_T")


class Watch:
    """The shardings of the arrays of one module that its compilation is asked for.

    The compiler's threads only write them down.  `seen` has them in the order in which they came,
    each with what it was asked for by.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[Any, Any]] = []
        self._called: list[Callable[[Any], None]] = []  # the addresses are of these

    def config(self, what: Any) -> bytes:
        """The `backend_config` of an `InspectSharding` whose operand is asked for by `what`."""
        called = functools.partial(self._write_down, what)
        self._called.append(called)
        made: bytes = _jax.encode_inspect_sharding_callback(called)
        return made

    def _write_down(self, what: Any, sharding: Any) -> None:
        self.seen.append((what, sharding.to_proto()))

    def during(self, work: Callable[[], _T]) -> _T:
        """What `work()` gives; the addresses are good until then, though nobody waits any more."""
        return work()
