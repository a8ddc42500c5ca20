"""`x.at[index]`: functional updates of arrays, which cannot be written to.

An array and an index enter, then values; a new array leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.avals import get_aval, shape_of
from olympus_core.library.lax.indexing import Mode, scatter_apply
from olympus_core.library.numpy.arithmetic import divide, power
from olympus_core.library.numpy.fills import ones_like
from olympus_core.library.numpy.indexing import read
from olympus_core.library.numpy.updates import (
    ADD,
    MAX,
    MIN,
    MULTIPLY,
    SET,
    SUBTRACT,
    Operation,
    Options,
    update,
)
from olympus_core.tracer import Array

__all__ = ["IndexUpdateHelper", "IndexUpdateRef"]


class IndexUpdateHelper:
    """`x.at`: `x.at[index]` names elements of `x`, for an update that gives a new array.

    `x.at[i].set(y)` gives what `x[i] = y` would leave in `x`, had arrays been mutable; so do
    `add`, `subtract`, `multiply` (or `mul`), `divide`, `power`, `min`, `max` and `apply` for
    `x[i] += y` and so on, with repeated indices applied as often; `get` reads.

    All take `mode`: what becomes of an index out of bounds ("drop" or "fill", "clip",
    "promise_in_bounds"; by default reads are clipped and writes dropped);
    `indices_are_sorted` and `unique_indices`, promises that let a compiler do better; and
    `wrap_negative_indices`: whether negative indices count from the end.

    >>> zeros(3).at[1].set(5.0)
    Array([0., 5., 0.], dtype=float32)
    """

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"IndexUpdateHelper({self.array!r})"


class IndexUpdateRef:
    """Elements of an array, to be read or updated; see IndexUpdateHelper."""

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any) -> None:
        self.array = array
        self.index = index

    def __repr__(self) -> str:
        return f"IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(
        self,
        *,
        indices_are_sorted: bool = False,
        unique_indices: bool = False,
        mode: Mode = None,
        fill_value: Any = None,
        out_sharding: None = None,
        wrap_negative_indices: bool = True,
    ) -> Array:
        """The elements; out of bounds, with mode "fill", `fill_value` (see `lax.gather`)."""
        return read(
            self.array,
            self.index,
            indices_are_sorted=indices_are_sorted,
            unique_indices=unique_indices,
            mode=mode,
            fill_value=fill_value,
            wrap_negative_indices=wrap_negative_indices,
        )

    def _update(
        self, values: Any, operation: Operation, out_sharding: None = None, **options: Any
    ) -> Array:
        if hasattr(values, "__jax_array__"):
            values = values.__jax_array__()
        return update(self.array, self.index, values, operation, Options(**options))

    def set(self, values: Any, **options: Any) -> Array:
        """The array with the elements replaced by `values`."""
        return self._update(values, SET, **options)

    def add(self, values: Any, **options: Any) -> Array:
        """The array with `values` added to the elements."""
        return self._update(values, ADD, **options)

    def subtract(self, values: Any, **options: Any) -> Array:
        """The array with `values` subtracted from the elements."""
        return self._update(values, SUBTRACT, **options)

    def multiply(self, values: Any, **options: Any) -> Array:
        """The array with the elements multiplied by `values`."""
        return self._update(values, MULTIPLY, **options)

    mul = multiply

    def divide(self, values: Any, **options: Any) -> Array:
        """The array with the elements divided by `values`."""
        ones = IndexUpdateRef(ones_like(self.array), self.index)
        result: Array = divide(self.array, ones.multiply(values, **options))
        return result

    def power(self, values: Any, **options: Any) -> Array:
        """The array with the elements raised to the power `values`."""
        ones = IndexUpdateRef(ones_like(self.array), self.index)
        return power(self.array, ones.multiply(values, **options))

    def min(self, values: Any, **options: Any) -> Array:
        """The array with each element the lesser of itself and its value."""
        return self._update(values, MIN, **options)

    def max(self, values: Any, **options: Any) -> Array:
        """The array with each element the greater of itself and its value."""
        return self._update(values, MAX, **options)

    def apply(self, func: Callable[[Any], Any], **options: Any) -> Array:
        """The array with `func`, of a scalar, applied to each element, as often as it is named."""

        def scatter(x: Any, indices: Any, values: Any, numbers: Any, **kwargs: Any) -> Array:
            return scatter_apply(x, indices, func, numbers, update_shape=shape_of(values), **kwargs)

        zero = np.zeros((), get_aval(self.array).dtype)[()]
        return self._update(zero, Operation(scatter, None, regional=False), **options)
