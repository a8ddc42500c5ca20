"""Arrangement of elements in `olympus.numpy`: shapes, axes, repetition, reversal, rotation.

Arrays and scalars enter; arrays of the same elements leave.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.avals import Shape, canonical_shape, get_aval, shape_of
from olympus_core.errors import ShapeError
from olympus_core.library import promotion
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.lax import shape as lax
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray
from olympus_core.primitives.shape import broadcast_in_dim_p, reshape_p, transpose_p
from olympus_core.tracer import Array

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "expand_dims",
    "flip",
    "fliplr",
    "flipud",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "rollaxis",
    "rot90",
    "squeeze",
    "swapaxes",
    "transpose",
]

broadcast_shapes = lax.broadcast_shapes


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None) -> Array:
    """The elements of `a` at a new shape, in which one length may be -1: what is left over.

    `order` "F" reads and writes with the first axis changing fastest.  Raises ShapeError where
    the elements do not fill the shape.

    >>> reshape(asarray([1, 2, 3, 4]), (2, -1))
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    a, aval = operand("reshape", a)
    sizes = _sizes(shape, aval.shape, aval.size)
    if order == "F":
        return _fortran(a, sizes)
    if order not in ("C", "A"):
        raise ValueError(f"reshape takes order 'C', 'F' or 'A', and got {order!r}")
    if sizes == aval.shape and isinstance(a, Array):
        return a
    result: Array = reshape_p.bind(a, dimensions=None, new_sizes=sizes)
    return result


def _sizes(shape: Any, have: Shape, size: int) -> Shape:
    if shape.__class__ is tuple and -1 not in shape:
        return canonical_shape(shape, "the shape of reshape")
    given = [shape] if hasattr(shape, "__index__") else list(shape)
    sizes = [operator.index(n) for n in given]
    if sizes.count(-1) > 1:
        raise ShapeError(f"reshape can infer one length, and got {tuple(sizes)}")
    if -1 in sizes:
        rest = -math.prod(sizes)
        if rest <= 0 or size % rest:
            raise ShapeError(f"reshape of shape {have} to {tuple(sizes)}: {size} elements do not fit")
        sizes[sizes.index(-1)] = size // rest
    return canonical_shape(sizes, "the shape of reshape")


def _fortran(a: Any, sizes: Shape) -> Array:
    reverse = tuple(range(len(shape_of(a))))[::-1]
    flat: Array = reshape_p.bind(a, dimensions=reverse, new_sizes=sizes[::-1])
    return lax.transpose(flat, tuple(range(len(sizes)))[::-1])


def ravel(a: Any, order: str = "C") -> Array:
    """The elements of `a` in one dimension, in row-major order (column-major for "F")."""
    return reshape(a, (math.prod(shape_of(a)),), order)


def transpose(a: Any, axes: Sequence[int] | None = None) -> Array:
    """`a` with its axes in the order `axes`: reversed, unless given.

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


def permute_dims(a: Any, /, axes: tuple[int, ...]) -> Array:
    """`a` with its axes in the order `axes`."""
    return transpose(a, axes)


def matrix_transpose(x: Any, /) -> Array:
    """`x` with its last two axes exchanged; raises ShapeError for fewer than two."""
    x, aval = operand("matrix_transpose", x)
    if aval.ndim < 2:
        raise ShapeError(f"matrix_transpose needs two axes, and got {aval.long_name()}")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Array:
    """`a` with two axes exchanged; raises ShapeError for an axis out of range."""
    a, aval = operand("swapaxes", a)
    ndim = aval.ndim
    order = list(range(ndim))
    i, j = canonical_axis(axis1, ndim), canonical_axis(axis2, ndim)
    order[i], order[j] = j, i
    return _transposed(a, tuple(order))


def moveaxis(a: Any, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """`a` with axes moved from the positions `source` to the positions `destination`.

    Raises ShapeError for axes out of range or repeated, or of different numbers.

    >>> moveaxis(np.zeros((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a, aval = operand("moveaxis", a)
    here = canonical_axes(source, aval.ndim, "source")
    there = canonical_axes(destination, aval.ndim, "destination")
    if len(here) != len(there):
        raise ShapeError(f"moveaxis from {here} to {there}: there must be as many of each")
    order = [i for i in range(aval.ndim) if i not in here]
    for target, axis in sorted(zip(there, here, strict=True)):
        order.insert(target, axis)
    return _transposed(a, tuple(order))


def rollaxis(a: Any, axis: int, start: int = 0) -> Array:
    """`a` with `axis` moved to before the axis that is at `start`."""
    a, aval = operand("rollaxis", a)
    source = canonical_axis(axis, aval.ndim)
    target = canonical_axis(start, aval.ndim + 1, "start")
    return moveaxis(a, source, target - 1 if source < target else target)


def expand_dims(a: Any, axis: int | Sequence[int]) -> Array:
    """`a` with axes of length 1 inserted, at the positions `axis` of the result.

    >>> expand_dims(asarray([1, 2]), 0).shape
    (1, 2)
    """
    a, _ = operand("expand_dims", a)
    return lax.expand_dims(a, axis if isinstance(axis, (tuple, list)) else (axis,))


def squeeze(a: Any, axis: int | Sequence[int] | None = None) -> Array:
    """`a` without its axes of length 1, or without `axis`, whose length must be 1 (ShapeError)."""
    a, aval = operand("squeeze", a)
    if axis is None:
        return lax.squeeze(a, [i for i, n in enumerate(aval.shape) if n == 1])
    return lax.squeeze(a, canonical_axes(axis, aval.ndim))


def broadcast_to(array: Any, shape: Any) -> Array:
    """`array` repeated to `shape` by NumPy's rule; raises ShapeError where it does not fit.

    >>> broadcast_to(asarray([1, 2]), (2, 2))
    Array([[1, 2],
           [1, 2]], dtype=int32)
    """
    array, _ = operand("broadcast_to", array)
    result: Array = promotion.broadcast_to(array, canonical_shape(shape))
    return result


def broadcast_arrays(*args: Any) -> list[Array]:
    """The arrays repeated to the shape that all of them broadcast to; see `broadcast_to`."""
    shape = promotion.broadcast_shapes(*(get_aval(x).shape for x in args))
    return [broadcast_to(x, shape) for x in args]


def _at_least(name: str, rank: int, arrays: tuple[Any, ...]) -> Any:
    results = [_of_rank(operand(name, x)[0], rank) for x in arrays]
    return results[0] if len(results) == 1 else results


def _of_rank(x: Any, rank: int) -> Array:
    shape = shape_of(x)
    if len(shape) >= rank:
        return asarray(x)
    axes = {(3, 1): (1,), (3, 2): (0, 1)}.get((rank, len(shape)))
    if axes is None:
        axes = tuple(range(rank - len(shape), rank))
    sizes = [1] * rank
    for axis, n in zip(axes, shape, strict=True):
        sizes[axis] = n
    result: Array = broadcast_in_dim_p.bind(x, shape=tuple(sizes), broadcast_dimensions=axes)
    return result


def atleast_1d(*arys: Any) -> Any:
    """Each array with one dimension or more; one array, or a list for several."""
    return _at_least("atleast_1d", 1, arys)


def atleast_2d(*arys: Any) -> Any:
    """Each array with two dimensions or more: a vector becomes a row."""
    return _at_least("atleast_2d", 2, arys)


def atleast_3d(*arys: Any) -> Any:
    """Each array with three dimensions or more: (n,) to (1, n, 1), and (m, n) to (m, n, 1)."""
    return _at_least("atleast_3d", 3, arys)


def flip(m: Any, axis: int | Sequence[int] | None = None) -> Array:
    """The elements in reverse order along an axis, several, or all.

    >>> flip(asarray([1, 2, 3]))
    Array([3, 2, 1], dtype=int32)
    """
    m, aval = operand("flip", m)
    axes = tuple(range(aval.ndim)) if axis is None else canonical_axes(axis, aval.ndim)
    return lax.rev(m, axes) if axes else asarray(m)


def fliplr(m: Any) -> Array:
    """The elements in reverse order along axis 1."""
    return flip(m, 1)


def flipud(m: Any) -> Array:
    """The elements in reverse order along axis 0."""
    return flip(m, 0)


def rot90(m: Any, k: int = 1, axes: tuple[int, int] = (0, 1)) -> Array:
    """The array turned by `k` quarters in the plane of two axes, from the first to the second.

    >>> rot90(asarray([[1, 2], [3, 4]]))
    Array([[2, 4],
           [1, 3]], dtype=int32)
    """
    m, aval = operand("rot90", m)
    first, second = canonical_axes(tuple(axes), aval.ndim)
    quarters = k % 4
    if quarters == 0:
        return asarray(m)
    if quarters == 2:
        return flip(m, (first, second))
    turned = flip(m, second) if quarters == 1 else m
    turned = swapaxes(turned, first, second)
    return turned if quarters == 1 else flip(turned, second)
