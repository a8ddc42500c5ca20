"""Interpolation between points (`interp`), and angles without jumps (`unwrap`)."""

from __future__ import annotations

import math
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.slicing import slice_in_dim
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import clip, divide, floor_divide, remainder
from olympus_core.library.numpy.elementwise.logic import less_equal, logical_and
from olympus_core.library.numpy.indexing.reading import getitem
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.reductions.cumulative import cumsum
from olympus_core.library.numpy.signal.differences import diff
from olympus_core.library.numpy.sorting.searching import searchsorted
from olympus_core.library.numpy.sorting.sorting import argsort
from olympus_core.library.operands import choose, operand
from olympus_core.library.promotion import check_arrays, convert, promote_inexact


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Return the values at `x` of the line through the points (xp, fp), where `xp` increases.

    `left` and `right` are the values outside: by default the first and last value, or for
    "extrapolate" those on the outer lines.  With `period`, `xp` is in any order, and `x` is
    periodic.

    >>> interp(1.5, asarray([1.0, 2.0]), asarray([10.0, 20.0]))
    Array(15., dtype=float32)
    """
    check_arrays("interp", x, xp, fp)
    if len(shape_of(xp)) != 1 or shape_of(xp) != shape_of(fp):
        raise ShapeError(
            f"interp needs points in two vectors, and got shapes {shape_of(xp)} and {shape_of(fp)}"
        )
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ArgumentError(f"interp takes {name} 'extrapolate' or a value, and got {value!r}")
    if period is not None and dtypes.kind(get_aval(period).dtype) == "c":
        raise DTypeError("interp needs a real period")
    extrapolate = isinstance(left, str), isinstance(right, str)
    before, after = (None if isinstance(v, str) else v for v in (left, right))
    return _interp(x, xp, fp, before, after, period, extrapolate=extrapolate)


@composite(static_argnames=("extrapolate",))
def _interp(
    x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, *, extrapolate: tuple[bool, bool]
) -> Array:
    x, xp = promote_inexact(x, xp)
    (fp,) = promote_inexact(fp)
    if period is not None:
        x, xp, fp = _periodic(x, xp, fp, abs_(period))
    i = clip(searchsorted(xp, x, side="right"), 1, shape_of(xp)[0] - 1)
    low, high = (getitem(fp, k) for k in (i - 1, i))
    start = getitem(xp, i - 1)
    gap = getitem(xp, i) - start
    # two points with one coordinate: use the first, and do not divide by their distance
    flat = less_equal(abs_(gap), float(dtypes.finfo(gap.dtype).eps) ** 2)
    slope = (x - start) / choose("interp", flat, 1, gap)
    result = choose("interp", flat, low, low + slope * (high - low))
    if period is None:
        if not extrapolate[0]:
            result = choose("interp", x < xp[0], fp[0] if left is None else left, result)
        if not extrapolate[1]:
            result = choose("interp", x > xp[-1], fp[-1] if right is None else right, result)
    return result


def _periodic(x: Any, xp: Any, fp: Any, period: Any) -> tuple[Any, Any, Any]:
    """Return the points of one period in order, with their neighbours on both sides."""
    x, xp = remainder(x, period), remainder(xp, period)
    order = argsort(xp)
    xp, fp = getitem(xp, order), getitem(fp, order)
    xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
    return x, xp, concatenate([fp[-1:], fp, fp[:1]])


@composite(static_argnames=("axis",))
def unwrap(
    p: ArrayLike, discont: ArrayLike | None = None, axis: int = -1, period: ArrayLike = 2 * math.pi
) -> Array:
    """Return angles along an axis without jumps: neighbours differ by at most half a `period`.

    With `discont`, jumps below it remain.

    >>> unwrap(asarray([0.0, 6.0]))
    Array([ 0.        , -0.28318548], dtype=float32)
    """
    x, aval = operand("unwrap", p)
    if dtypes.kind(aval.dtype) == "c":
        raise DTypeError("unwrap needs real angles, and got complex values")
    is_integer = dtypes.kind(get_aval(period).dtype) in "iu" and dtypes.kind(aval.dtype) in "iu"
    if not is_integer and dtypes.kind(aval.dtype) in "biu":
        x = convert(x, dtypes.default_dtype("f"))
    place = canonical_axis(axis, aval.ndim)
    if aval.shape[place] == 0:
        return asarray(x)
    steps = diff(x, axis=place)
    half = floor_divide(period, 2) if is_integer else divide(period, 2)
    near = remainder(steps + half, period) - half
    # half a period: in the direction of the step (an odd whole period has no such step)
    tied = logical_and(near == -half, steps > 0)
    near = choose("unwrap", logical_and(tied, period == 2 * half), half, near)
    limit = divide(period, 2) if discont is None else discont
    turns = choose("unwrap", abs_(steps) < limit, 0, near - steps)
    first = slice_in_dim(x, 0, 1, axis=place)
    unwrapped = slice_in_dim(x, 1, None, axis=place) + cumsum(turns, axis=place)
    return concatenate([first, unwrapped], place)
