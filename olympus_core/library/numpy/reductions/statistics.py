"""Averages and variances over axes: `mean`, `average`, `ptp`, `var`, `std`."""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim, known_at_least
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import Axis, accepts_list_axis, axis_tuple, keep_dims
from olympus_core.library.composite import composite
from olympus_core.library.numpy.reductions.sums import HALF, SUM, max, min, reduce_axes, sum
from olympus_core.library.operands import mask, operand, reject_out, scalar
from olympus_core.library.promotion import broadcast_to, convert, promote, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import (
    div_p,
    mul_p,
    sqrt_p,
    square_p,
    sub_p,
)
from olympus_core.primitives.elementwise.conversion import conj_p, real_p
from olympus_core.primitives.elementwise.logic import gt_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.shape import reshape_p

_F32 = np.dtype("float32")


def mean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
) -> Array:
    """Return the arithmetic mean over `axis` (all axes by default).

    Integers and bools become floats; half floats are summed in float32.  The mean over no elements
    is NaN.

    >>> mean(array([1, 2, 4]))
    Array(2.3333333, dtype=float32)
    """
    a, aval = operand("mean", a)
    if out is not None:
        reject_out("mean", out)
    result = dtypes.requested("mean", dtype, dtypes.to_inexact(aval.dtype))
    compute = _F32 if result in HALF else result
    axes = axis_tuple("mean", aval.ndim, axis)
    total = reduce_axes(SUM, a, aval, axes, compute, keepdims, None, where)
    if where is None:
        count = 1
        for i in axes:
            count *= aval.shape[i]
        divisor = scalar(count, compute)
    else:
        divisor = count_of(mask("mean", where, aval.shape), aval.shape, axes, compute, keepdims)
    total = div_p.bind(total, divisor)
    return total if compute == result else convert(total, result)


def count_of(
    where: Any, shape: tuple[int, ...], axes: tuple[int, ...], dtype: DType, keepdims: bool
) -> Any:
    """Return the number of elements over `axes` that a mask at `shape` selects."""
    where, aval = operand("mean", where)
    if not aval.shape:
        size = 1
        for i in axes:
            size *= shape[i]
        return mul_p.bind(convert(where, dtype), scalar(size, dtype))
    return reduce_axes(SUM, where, aval, axes, dtype, keepdims)


def ptp(a: ArrayLike, axis: Axis = None, out: None = None, keepdims: bool = False) -> Array:
    """Return the range of the elements over `axis`: the greatest minus the least.

    Raises ShapeError if no element is reduced.

    >>> ptp(asarray([1, 7, 3]))
    Array(6, dtype=int32)
    """
    reject_out("ptp", out)
    return sub_p.bind(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: Literal[False] = False,
    keepdims: bool = False,
) -> Array: ...


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    *,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...


@overload
def average(
    a: ArrayLike,
    axis: Axis,
    weights: ArrayLike | None,
    returned: Literal[True],
    keepdims: bool = False,
) -> tuple[Array, Array]: ...


@overload
def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]: ...


def average(
    a: ArrayLike,
    axis: Axis = None,
    weights: ArrayLike | None = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Array | tuple[Array, Array]:
    """Return the mean over `axis`, weighted by `weights`; with `returned`, (mean, weights' sum).

    weights: an array of the shape of `a`, or of the sizes of the axes that `axis` names.

    Raises ShapeError for weights of another shape.

    >>> average(asarray([1.0, 2.0]), weights=asarray([3.0, 1.0]))
    Array(1.25, dtype=float32)
    """
    a, aval = operand("average", a)
    axes = axis_tuple("average", aval.ndim, axis)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        count = math.prod([aval.shape[i] for i in axes])
        total = scalar(count, result.dtype)
    else:
        weights = _weights_at(operand("average", weights)[0], aval, axis, axes)
        a, weights = promote_inexact(a, weights)
        total = sum(weights, axis, keepdims=keepdims)
        products = mul_p.bind(*promote("average", a, weights))
        result = div_p.bind(*promote("average", sum(products, axis, keepdims=keepdims), total))
    return (result, broadcast_to(total, result.shape)) if returned else result


def _weights_at(weights: Any, aval: ShapedArray, axis: Axis, axes: tuple[int, ...]) -> Any:
    """Return weights of axes, in the order named, as an array that broadcasts to `aval.shape`."""
    have = shape_of(weights)
    if have == aval.shape:
        return weights
    axis_sizes = tuple([aval.shape[i] for i in axes])
    if axis is None or have != axis_sizes:
        raise ShapeError(
            f"average needs weights of shape {aval.shape} or {axis_sizes}, and got {have}"
        )
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    sizes = tuple([n if i in axes else 1 for i, n in enumerate(aval.shape)])
    return reshape_p.bind(weights, dimensions=order, new_sizes=sizes)


_mean = mean  # `var` has an argument of that name


def _dtypes(name: str, have: DType, dtype: Any) -> tuple[DType, DType]:
    """Return the dtype that a variance is computed in, and the dtype of its result.

    Raises DTypeError for a real dtype and complex elements, or an integer dtype.
    """
    if dtype is None:
        compute = dtypes.to_inexact(have)
        result = dtypes.to_real(compute)
    else:
        compute = result = dtypes.requested(name, dtype)
        if (dtypes.kind(have) == "c") > (dtypes.kind(compute) == "c"):
            raise DTypeError(f"{name} of complex elements cannot have dtype {result}")
    return (np.dtype("float32") if compute in HALF else compute), result


def _squared(x: Any) -> Any:
    """Return the squared magnitudes of the elements."""
    if dtypes.kind(x.dtype) == "c":
        return real_p.bind(mul_p.bind(x, conj_p.bind(x)))
    return square_p.bind(x)


def _centered(a: Any, axes: tuple[int, ...], where: Any, center: Any) -> Any:
    """Return the elements minus their mean, which is computed unless it is given."""
    if center is not None:
        return sub_p.bind(*promote("var", a, convert(center, a.dtype)))
    # like a user's expression, so that a user's mean is the same equation
    return sub_p.bind(*promote("var", a, _mean(a, axes, keepdims=True, where=where)))


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise ArgumentError(
            f"ddof and correction can't be provided simultaneously: {name} takes one of them, and "
            f"got {ddof} and {correction}"
        )
    return correction


def _normalizer(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    correction: Any,
    where: Any,
    dtype: DType,
) -> Any:
    """Return the number of elements minus the correction; NaN if that is not positive."""
    size = math.prod([shape[i] for i in axes])
    is_known = not isinstance(correction, Array)
    if is_symbolic_dim(size):
        is_known = isinstance(correction, int) and known_at_least(size, correction + 1)
    if where is None and is_known:
        number = size - correction
        return scalar(number if number > 0 else math.nan, dtype)
    count = scalar(size, dtype) if where is None else count_of(where, shape, axes, dtype, False)
    number = sub_p.bind(count, convert(correction, dtype))
    positive = gt_p.bind(number, scalar(0, dtype))
    return select_n_p.bind(positive, scalar(math.nan, dtype), number)


def variance(
    name: str,
    a: ArrayLike,
    axis: Axis,
    dtype: DTypeLike | None,
    out: None,
    ddof: int,
    keepdims: bool,
    where: ArrayLike | None,
    mean: ArrayLike | None,
    correction: ArrayLike | None = None,
) -> Array:
    """Compute `var` for the function `name`, which has these arguments."""
    reject_out(name, out)
    correction = _correction(name, ddof, correction)
    a, aval = operand(name, a)
    axes = axis_tuple(name, aval.ndim, axis)
    compute, result = _dtypes(name, aval.dtype, dtype)
    if where is not None:
        where = mask(name, where, aval.shape)
    centered = _centered(convert(a, compute), axes, where, mean)
    if where is not None:  # before the square: the derivative at an ignored NaN is 0
        centered = select_n_p.bind(where, scalar(0, centered.dtype), centered)
    squares = _squared(centered)
    total = sum(squares, axes, dtype=squares.dtype)
    number = _normalizer(aval.shape, axes, correction, where, squares.dtype)
    mean_square = div_p.bind(total, number)
    return convert(keep_dims(mean_square, aval.shape, axes) if keepdims else mean_square, result)


@accepts_list_axis
@composite(static_argnames=("axis", "dtype", "ddof", "keepdims"))
def var(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: ArrayLike | None = None,
) -> Array:
    """Return the variance over `axis` (all axes by default): the mean squared distance to the mean.

    The sum of squares is divided by the number of elements minus `ddof` (or `correction`); if that
    is not positive, the result is NaN.  mean: used instead of the elements' own; it has the
    reduced axes, with size 1.  Integers become floats; half floats are computed in float32.

    Raises DTypeError for complex elements and a real dtype, ShapeError for a wrong axis.

    >>> var(array([1., 2., 3.]), ddof=1)
    Array(1., dtype=float32)
    """
    return variance("var", a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@accepts_list_axis
@composite(static_argnames=("axis", "dtype", "ddof", "keepdims"))
def std(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
    correction: ArrayLike | None = None,
) -> Array:
    """The standard deviation over `axis`: the square root of `var` with the same arguments.

    >>> std(asarray([1.0, 3.0]))
    Array(1., dtype=float32)
    """
    if dtype is not None and dtypes.kind(dtypes.canonicalize(dtype)) not in "fc":
        raise DTypeError(
            f"dtype argument to jnp.std must be inexact; got {dtypes.canonicalize(dtype)}"
        )
    squared = variance("std", a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    return sqrt_p.bind(squared)
