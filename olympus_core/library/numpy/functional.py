"""Functions of functions in `olympus.numpy`: they apply a user's function to parts of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.errors import ShapeError
from olympus_core.library.axes import canonical_axis
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.shapes import expand_dims
from olympus_core.tracer import Array

__all__ = ["apply_over_axes"]


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Array:
    """`func(a, axis)` for each axis in turn; an axis that it reduces is kept, with length 1.

    Raises ShapeError where a result has neither as many dimensions nor one fewer.

    >>> apply_over_axes(sum, ones((2, 3)), (0, 1))
    Array([[6.]], dtype=float32)
    """
    a, aval = operand("apply_over_axes", a)
    result = asarray(a)
    for axis in axes:
        place = canonical_axis(axis, aval.ndim)
        reduced = asarray(func(result, place))
        result = expand_dims(reduced, place) if reduced.ndim == result.ndim - 1 else reduced
        if result.ndim != aval.ndim:
            raise ShapeError(
                f"apply_over_axes: the function's result has {reduced.ndim} dimensions, and needs "
                f"{aval.ndim} or {aval.ndim - 1}"
            )
    return result
