"""Diagonals of matrices in `olympus.numpy`, and matrices made of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import shape_of
from olympus_core.errors import ArgumentError, ShapeError
from olympus_core.library.axes import canonical_axes
from olympus_core.library.composite import composite
from olympus_core.library.lax.slicing import pad
from olympus_core.library.numpy.axes import operand, reject_out
from olympus_core.library.numpy.creation import asarray, requested_dtype
from olympus_core.library.numpy.indexing import getitem
from olympus_core.library.numpy.operands import choose
from olympus_core.library.numpy.orders import moveaxis
from olympus_core.library.numpy.reductions import sum as sum_
from olympus_core.library.numpy.shapes import ravel
from olympus_core.library.numpy.triangles import check_sizes, compared
from olympus_core.library.promotion import convert
from olympus_core.library.structural import structural
from olympus_core.primitives.elementwise.logic import and_p, eq_p
from olympus_core.primitives.shape import broadcast_in_dim_p, iota_p
from olympus_core.tracer import Array

__all__ = [
    "diag",
    "diag_indices",
    "diag_indices_from",
    "diagflat",
    "diagonal",
    "fill_diagonal",
    "trace",
]

_INT32 = np.dtype("int32")


@composite(static_argnames=("k",))
def diag(v: Any, k: int = 0) -> Array:
    """The matrix with the vector `v` on diagonal `k`, or diagonal `k` of the matrix `v`.

    >>> diag(asarray([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    v, aval = operand("diag", v)
    if aval.ndim == 2:
        return diagonal(v, offset=k)
    if aval.ndim != 1:
        raise ShapeError(f"diag needs a vector or a matrix, and got {aval.long_name()}")
    zero = convert(0, aval.dtype, aval.weak_type)
    n = aval.size + abs(k)
    padded = pad(v, zero, [(max(0, k), max(0, -k), 0)]) if k else v
    on = compared(n, n, k, eq_p)
    columns = broadcast_in_dim_p.bind(padded, shape=(n, n), broadcast_dimensions=(1,))
    result: Array = choose("diag", on, columns, zero)
    return result


def diagflat(v: Any, k: int = 0) -> Array:
    """The matrix with the elements of `v` on diagonal `k`."""
    v = ravel(v)
    return diag(convert(v, v.dtype), k)


@structural()
@composite(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """The elements with equal indices (`offset` more in `axis2`) on two axes, as the last axis.

    >>> diagonal(asarray([[1, 2], [3, 4]]))
    Array([1, 4], dtype=int32)
    """
    a, aval = operand("diagonal", a)
    if aval.ndim < 2:
        raise ShapeError(f"diagonal needs two dimensions or more, and got {aval.long_name()}")
    axes = canonical_axes((axis1, axis2), aval.ndim)
    a = moveaxis(a, axes, (-2, -1))
    rows, columns = a.shape[-2:]
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    steps: Any = iota_p.bind(dtype=_INT32, shape=(length,), dimension=0)
    return getitem(a, (..., steps + max(0, -offset), steps + max(0, offset)))


@composite(static_argnames=("axis1", "axis2", "dtype"))
def trace(
    a: Any, offset: Any = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: None = None
) -> Array:
    """The sum of the diagonal `offset` over two axes, as `dtype` if given.

    >>> trace(asarray([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    reject_out("trace", out)
    a, aval = operand("trace", a)
    if aval.ndim < 2:
        raise ShapeError(f"trace needs two dimensions or more, and got {aval.long_name()}")
    a = moveaxis(a, canonical_axes((axis1, axis2), aval.ndim), (-2, -1))
    rows, columns = a.shape[-2:]
    on = compared(rows, columns, offset, eq_p)
    a = choose("trace", on, a, convert(0, aval.dtype, aval.weak_type))
    wanted = None if dtype is None else requested_dtype("trace", dtype)
    return sum_(a, axis=(-2, -1), dtype=wanted)  # type: ignore[no-any-return]


@composite()
def _filled_diagonal(a: Any, values: Any) -> Array:
    shape = shape_of(a)
    length = shape[0] if len(shape) > 2 else min(shape)
    if not shape_of(values):
        on = _all_equal(shape)
        result: Array = choose("fill_diagonal", on, values, a)
        return result
    at = (np.arange(length),) * len(shape)
    values = getitem(ravel(values), np.arange(length) % int(np.prod(shape_of(values))))
    result = a.at[at].set(values)
    return result


def _all_equal(shape: tuple[int, ...]) -> Any:
    counts = [iota_p.bind(dtype=_INT32, shape=shape, dimension=i) for i in range(len(shape))]
    on = eq_p.bind(counts[0], counts[1])
    for count in counts[2:]:
        on = and_p.bind(on, eq_p.bind(counts[0], count))
    return on


def fill_diagonal(a: Any, val: Any, wrap: bool = False, *, inplace: bool = True) -> Array:
    """A copy of `a` with `val` (a scalar, or values to repeat) on its main diagonal.

    Arrays cannot be written to, so `inplace=False` is required (ArgumentError).
    """
    if inplace:
        raise ArgumentError("arrays cannot be written to: pass inplace=False, and use the result")
    if wrap:
        raise ArgumentError("fill_diagonal does not wrap around tall matrices: wrap must be False")
    array = asarray(a)
    if array.ndim < 2 or (array.ndim > 2 and len(set(array.shape)) > 1):
        raise ShapeError(f"fill_diagonal needs a matrix or a cube, and got shape {array.shape}")
    value = asarray(val)
    return _filled_diagonal(array, convert(value, array.dtype))


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """The indices of the diagonal of an array of `ndim` axes of length `n`."""
    check_sizes("diag_indices", n, ndim)
    return (iota_p.bind(dtype=dtypes.default_dtype("i"), shape=(n,), dimension=0),) * ndim


def diag_indices_from(arr: Any) -> tuple[Array, ...]:
    """The indices of the diagonal of a square array; ShapeError for another."""
    shape = shape_of(arr)
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(f"diag_indices_from needs axes of one length, and got shape {shape}")
    return diag_indices(shape[0], len(shape))
