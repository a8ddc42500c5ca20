"""The order of axes: `transpose`, `swapaxes`, `moveaxis`, `rollaxis`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayOrKeys
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.operands import operand
from olympus_core.library.structural import structural
from olympus_core.primitives.shape import transpose_p


@structural()
def transpose(a: ArrayOrKeys, axes: Sequence[int] | None = None) -> Array:
    """Return `a` with its axes in the order `axes`, by default reversed.

    Raises ShapeError unless `axes` names each axis once.

    >>> transpose(asarray([[1, 2, 3]])).shape
    (3, 1)
    """
    a, aval = operand("transpose", a)
    ndim = aval.ndim
    order = tuple(range(ndim))[::-1] if axes is None else canonical_axes(tuple(axes), ndim)
    return _transposed(a, order)


def _transposed(a: Any, order: tuple[int, ...]) -> Array:
    if isinstance(a, Array) and order == tuple(range(a.aval.ndim)):
        return a
    result: Array = transpose_p.bind(a, permutation=order)
    return result


@structural()
def permute_dims(a: ArrayOrKeys, /, axes: Sequence[int]) -> Array:
    """Return `a` with its axes in the order `axes`.

    >>> permute_dims(asarray([[1, 2], [3, 4]]), (1, 0))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    return transpose(a, axes)


@structural()
def matrix_transpose(x: ArrayOrKeys, /) -> Array:
    """Return `x` with its last two axes exchanged; raise ShapeError for fewer than two.

    >>> matrix_transpose(asarray([[1, 2], [3, 4]]))
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    x, aval = operand("matrix_transpose", x)
    if aval.ndim < 2:
        raise ShapeError(f"matrix_transpose needs two axes, and got {aval.long_name()}")
    return swapaxes(x, -1, -2)


@structural()
def swapaxes(a: ArrayOrKeys, axis1: int, axis2: int) -> Array:
    """Return `a` with two axes exchanged; raise ShapeError for an axis out of range.

    >>> swapaxes(np.zeros((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a, aval = operand("swapaxes", a)
    ndim = aval.ndim
    order = list(range(ndim))
    i, j = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    order[i], order[j] = j, i
    return _transposed(a, tuple(order))


@structural()
def moveaxis(
    a: ArrayOrKeys, source: int | Sequence[int], destination: int | Sequence[int]
) -> Array:
    """Return `a` with axes moved from the positions `source` to the positions `destination`.

    Raises ShapeError for axes out of range or repeated, or of different numbers.

    >>> moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a, aval = operand("moveaxis", a)
    here = canonical_axes(source, aval.ndim, "source")
    there = canonical_axes(destination, aval.ndim, "destination")
    if len(here) != len(there):
        raise ShapeError(f"moveaxis from {here} to {there}: both must have the same number of axes")
    order = [i for i in range(aval.ndim) if i not in here]
    for target, axis in sorted(zip(there, here, strict=True)):
        order.insert(target, axis)
    return _transposed(a, tuple(order))


@structural()
def rollaxis(a: ArrayOrKeys, axis: int, start: int = 0) -> Array:
    """Return `a` with `axis` moved to before the axis that is at `start`, or last for `ndim`.

    A negative `start` counts from the end, like an axis.  Raises ShapeError if it is out of range.

    >>> rollaxis(np.zeros((2, 3, 4)), 2, -2).shape
    (2, 4, 3)
    """
    a, aval = operand("rollaxis", a)
    source = canonical_axis(axis, aval.ndim)
    target = aval.ndim if start == aval.ndim else canonical_axis(start, aval.ndim, "start")
    return moveaxis(a, source, target - 1 if source < target else target)
