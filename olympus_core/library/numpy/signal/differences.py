"""Differences, gradients and integrals along an axis: `diff`, `gradient`, `trapezoid`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.slicing import slice_in_dim
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.logic import not_equal
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, ravel
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.operands import operand
from olympus_core.library.promotion import check_arrays, convert, promote_inexact


@composite(static_argnames=("n", "axis"))
def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Return the differences of neighbours along an axis, `n` times; for bools, `not_equal`.

    `prepend` and `append` are values added before and after the array first.  Raises ArgumentError
    for a negative `n`, ShapeError for a scalar.

    >>> diff(asarray([1, 4, 9]))
    Array([3, 5], dtype=int32)
    """
    x, aval = operand("diff", a)
    if n < 0:
        raise ArgumentError(f"diff needs n of 0 or more, and got {n}")
    if not aval.ndim:
        raise ShapeError("diff needs an array with dimensions, and got a scalar")
    place = canonical_axis(axis, aval.ndim)
    if n == 0:
        return asarray(x)
    edges = [_edge(e, aval.shape, place) for e in (prepend, append)]
    if prepend is not None or append is not None:
        x = concatenate([e for e in (edges[0], x, edges[1]) if e is not None], place)
    differ = get_aval(x).dtype == dtypes.bool_
    for _ in range(n):
        length = shape_of(x)[place]
        if not length:
            break
        high, low = slice_in_dim(x, 1, None, axis=place), slice_in_dim(x, 0, length - 1, axis=place)
        x = not_equal(high, low) if differ else high - low
    return asarray(x)


def _edge(value: Any, shape: tuple[int, ...], axis: int) -> Any:
    if value is None or shape_of(value):
        return value
    return broadcast_to(value, (*shape[:axis], 1, *shape[axis + 1 :]))


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Return the differences of neighbours in the flattened array, between `to_begin` and `to_end`.

    >>> ediff1d(asarray([1, 2, 4]))
    Array([1, 2], dtype=int32)
    """
    check_arrays("ediff1d", ary)
    steps = diff(ravel(ary))
    ends = (None if e is None else convert(ravel(e), steps.dtype) for e in (to_begin, to_end))
    first, last = ends
    pieces = [piece for piece in (first, steps, last) if piece is not None]
    return concatenate(pieces) if len(pieces) > 1 else steps


def _slope(y: Array, axis: int, spacing: Any) -> Array:
    """Return central differences inside, and one-sided ones at the ends."""
    length = y.shape[axis]

    def part(start: int, stop: int) -> Array:
        return slice_in_dim(y, start, stop, axis=axis)

    if not shape_of(spacing):
        inner = (part(2, length) - part(0, length - 2)) * 0.5 / spacing
        before = after = spacing
    else:
        steps = diff(spacing)
        shape = tuple([-1 if i == axis else 1 for i in range(y.ndim)])
        left, right = (steps[s].reshape(shape) for s in (slice(None, -1), slice(1, None)))
        inner = (
            -right / (left * (left + right)) * part(0, length - 2)
            + (right - left) / (left * right) * part(1, length - 1)
            + left / (right * (left + right)) * part(2, length)
        )
        before, after = steps[0], steps[-1]
    first = (part(1, 2) - part(0, 1)) / before
    last = (part(length - 1, length) - part(length - 2, length - 1)) / after
    return concatenate([first, inner, last], axis)


@overload
def gradient(
    f: ArrayLike, *varargs: ArrayLike, axis: int, edge_order: int | None = None
) -> Array: ...


@overload
def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Array | list[Array]: ...


def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Array | list[Array]:
    """Return the slope of samples along each axis (or `axis`): an array, or a list for several.

    `varargs` has the distance of the samples, one for all axes or for each, or their coordinates.
    Raises ShapeError for fewer than two samples, UnsupportedError for an `edge_order` other than 1.

    >>> gradient(asarray([1.0, 2.0, 4.0]))
    Array([1. , 1.5, 2. ], dtype=float32)
    """
    if edge_order not in (None, 1):
        raise UnsupportedError(
            f"The 'edge_order' argument to gradient is not supported: it is 1, and not {edge_order}"
        )
    f, aval = operand("gradient", f)
    check_arrays("gradient", *varargs)
    f, *distances = promote_inexact(f, *varargs)
    axes = tuple(range(aval.ndim)) if axis is None else canonical_axes(axis, aval.ndim)
    spacings = distances or [1.0]
    if len(spacings) == 1 and not shape_of(spacings[0]):
        spacings *= len(axes)
    if len(spacings) != len(axes):
        raise ShapeError(f"gradient got {len(spacings)} distances for {len(axes)} axes")
    for i, spacing in zip(axes, spacings, strict=True):
        if aval.shape[i] < 2:
            raise ShapeError(f"gradient needs two samples along axis {i}, and got {aval.shape[i]}")
        if shape_of(spacing) not in ((), (aval.shape[i],)):
            raise ShapeError(f"gradient needs {aval.shape[i]} coordinates along axis {i}")
    slopes = [_slope(asarray(f), i, s) for i, s in zip(axes, spacings, strict=True)]
    return slopes[0] if len(axes) == 1 else slopes


@composite(static_argnames=("axis",))
def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Return the integral of samples along an axis, by the trapezoidal rule.

    The samples are `dx` apart, or at the coordinates `x`.

    >>> trapezoid(asarray([1.0, 2.0, 3.0]))
    Array(4., dtype=float32)
    """
    if x is None:
        (y,) = promote_inexact(operand("trapezoid", y)[0])
        widths = dx
        y = moveaxis(y, axis, -1)
    else:
        y, x = promote_inexact(operand("trapezoid", y)[0], operand("trapezoid", x)[0])
        y = moveaxis(y, axis, -1)
        widths = diff(x) if len(shape_of(x)) == 1 else moveaxis(diff(x, axis=axis), axis, -1)
    return 0.5 * sum_(widths * (y[..., 1:] + y[..., :-1]), axis=-1)
