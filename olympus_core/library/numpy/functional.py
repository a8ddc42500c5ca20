"""Functions of functions in `olympus.numpy`: they apply a user's function to parts of an array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.avals import canonical_shape
from olympus_core.errors import ShapeError
from olympus_core.library.axes import canonical_axis
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.ranges import arange
from olympus_core.library.numpy.shapes import expand_dims
from olympus_core.tracer import Array
from olympus_core.transforms.vmapping import vmap

__all__ = ["apply_along_axis", "apply_over_axes", "fromfunction"]


def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    """`func1d(a, *args, **kwargs)` for each vector `a` along an axis of an array.

    The axes of its results, arrays or trees of them, stand in the place of that axis.  Raises
    ShapeError for an axis that `arr` does not have.

    >>> apply_along_axis(sum, 0, ones((2, 3)))
    Array([2., 2., 2.], dtype=float32)
    """
    arr, aval = operand("apply_along_axis", arr)
    place = canonical_axis(axis, aval.ndim)

    def mapped(a: Any) -> Any:
        return func1d(a, *args, **kwargs)

    for _ in range(place + 1, aval.ndim):
        mapped = vmap(mapped, in_axes=-1, out_axes=-1)
    for _ in range(place):
        mapped = vmap(mapped)
    return mapped(asarray(arr))


def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    """`function(i, j, ..., **kwargs)` for each index of an array of the given shape.

    The function gets scalars of `dtype`, one for each axis; what dimensions its result has come
    after those of `shape`.  Raises ShapeError for a shape that is not one.

    >>> fromfunction(lambda i, j: 10 * i + j, (2, 3), dtype=int)
    Array([[ 0,  1,  2],
           [10, 11, 12]], dtype=int32)
    """
    sizes = canonical_shape(shape)

    def mapped(*index: Any) -> Any:
        return function(*index, **kwargs)

    for axis in reversed(range(len(sizes))):
        mapped = vmap(mapped, in_axes=tuple([0 if i == axis else None for i in range(len(sizes))]))
    return mapped(*(arange(n, dtype=dtype) for n in sizes))


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
