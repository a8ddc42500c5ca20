"""The classes that jaxlib needs to copy an array to a device and to return results of a program."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_runtime.bindings import _hlo, _jax

_REPLICATED = _hlo.HloSharding.replicate()


class ArrayType:
    """The shape and dtype that the runtime reads from an abstract value."""

    __slots__ = ("dtype", "shape")
    weak_type = False

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype


class OneDevice(_jax.SingleDeviceSharding):  # type: ignore[misc]
    """The whole of an array on one device; jaxlib below 0.12 reads these two from a sharding."""

    memory_kind = None

    def _to_xla_hlo_sharding(self, rank: int) -> Any:
        return _REPLICATED


def result_handler(place: OneDevice) -> Any:
    """Return a function that turns one output of an execution on a device into a buffer.

    Its own shape and dtype are never read: the runtime's array has its own.
    """
    aval = ArrayType((), np.dtype(np.float32))
    try:
        return _jax.array_result_handler(aval, place, True, _skip_checks=True)
    except TypeError:  # jaxlib 0.12 removed the argument, and the checks
        return _jax.array_result_handler(aval, place, True)
