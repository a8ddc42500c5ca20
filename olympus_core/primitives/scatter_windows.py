"""What the rules of scatters share: which elements the updates of a scatter are written to.

The operands of a scatter (arrays, or their shapes) and its parameters enter.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.avals import Shape, shape_of
from olympus_core.primitive import op
from olympus_core.primitives.elementwise.base import spread, zero_like
from olympus_core.primitives.indexing import GatherDimensionNumbers, ScatterDimensionNumbers

__all__ = ["alone", "chosen", "where", "window_sizes", "windows"]


def window_sizes(dims: ScatterDimensionNumbers, rank: int, updates: Shape) -> Shape:
    """The lengths of a window along each axis of the operand."""
    absent = {*dims.inserted_window_dims, *dims.operand_batching_dims}
    window = iter(dims.update_window_dims)
    return tuple([1 if i in absent else updates[next(window)] for i in range(rank)])


def windows(x: Any, indices: Any, updates: Shape, params: dict[str, Any]) -> Any:
    """What an array has where updates of a shape are written; 0 where none is written."""
    dims: ScatterDimensionNumbers = params["dimension_numbers"]
    return op.gather(
        x,
        indices,
        dimension_numbers=GatherDimensionNumbers(*dims),
        slice_sizes=window_sizes(dims, len(shape_of(x)), updates),
        indices_are_sorted=params["indices_are_sorted"],
        unique_indices=params["unique_indices"],
        mode=params["mode"],
        fill_value=0,
    )


def alone(indices: Any, params: dict[str, Any]) -> bool:
    """Whether no element is written twice."""
    shape, dims = shape_of(indices), params["dimension_numbers"]
    shared = (*dims.scatter_indices_batching_dims, len(shape) - 1)
    count = math.prod([n for i, n in enumerate(shape) if i not in shared])
    return count <= 1 or params["unique_indices"]


def chosen(shape: Shape, indices: Any, updates: Shape, params: dict[str, Any]) -> tuple[Any, Any]:
    """Which elements of the operand stay, and which of the updates are written."""
    count = math.prod(updates)
    dtype = np.dtype("uint32" if count < 2**32 - 1 else "uint64")
    flat = op.iota(shape=(count,), dimension=0, dtype=dtype)
    numbers = op.reshape(op.add(flat, dtype.type(1)), dimensions=None, new_sizes=updates)
    none = dtype.type(0)
    left = op.scatter(spread(none, shape), indices, numbers, **params)
    return op.eq(left, none), op.eq(windows(left, indices, updates, params), numbers)


def where(condition: Any, x: Any) -> Any:
    """`x` where a condition holds, and 0 elsewhere."""
    return op.select_n(condition, zero_like(x), x)
