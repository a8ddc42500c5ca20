"""numpy's variance and standard deviation: an array enters, its spread over axes leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.dtypes import DType
from olympus_core.errors import DTypeError, TraceError
from olympus_core.library.composite import composite
from olympus_core.library.numpy.axes import (
    Axis,
    axis_tuple,
    keep_dims,
    list_axis,
    mask,
    operand,
    reject_out,
    scalar,
)
from olympus_core.library.numpy.reductions import HALF, count_of, mean, sum
from olympus_core.library.promotion import convert, promote
from olympus_core.primitives.elementwise.arithmetic import (
    div_p,
    integer_pow_p,
    mul_p,
    sqrt_p,
    sub_p,
)
from olympus_core.primitives.elementwise.conversion import conj_p, real_p
from olympus_core.primitives.elementwise.logic import gt_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.tracer import Array

__all__ = ["std", "var", "variance"]

_mean = mean  # `var` has an argument of that name


def _dtypes(name: str, have: DType, dtype: Any) -> tuple[DType, DType]:
    """The dtype that a variance is computed in, and that of its result.

    Raises DTypeError for a real dtype and complex elements, or an integer dtype.
    """
    if dtype is None:
        compute = dtypes.to_inexact(have)
        result = dtypes.to_real(compute)
    else:
        compute = result = dtypes.canonicalize(dtype)
        if (dtypes.kind(have) == "c") > (dtypes.kind(compute) == "c"):
            raise DTypeError(f"{name} of complex elements cannot be of dtype {result}")
    return (np.dtype("float32") if compute in HALF else compute), result


def _squared(x: Any) -> Any:
    """The squared magnitudes of the elements."""
    if dtypes.kind(x.dtype) == "c":
        return real_p.bind(mul_p.bind(x, conj_p.bind(x)))
    return integer_pow_p.bind(x, y=2)


def _centered(a: Any, axes: tuple[int, ...], where: Any, center: Any) -> Any:
    """The elements less their mean, which is computed where it is not given."""
    if center is not None:
        return sub_p.bind(*promote("var", a, convert(center, a.dtype)))
    # as users write it, so that a mean of theirs is the same equation
    return sub_p.bind(*promote("var", a, _mean(a, axes, keepdims=True, where=where)))


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise TraceError(
            f"{name} takes one of ddof and correction, and got {ddof} and {correction}"
        )
    return correction


def _normalizer(
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    correction: Any,
    where: Any,
    dtype: DType,
) -> Any:
    """The number of elements less the correction; NaN where that is not positive."""
    size = math.prod([shape[i] for i in axes])
    if where is None and not isinstance(correction, Array):
        number = size - correction
        return scalar(number if number > 0 else math.nan, dtype)
    count = scalar(size, dtype) if where is None else count_of(where, shape, axes, dtype, False)
    number = sub_p.bind(count, convert(correction, dtype))
    positive = gt_p.bind(number, scalar(0, dtype))
    return select_n_p.bind(positive, scalar(math.nan, dtype), number)


def variance(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    correction: Any,
    keepdims: bool,
    where: Any,
    center: Any,
) -> Any:
    """The mean squared distance from `center`, from the mean where it is None."""
    a, aval = operand(name, a)
    axes = axis_tuple(name, aval.ndim, axis)
    compute, result = _dtypes(name, aval.dtype, dtype)
    if where is not None:
        where = mask(name, where, aval.shape)
    centered = _centered(convert(a, compute), axes, where, center)
    if where is not None:  # before the square: the derivative at a NaN left out is 0
        centered = select_n_p.bind(where, scalar(0, centered.dtype), centered)
    squares = _squared(centered)
    total = sum(squares, axes, dtype=squares.dtype)
    number = _normalizer(aval.shape, axes, correction, where, squares.dtype)
    out = div_p.bind(total, number)
    return convert(keep_dims(out, aval.shape, axes) if keepdims else out, result)


@list_axis
@composite(static_argnames=("axis", "dtype", "ddof", "keepdims"))
def var(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The variance over `axis` (all axes by default): the mean squared distance from the mean.

    The sum of squares is divided by the number of elements less `ddof` (or `correction`); where
    that is not positive, the result is NaN.  mean: used instead of the elements' own; it has the
    reduced axes, with size 1.  Integers become floats; half floats are computed in float32.

    Raises DTypeError for complex elements and a real dtype, ShapeError for a wrong axis.

    >>> var(array([1., 2., 3.]), ddof=1)
    Array(1., dtype=float32)
    """
    reject_out("var", out)
    correction = _correction("var", ddof, correction)
    return variance("var", a, axis, dtype, correction, keepdims, where, mean)


@list_axis
@composite(static_argnames=("axis", "dtype", "ddof", "keepdims"))
def std(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    *,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    """The standard deviation over `axis`: the square root of `var` with the same arguments."""
    reject_out("std", out)
    correction = _correction("std", ddof, correction)
    return sqrt_p.bind(variance("std", a, axis, dtype, correction, keepdims, where, mean))
