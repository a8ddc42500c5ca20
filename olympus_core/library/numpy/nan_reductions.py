"""numpy's reductions that leave NaNs out: an array enters, an array without some axes leaves."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from olympus_core import dtypes
from olympus_core.avals import ShapedArray
from olympus_core.dtypes import DType
from olympus_core.library.composite import composite
from olympus_core.library.numpy import reductions
from olympus_core.library.numpy.axes import (
    Axis,
    axis_tuple,
    keep_dims,
    mask,
    operand,
    reject_out,
    scalar,
)
from olympus_core.library.numpy.operands import choose
from olympus_core.library.numpy.variance import spread_dtypes, squared
from olympus_core.library.promotion import convert, promote
from olympus_core.primitives.elementwise import (
    and_p,
    div_p,
    eq_p,
    gt_p,
    not_p,
    select_n_p,
    sqrt_p,
    sub_p,
)
from olympus_core.primitives.reduction import Reduction, reduce_and_p, reduce_max_p, reduce_min_p

__all__ = ["nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar"]

_STATIC = ("axis", "dtype", "ddof", "keepdims")


def _is_inexact(aval: ShapedArray) -> bool:
    return dtypes.kind(aval.dtype) in "fc"


def _filled(a: Any, aval: ShapedArray, value: Any) -> Any:
    """`a` with a value in the place of NaNs."""
    return select_n_p.bind(eq_p.bind(a, a), scalar(value, aval.dtype), a)


def _total(name: str, reduction: Callable[..., Any], neutral: int) -> Callable[..., Any]:
    """A sum or product to which a NaN adds nothing."""

    def total(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        a, aval = operand(name, a)
        if _is_inexact(aval):
            a = _filled(a, aval, neutral)
        return reduction(a, axis, dtype, out, keepdims, initial, where)

    return _documented(total, name, f"NaNs count as {neutral}.")


def _extremum(name: str, reduction: Callable[..., Any], primitive: Reduction) -> Callable[..., Any]:
    """An extreme element of those that are not NaN; NaN where all are."""

    def extremum(
        a: Any,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        a, aval = operand(name, a)
        if not _is_inexact(aval):
            return reduction(a, axis, out, keepdims, initial, where)
        filled = _filled(a, aval, primitive.identity(aval.dtype))
        found = reduction(filled, axis, out, keepdims, initial, where)
        axes = axis_tuple(name, aval.ndim, axis)
        number = reduce_and_p.bind(not_p.bind(eq_p.bind(a, a)), axes=axes)
        if keepdims:
            number = keep_dims(number, aval.shape, axes)
        return select_n_p.bind(number, found, scalar(math.nan, found.dtype))

    return _documented(extremum, name, "Where all elements are NaN, so is the result.")


def _documented(function: Any, name: str, more: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {name[3:]} over `axis` of the elements that are not NaN.  {more}

    The arguments are those of `{name[3:]}`.
    """
    static = [name for name in ("axis", "dtype", "keepdims") if name in function.__annotations__]
    result: Callable[..., Any] = composite(static_argnames=static)(function)
    return result


nansum = _total("nansum", reductions.sum, 0)
nanprod = _total("nanprod", reductions.prod, 1)
nanmax = _extremum("nanmax", reductions.max, reduce_max_p)
nanmin = _extremum("nanmin", reductions.min, reduce_min_p)


def _valid(name: str, a: Any, aval: ShapedArray, where: Any) -> Any:
    """Which elements count: those that are not NaN, and that `where` lets through."""
    valid = eq_p.bind(a, a)
    if where is None:
        return valid
    return and_p.bind(*promote(name, valid, mask(name, where, aval.shape)))


@composite(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    where: Any = None,
) -> Any:
    """The mean over `axis` of the elements that are not NaN; NaN where there are none.

    The arguments are those of `mean`.
    """
    reject_out("nanmean", out)
    a, aval = operand("nanmean", a)
    if not _is_inexact(aval):
        return reductions.mean(a, axis, dtype, None, keepdims, where=where)
    return reductions.mean(a, axis, dtype, None, keepdims, where=_valid("nanmean", a, aval, where))


def _nanvar(
    name: str,
    a: Any,
    axis: Axis,
    dtype: Any,
    ddof: Any,
    keepdims: bool,
    where: Any,
    mean: Any,
) -> Any:
    a, aval = operand(name, a)
    axes = axis_tuple(name, aval.ndim, axis)
    compute, result = spread_dtypes(name, aval.dtype, dtype)
    a = convert(a, compute)
    valid = _valid(name, a, aval, where)
    if mean is None:
        mean = reductions.mean(a, axes, keepdims=True, where=valid)
    centered = sub_p.bind(*promote(name, a, convert(mean, compute)))
    squares = squared(select_n_p.bind(valid, scalar(0, compute), centered))
    total = reductions.sum(squares, axes, dtype=squares.dtype, keepdims=keepdims)
    number = _number(valid, axes, squares.dtype, keepdims, ddof)
    return convert(div_p.bind(total, number), result)


def _number(valid: Any, axes: tuple[int, ...], dtype: DType, keepdims: bool, ddof: Any) -> Any:
    """How many elements count, less `ddof`; NaN where that is not positive."""
    count = reductions.sum(valid, axes, dtype=dtype, keepdims=keepdims)
    number = sub_p.bind(count, convert(ddof, dtype))
    return choose("nanvar", gt_p.bind(number, scalar(0, dtype)), number, scalar(math.nan, dtype))


@composite(static_argnames=_STATIC)
def nanvar(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The variance over `axis` of the elements that are not NaN.

    The arguments are those of `var`.
    """
    reject_out("nanvar", out)
    return _nanvar("nanvar", a, axis, dtype, ddof, keepdims, where, mean)


@composite(static_argnames=_STATIC)
def nanstd(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: Any = None,
    mean: Any = None,
) -> Any:
    """The standard deviation over `axis` of the elements that are not NaN.

    The arguments are those of `std`.
    """
    reject_out("nanstd", out)
    return sqrt_p.bind(_nanvar("nanstd", a, axis, dtype, ddof, keepdims, where, mean))
