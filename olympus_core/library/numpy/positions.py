"""numpy's argmax and argmin: an array enters, the positions of its extreme elements leave."""

from __future__ import annotations

import math
from typing import Any

from olympus_core import dtypes
from olympus_core.avals import ShapedArray
from olympus_core.errors import ShapeError
from olympus_core.library.composite import composite
from olympus_core.library.numpy import reductions
from olympus_core.library.numpy.axes import keep_dims, one_axis, operand, reject_out, scalar
from olympus_core.library.numpy.logic import equal, isnan
from olympus_core.library.numpy.operands import choose
from olympus_core.primitives.elementwise.conversion import imag_p, real_p
from olympus_core.primitives.elementwise.logic import and_p, ne_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.reduction import (
    ArgExtremum,
    argmax_p,
    argmin_p,
    reduce_and_p,
)
from olympus_core.primitives.shape import reshape_p

__all__ = ["argmax", "argmin", "nanargmax", "nanargmin"]


def argmax(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first greatest element along `axis`, or among all; NaN is the greatest.

    The result is of the default integer dtype.  Raises ShapeError for no elements.

    >>> argmax(array([1, 5, 5]))
    Array(1, dtype=int32)
    """
    reject_out("argmax", out)
    return _position(argmax_p, *operand("argmax", a), axis, bool(keepdims))


def _extremes(greatest: bool, z: Any, axis: int) -> Any:
    """Where the complex extremes along an axis are, in lexicographic order; nan is one."""
    worst = -math.inf if greatest else math.inf
    extreme = reductions.max if greatest else reductions.min
    real, imag = real_p.bind(z), imag_p.bind(z)
    best = equal(real, extreme(real, axis=axis, keepdims=True))
    imag = choose("argmax", best, imag, worst)
    best = and_p.bind(best, equal(imag, extreme(imag, axis=axis, keepdims=True)))
    nan = isnan(z)
    return choose("argmax", reductions.any(nan, axis=axis, keepdims=True), nan, best)


def argmin(a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None) -> Any:
    """The index of the first least element along `axis`, or among all; NaN is the least.

    The result is of the default integer dtype.  Raises ShapeError for no elements.
    """
    reject_out("argmin", out)
    return _position(argmin_p, *operand("argmin", a), axis, bool(keepdims))


def _position(
    primitive: ArgExtremum, a: Any, aval: ShapedArray, axis: int | None, keepdims: bool
) -> Any:
    length = aval.size if axis is None else aval.shape[one_axis(primitive.name, aval.ndim, axis)]
    if length == 0:
        raise ShapeError(f"{primitive} of no elements has no value: the shape is {aval.shape}")
    if axis is None:
        flat = aval.ndim == 1
        a = a if flat else reshape_p.bind(a, dimensions=None, new_sizes=(aval.size,))
        axes: tuple[int, ...] = tuple(range(aval.ndim))
        place = 0
    else:
        place = one_axis(primitive.name, aval.ndim, axis)
        axes = (place,)
    if dtypes.kind(aval.dtype) == "c":
        primitive, a = argmax_p, _extremes(primitive is argmax_p, a, place)
    found = primitive.bind(a, axes=(place,), index_dtype=dtypes.default_dtype("i"))
    return keep_dims(found, aval.shape, axes) if keepdims else found


@composite(static_argnames=("axis", "keepdims"))
def nanargmax(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """The index of the first greatest element that is not NaN; where all are NaN, -1."""
    return _without_nan(argmax_p, a, axis, out, keepdims)


@composite(static_argnames=("axis", "keepdims"))
def nanargmin(
    a: Any, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Any:
    """The index of the first least element that is not NaN; where all are NaN, -1."""
    return _without_nan(argmin_p, a, axis, out, keepdims)


def _without_nan(
    primitive: ArgExtremum, a: Any, axis: int | None, out: None, keepdims: bool | None
) -> Any:
    name = f"nan{primitive}"
    reject_out(name, out)
    a, aval = operand(name, a)
    if dtypes.kind(aval.dtype) not in "fc":
        return _position(primitive, a, aval, axis, bool(keepdims))
    is_nan = ne_p.bind(a, a)
    real = dtypes.to_real(aval.dtype)
    filled = select_n_p.bind(is_nan, a, scalar(primitive.identity(real), aval.dtype))
    found = _position(primitive, filled, aval, axis, bool(keepdims))
    axes = tuple(range(aval.ndim)) if axis is None else (one_axis(name, aval.ndim, axis),)
    nothing = reduce_and_p.bind(is_nan, axes=axes)
    if keepdims:
        nothing = keep_dims(nothing, aval.shape, axes)
    return select_n_p.bind(nothing, found, scalar(-1, found.dtype))
