"""Norms and products of `olympus.numpy.linalg`: what needs no decomposition of a matrix.

Arrays enter, integers as floats where there are roots; arrays leave.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.errors import ShapeError
from olympus_core.library.axes import canonical_axes
from olympus_core.library.composite import composite
from olympus_core.library.numpy import products, triangles
from olympus_core.library.numpy.arithmetic import abs as abs_
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.exponential import sqrt
from olympus_core.library.numpy.logic import not_equal
from olympus_core.library.numpy.reductions import max as max_
from olympus_core.library.numpy.reductions import min as min_
from olympus_core.library.numpy.reductions import sum as sum_
from olympus_core.library.numpy.shapes import broadcast_to, reshape, squeeze
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.tracer import Array

__all__ = [
    "cross",
    "diagonal",
    "matrix_norm",
    "matrix_power",
    "multi_dot",
    "norm",
    "outer",
    "tensordot",
    "trace",
    "vector_norm",
]

Axes = tuple[int, ...]


def _squares(x: Any) -> Any:
    """|x|**2 as a real array."""
    if dtypes.kind(get_aval(x).dtype) == "c":
        return x.real * x.real + x.imag * x.imag
    return x * x


def _vector(x: Any, order: Any, axes: Axes, keepdims: bool) -> Array:
    def total(values: Any) -> Any:
        return sum_(values, axis=axes, keepdims=keepdims)

    if order is None or order == 2:
        return sqrt(total(_squares(x)))  # type: ignore[no-any-return]
    if order in (np.inf, -np.inf):
        extremum = max_ if order > 0 else min_
        return extremum(abs_(x), axis=axes, keepdims=keepdims)  # type: ignore[no-any-return]
    if order == 0:
        real = dtypes.to_real(get_aval(x).dtype)
        return total(convert(not_equal(x, 0), real))  # type: ignore[no-any-return]
    if order == 1:
        return total(abs_(x))  # type: ignore[no-any-return]
    if isinstance(order, str):
        raise ValueError(f"norm of vectors has no order {order!r}")
    return total(abs_(x) ** order) ** (1.0 / order)  # type: ignore[no-any-return]


def _matrix(x: Any, order: Any, axes: Axes, keepdims: bool) -> Array:
    if order is None or order in ("f", "fro"):
        return sqrt(sum_(_squares(x), axis=axes, keepdims=keepdims))  # type: ignore[no-any-return]
    if order not in (1, -1, np.inf, -np.inf):
        raise ValueError(f"norm of matrices has the orders 'fro', 1, -1, inf and -inf: not {order!r}")
    summed, compared = axes if abs(order) == 1 else axes[::-1]
    columns = sum_(abs_(x), axis=summed, keepdims=True)
    extremum = max_ if order > 0 else min_
    result: Array = extremum(columns, axis=compared, keepdims=True)
    return result if keepdims else squeeze(result, axes)


@composite(static_argnames=("ord", "axis", "keepdims"))
def norm(
    x: Any,
    ord: Any = None,  # noqa: A002
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Array:
    """The norm of vectors (along one axis) or matrices (over two); of all elements by default.

    Orders of vectors: a number p for sum(|x|**p)**(1/p), 2 by default; inf and -inf for the
    extrema of |x|; 0 for how many are not 0.  Of matrices: "fro" by default, 1 and -1 for the
    extrema of the columns' sums of |x|, inf and -inf for the rows'.  Raises ValueError for another
    order, ShapeError for more axes than two.

    >>> norm(asarray([3.0, 4.0]))
    Array(5., dtype=float32)
    """
    x, aval = operand("norm", x)
    (x,) = promote_inexact(x)
    if axis is None:
        if ord is None:
            return _vector(x, None, tuple(range(aval.ndim)), keepdims)
        axes = tuple(range(aval.ndim))
    else:
        axes = canonical_axes(axis, aval.ndim)
    if len(axes) == 1:
        return _vector(x, ord, axes, keepdims)
    if len(axes) != 2:
        raise ShapeError(f"norm is of one axis or two, and was asked for the axes {axes}")
    return _matrix(x, ord, axes, keepdims)


@composite(static_argnames=("ord", "axis", "keepdims"))
def vector_norm(
    x: Any,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: Any = 2,  # noqa: A002
) -> Array:
    """The norm of the vectors along one axis or several, of all elements by default; see `norm`."""
    x, aval = operand("vector_norm", x)
    (x,) = promote_inexact(x)
    axes = tuple(range(aval.ndim)) if axis is None else canonical_axes(axis, aval.ndim)
    return _vector(x, ord, axes, keepdims)


@composite(static_argnames=("ord", "keepdims"))
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:  # noqa: A002
    """The norm of the matrices in the last two axes; see `norm`."""
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))


def outer(x1: Any, x2: Any, /) -> Array:
    """The products of each element of the vector `x1` and each of the vector `x2`."""
    if len(shape_of(x1)) != 1 or len(shape_of(x2)) != 1:
        raise ShapeError(f"outer needs vectors, and got shapes {shape_of(x1)} and {shape_of(x2)}")
    return products.outer(x1, x2)  # type: ignore[no-any-return]


def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """The cross product of vectors of three elements along an axis."""
    sizes = {shape_of(x)[axis] for x in (x1, x2)}
    if sizes != {3}:
        raise ShapeError(f"cross needs 3 elements along axis {axis}, and got {sorted(sizes)}")
    return products.cross(x1, x2, axis=axis)  # type: ignore[no-any-return]


def tensordot(
    x1: Any, x2: Any, /, *, axes: Any = 2, precision: Any = None, preferred_element_type: Any = None
) -> Array:
    """The sums of products over axes of two arrays; see `numpy.tensordot`."""
    return products.tensordot(  # type: ignore[no-any-return]
        x1, x2, axes, precision=precision, preferred_element_type=preferred_element_type
    )


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of the diagonal `offset` of the matrices in the last two axes."""
    return triangles.trace(x, offset=offset, axis1=-2, axis2=-1, dtype=dtype)


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonal `offset` of the matrices in the last two axes."""
    return triangles.diagonal(x, offset=offset, axis1=-2, axis2=-1)


@composite(static_argnames=("n",))
def matrix_power(a: Any, n: int) -> Array:
    """The matrices `a`, square, multiplied with themselves `n` >= 0 times, by repeated squaring.

    Raises ShapeError for matrices that are not square, ValueError for a negative power.

    >>> matrix_power(asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    Array([[1., 3.],
           [0., 1.]], dtype=float32)
    """
    a, aval = operand("matrix_power", a)
    power = operator.index(n)
    if aval.ndim < 2 or aval.shape[-1] != aval.shape[-2]:
        raise ShapeError(f"matrix_power needs square matrices, and got {aval.long_name()}")
    if power < 0:
        raise ValueError(f"matrix_power needs a power >= 0, and got {power}: invert the matrix first")
    if power == 0:
        return broadcast_to(triangles.eye(aval.shape[-1], dtype=aval.dtype), aval.shape)
    result = None
    while power:
        if power & 1:
            result = a if result is None else products.matmul(result, a)
        power >>= 1
        if power:
            a = products.matmul(a, a)
    return asarray(result)


def _best_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each run of matrices, the i-th sizes[i] x sizes[i + 1], to multiply least."""
    count = len(sizes) - 1
    cost: dict[tuple[int, int], int] = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            costs = {
                k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            }
            split[i, j] = min(costs, key=costs.__getitem__)
            cost[i, j] = costs[split[i, j]]
    return split


def multi_dot(arrays: Sequence[Any], *, precision: Any = None) -> Array:
    """The product of matrices, in the order of fewest multiplications; the ends may be vectors.

    Raises ShapeError for fewer than two arrays.
    """
    given = [asarray(x) for x in arrays]
    if len(given) < 2:
        raise ShapeError(f"multi_dot needs two arrays or more, and got {len(given)}")
    if any(x.ndim != 2 for x in given[1:-1]) or any(x.ndim not in (1, 2) for x in given):
        raise ShapeError("multi_dot needs matrices, and at the ends matrices or vectors")
    first, last = given[0].ndim, given[-1].ndim
    if first == 1:
        given[0] = reshape(given[0], (1, -1))
    if last == 1:
        given[-1] = reshape(given[-1], (-1, 1))
    split = _best_splits([given[0].shape[0], *(x.shape[1] for x in given)])

    def product(i: int, j: int) -> Any:
        if i == j:
            return given[i]
        k = split[i, j]
        return products.matmul(product(i, k), product(k + 1, j), precision=precision)

    result: Array = product(0, len(given) - 1)
    kept = [n for n, ndim in zip(result.shape, (first, last), strict=True) if ndim == 2]
    return reshape(result, tuple(kept))
