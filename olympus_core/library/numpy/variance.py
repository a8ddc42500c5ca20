"""numpy's variance and standard deviation: an array enters, its spread over axes leaves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import ShapedArray
from olympus_core.dtypes import DType
from olympus_core.errors import DTypeError, TraceError
from olympus_core.library.composite import composite
from olympus_core.library.numpy.axes import (
    Axis,
    axis_tuple,
    keep_dims,
    mask,
    operand,
    reject_out,
    scalar,
)
from olympus_core.library.numpy.reductions import HALF, count_of, mean, sum
from olympus_core.library.promotion import convert, promote
from olympus_core.primitives.elementwise import (
    conj_p,
    div_p,
    gt_p,
    mul_p,
    real_p,
    select_n_p,
    sqrt_p,
    sub_p,
)
from olympus_core.primitives.shape import broadcast_in_dim_p
from olympus_core.tracer import Array

__all__ = ["std", "var"]

_mean = mean  # `var` has an argument of that name


def spread_dtypes(name: str, have: DType, dtype: Any) -> tuple[DType, DType]:
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


def squared(x: Any) -> Any:
    """The squared magnitudes of the elements."""
    if dtypes.kind(x.dtype) == "c":
        return real_p.bind(mul_p.bind(x, conj_p.bind(x)))
    return mul_p.bind(x, x)


def _centered(
    a: Any, aval: ShapedArray, axes: tuple[int, ...], where: Any, center: Any
) -> Any:
    """The elements less their mean, which is computed where it is not given."""
    if center is not None:
        return sub_p.bind(*promote("var", a, convert(center, a.dtype)))
    center = _mean(a, axes, where=where)
    kept = tuple([i for i in range(aval.ndim) if i not in axes])
    if kept:
        center = broadcast_in_dim_p.bind(center, shape=aval.shape, broadcast_dimensions=kept)
    return sub_p.bind(a, center)


def _correction(name: str, ddof: Any, correction: Any) -> Any:
    if correction is None:
        return ddof
    if not isinstance(ddof, int) or ddof != 0:
        raise TraceError(f"{name} takes one of ddof and correction, and got {ddof} and {correction}")
    return correction


def _var(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    correction: Any,
    keepdims: bool,
    where: Any,
    center: Any,
) -> Any:
    a, aval = operand(name, a)
    axes = axis_tuple(name, aval.ndim, axis)
    compute, result = spread_dtypes(name, aval.dtype, dtype)
    a = convert(a, compute) if aval.ndim else broadcast_in_dim_p.bind(
        convert(a, compute), shape=(), broadcast_dimensions=()
    )
    squares = squared(_centered(a, aval, axes, where, center))
    compute = squares.dtype
    total = sum(squares, axes, dtype=compute, where=where)
    if where is None and not isinstance(correction, Array):
        count = math.prod([aval.shape[i] for i in axes]) - correction
        out = div_p.bind(total, scalar(count if count > 0 else math.nan, compute))
    else:
        number = (
            scalar(math.prod([aval.shape[i] for i in axes]), compute)
            if where is None
            else count_of(mask(name, where, aval.shape), aval.shape, axes, compute)
        )
        number = sub_p.bind(number, convert(correction, compute))
        positive = gt_p.bind(number, scalar(0, compute))
        spread = div_p.bind(total, number)
        out = select_n_p.bind(positive, scalar(math.nan, compute), spread)
    if keepdims:
        out = keep_dims(out, aval.shape, axes)
    return convert(out, result)
