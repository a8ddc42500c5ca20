"""Matrices of ones, powers and diagonals, and parts of matrices: `eye`, `diag`, `trace`, `tril`."""

from __future__ import annotations

from typing import Any, SupportsIndex

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, shape_of
from olympus_core.base.context import switched
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, DTypeLike, NestedArrayLike
from olympus_core.library.axes import canonical_axes
from olympus_core.library.composite import composite
from olympus_core.library.device import placed
from olympus_core.library.lax.slicing import pad
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.indexing.reading import getitem
from olympus_core.library.numpy.manipulation.shapes import ravel
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.operands import choose, operand, reject_out
from olympus_core.library.promotion import convert
from olympus_core.library.structural import structural
from olympus_core.primitives.elementwise.arithmetic import add_p, pow_p
from olympus_core.primitives.elementwise.base import Elementwise
from olympus_core.primitives.elementwise.logic import and_p, eq_p, ge_p
from olympus_core.primitives.shape import broadcast_in_dim_p, iota_p
from olympus_core.xla import Device

_INT32 = np.dtype("int32")


def _compared(rows: int, columns: int, k: ArrayLike, compare: Elementwise) -> Array:
    """Return `compare(row + k, column)` as bool[rows, columns]."""
    row, column = (iota_p.bind(dtype=_INT32, shape=(rows, columns), dimension=i) for i in (0, 1))
    if not (k.__class__ is int and k == 0):
        row = add_p.bind(row, convert(k, _INT32))
    return compare.bind(row, column)


def eye(
    N: SupportsIndex,
    M: SupportsIndex | None = None,
    k: ArrayLike = 0,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
) -> Array:
    """Return an N x M matrix with ones on diagonal `k` (positive: above the main one), else zeros.

    >>> eye(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    target_dtype = dtypes.requested("eye", dtype)
    rows, columns = check_sizes("eye", N, N if M is None else M)
    ones = convert(_compared(rows, columns, k, eq_p), target_dtype)
    return placed(ones, device)


def check_sizes(name: str, *sizes: Any) -> tuple[int, ...]:
    """Return the sizes as Python ints; raise ShapeError for a negative one."""
    checked = tuple(map(dimension, sizes))
    if any(n < 0 for n in checked):
        raise ShapeError(f"{name} needs sizes >= 0, and got {checked}")
    return checked


def identity(n: SupportsIndex, dtype: DTypeLike | None = None) -> Array:
    """Return the n x n identity matrix.

    >>> identity(2)
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    return eye(n, dtype=dtype)


def tri(
    N: SupportsIndex, M: SupportsIndex | None = None, k: int = 0, dtype: DTypeLike | None = None
) -> Array:
    """Return an N x M matrix with ones on and below the diagonal `k`, and zeros above.

    >>> tri(2, 3)
    Array([[1., 0., 0.],
           [1., 1., 0.]], dtype=float32)
    """
    target_dtype = dtypes.requested("tri", dtype)
    rows, columns = check_sizes("tri", N, N if M is None else M)
    return convert(_compared(rows, columns, k, ge_p), target_dtype)


def _triangle(name: str, m: ArrayLike, k: int, upper: bool) -> Array:
    m, aval = operand(name, m)
    if aval.ndim < 2:
        raise ShapeError(f"{name} needs two or more dimensions, and got {aval.long_name()}")
    rows, columns = aval.shape[-2:]
    below = _compared(rows, columns, k - 1 if upper else k, ge_p)
    zero = convert(0, aval.dtype, aval.weak_type)
    with switched("numpy_rank_promotion", "allow"):
        result: Array = choose(name, below, zero, m) if upper else choose(name, below, m, zero)
    return result


@composite(static_argnames=("k",))
def tril(m: ArrayLike, k: int = 0) -> Array:
    """Return the matrices `m` with zeros above diagonal `k`; raise ShapeError below rank 2.

    >>> tril(np.ones((2, 2)))
    Array([[1., 0.],
           [1., 1.]], dtype=float32)
    """
    return _triangle("tril", m, k, upper=False)


@composite(static_argnames=("k",))
def triu(m: ArrayLike, k: int = 0) -> Array:
    """Return the matrices `m` with zeros below diagonal `k`; raise ShapeError below rank 2.

    >>> triu(asarray([[1, 2], [3, 4]]))
    Array([[1, 2],
           [0, 4]], dtype=int32)
    """
    return _triangle("triu", m, k, upper=True)


@composite(static_argnames=("N", "increasing"))
def vander(x: ArrayLike, N: int | None = None, increasing: bool = False) -> Array:
    """Return the matrix of the powers of a vector: N columns, from the highest power down to 0.

    >>> vander(asarray([1, 2]), 3)
    Array([[1, 1, 1],
           [4, 2, 1]], dtype=int32)
    """
    x, aval = operand("vander", x)
    if aval.ndim != 1:
        raise ShapeError(f"vander needs a vector, and got {aval.long_name()}")
    columns = aval.size if N is None else N
    check_sizes("vander", columns)
    powers: Array = iota_p.bind(dtype=_INT32, shape=(1, columns), dimension=1)
    if not increasing:
        powers = columns - 1 - powers
    base = broadcast_in_dim_p.bind(x, shape=(aval.size, columns), broadcast_dimensions=(0,))
    grid = broadcast_in_dim_p.bind(powers, shape=(aval.size, columns), broadcast_dimensions=(0, 1))
    if dtypes.kind(aval.dtype) in "iub":
        base = convert(base, aval.dtype if aval.dtype != dtypes.bool_ else _INT32)
        grid = convert(grid, base.dtype)
    result: Array = pow_p.bind(base, grid)
    return result


@composite(static_argnames=("k",))
def diag(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with the vector `v` on diagonal `k`, or diagonal `k` of the matrix `v`.

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
    padded = pad(v, zero, [(max(0, -k), max(0, k), 0)]) if k else v
    on = _compared(n, n, k, eq_p)
    rows = broadcast_in_dim_p.bind(padded, shape=(n, n), broadcast_dimensions=(0,))
    result: Array = choose("diag", on, rows, zero)
    return result


def diagflat(v: ArrayLike, k: int = 0) -> Array:
    """Return the matrix with the elements of `v` on diagonal `k`.

    >>> diagflat(asarray([1, 2]))
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    v = ravel(v)
    return diag(convert(v, v.dtype), k)


@structural()
@composite(static_argnames=("offset", "axis1", "axis2"))
def diagonal(a: ArrayOrKeys, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """Return the elements with index i and i + `offset` on two axes, as the last axis.

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
    steps: Array = iota_p.bind(dtype=_INT32, shape=(length,), dimension=0)
    return getitem(a, (..., steps + max(0, -offset), steps + max(0, offset)))


@composite(static_argnames=("axis1", "axis2", "dtype"))
def trace(
    a: ArrayLike,
    offset: ArrayLike = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: DTypeLike | None = None,
    out: None = None,
) -> Array:
    """Return the sum of the diagonal `offset` over two axes, as `dtype` if given.

    >>> trace(asarray([[1, 2], [3, 4]]))
    Array(5, dtype=int32)
    """
    reject_out("trace", out)
    a, aval = operand("trace", a)
    if aval.ndim < 2:
        raise ShapeError(f"trace needs two dimensions or more, and got {aval.long_name()}")
    a = moveaxis(a, canonical_axes((axis1, axis2), aval.ndim), (-2, -1))
    rows, columns = a.shape[-2:]
    on = _compared(rows, columns, offset, eq_p)
    a = choose("trace", on, a, convert(0, aval.dtype, aval.weak_type))
    target_dtype = None if dtype is None else dtypes.requested("trace", dtype)
    return sum_(a, axis=(-2, -1), dtype=target_dtype)


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


def _all_equal(shape: tuple[int, ...]) -> Array:
    counts = [iota_p.bind(dtype=_INT32, shape=shape, dimension=i) for i in range(len(shape))]
    on = eq_p.bind(counts[0], counts[1])
    for count in counts[2:]:
        on = and_p.bind(on, eq_p.bind(counts[0], count))
    return on


def fill_diagonal(
    a: ArrayLike, val: NestedArrayLike, wrap: bool = False, *, inplace: bool = True
) -> Array:
    """Return a copy of `a` with `val` (a scalar, or values to repeat) on its main diagonal.

    Arrays are immutable, so `inplace=False` is required (ArgumentError).

    >>> fill_diagonal(asarray([[1, 2], [3, 4]]), 0, inplace=False)
    Array([[0, 2],
           [3, 0]], dtype=int32)
    """
    if inplace:
        raise ArgumentError("arrays cannot be written to: pass inplace=False, and use the result")
    if wrap:
        raise UnsupportedError(
            "wrap=True is not implemented: fill_diagonal does not wrap around tall matrices"
        )
    array = asarray(a)
    if array.ndim < 2 or (array.ndim > 2 and len(set(array.shape)) > 1):
        raise ShapeError(f"fill_diagonal needs a matrix or a cube, and got shape {array.shape}")
    value = asarray(val)
    return _filled_diagonal(array, convert(value, array.dtype))
