"""Norms of vectors and matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axes
from olympus_core.library.composite import composite
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.elementwise.logic import not_equal
from olympus_core.library.numpy.linalg.decompositions import svdvals
from olympus_core.library.numpy.manipulation.shapes import expand_dims, squeeze
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.sums import max as max_
from olympus_core.library.numpy.reductions.sums import min as min_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert, promote_inexact

Axes = tuple[int, ...]


def _squares(x: Any) -> Any:
    """Return |x|**2 as a real array."""
    if dtypes.kind(get_aval(x).dtype) == "c":
        return x.real * x.real + x.imag * x.imag
    return x * x


def _vector(x: Any, order: float | str | None, axes: Axes, keepdims: bool) -> Array:
    def total(values: Any) -> Array:
        return sum_(values, axis=axes, keepdims=keepdims)

    if order is None or order == 2:
        return sqrt(total(_squares(x)))
    if isinstance(order, str):
        raise ArgumentError(f"norm of vectors has no order {order!r}")
    if order in (np.inf, -np.inf):
        sizes = abs_(x)
        if order < 0:
            return min_(sizes, axis=axes, keepdims=keepdims)
        return max_(sizes, axis=axes, keepdims=keepdims, initial=0)
    if order == 0:
        real_dtype = dtypes.to_real(get_aval(x).dtype)
        return total(convert(not_equal(x, 0), real_dtype))
    if order == 1:
        return total(abs_(x))
    return total(abs_(x) ** order) ** (1.0 / order)


def _matrix(x: Any, order: Any, axes: Axes, keepdims: bool) -> Array:
    if order is None or order in ("f", "fro"):
        return sqrt(sum_(_squares(x), axis=axes, keepdims=keepdims))
    if order in ("nuc", 2, -2):
        result = _of_singular_values(x, order, axes)
        return expand_dims(result, axes) if keepdims else result
    if order not in (1, -1, np.inf, -np.inf):
        raise ArgumentError(
            f"norm of matrices has orders 'fro', 'nuc', 1, -1, 2, -2, inf, -inf, and not {order!r}"
        )
    summed, compared = axes if abs(order) == 1 else axes[::-1]
    columns = sum_(abs_(x), axis=summed, keepdims=True)
    if order > 0:
        result = max_(columns, axis=compared, keepdims=True, initial=0)
    else:
        result = min_(columns, axis=compared, keepdims=True)
    return result if keepdims else squeeze(result, axes)


def _of_singular_values(x: Any, order: Any, axes: Axes) -> Any:
    """Return the sum, the greatest or the least of the singular values."""
    s = svdvals(moveaxis(x, axes, (-2, -1)))
    if order == "nuc":
        return sum_(s, axis=-1)
    return max_(s, axis=-1, initial=0) if order == 2 else min_(s, axis=-1)


@composite(static_argnames=("ord", "axis", "keepdims"))
def norm(
    x: ArrayLike,
    ord: int | float | str | None = None,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
) -> Array:
    """Return the norm of vectors (one axis) or matrices (two axes); by default of all elements.

    Orders of vectors: a number p for sum(|x|**p)**(1/p), 2 by default; inf and -inf for the
    extrema of |x|; 0 for the number of nonzero elements.  Orders of matrices: "fro" by default, 1
    and -1 for the extrema of the columns' sums of |x|, inf and -inf for the rows'; 2 and -2 for the
    extrema of the singular values, "nuc" for their sum.  Raises ArgumentError for another order,
    ShapeError for more axes than two.

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
        raise ShapeError(f"norm needs one axis or two, and got the axes {axes}")
    return _matrix(x, ord, axes, keepdims)


@composite(static_argnames=("ord", "axis", "keepdims"))
def vector_norm(
    x: ArrayLike,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: int | float | str | None = 2,
) -> Array:
    """Return the norm of vectors along one axis or several, by default all; see `norm`.

    >>> vector_norm(asarray([[3.0, 0.0], [4.0, 0.0]]))
    Array(5., dtype=float32)
    """
    x, aval = operand("vector_norm", x)
    (x,) = promote_inexact(x)
    axes = tuple(range(aval.ndim)) if axis is None else canonical_axes(axis, aval.ndim)
    return _vector(x, ord, axes, keepdims)


@composite(static_argnames=("ord", "keepdims"))
def matrix_norm(
    x: ArrayLike, /, *, keepdims: bool = False, ord: int | float | str | None = "fro"
) -> Array:
    """Return the norm of the matrices in the last two axes; see `norm`.

    >>> matrix_norm(asarray([[3.0, 0.0], [4.0, 0.0]]))
    Array(5., dtype=float32)
    """
    return norm(x, ord=ord, keepdims=keepdims, axis=(-2, -1))
