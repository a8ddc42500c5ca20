"""Reductions that ignore NaNs: `nansum`, `nanmax`, `nanmean` and the others."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import Axis, accepts_list_axis, axis_tuple, keep_dims
from olympus_core.library.composite import composite
from olympus_core.library.numpy.reductions import statistics, sums
from olympus_core.library.numpy.reductions.statistics import variance
from olympus_core.library.operands import mask, operand, reject_out, scalar
from olympus_core.library.promotion import promote
from olympus_core.primitives.elementwise.arithmetic import sqrt_p
from olympus_core.primitives.elementwise.logic import and_p, eq_p, not_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.reduction import Reduction, reduce_and_p, reduce_max_p, reduce_min_p

if TYPE_CHECKING:
    from olympus_core.library.signatures import ExtremumFunction, NanTotal, Total

_F = TypeVar("_F", bound=Callable[..., Array])
_STATIC = ("axis", "dtype", "ddof", "keepdims")


def _is_inexact(aval: ShapedArray) -> bool:
    return dtypes.kind(aval.dtype) in "fc"


def _filled(a: Any, aval: ShapedArray, value: Any) -> Any:
    """Return `a` with NaNs replaced by a value."""
    return select_n_p.bind(eq_p.bind(a, a), scalar(value, aval.dtype), a)


def _total(name: str, reduction: Total, neutral: int, printed: str) -> NanTotal:
    """Return a sum or product that ignores NaNs."""

    def total(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        a, aval = operand(name, a)
        if _is_inexact(aval):
            a = _filled(a, aval, neutral)
        return reduction(a, axis, dtype, out, keepdims, initial, where)

    return _documented(total, name, f"NaNs count as {neutral}.", printed)


def _extremum(
    name: str, reduction: ExtremumFunction, primitive: Reduction, printed: str
) -> ExtremumFunction:
    """Return an extremum that ignores NaNs; if all elements are NaN, it is NaN or `initial`."""

    def extremum(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        a, aval = operand(name, a)
        if not _is_inexact(aval):
            return reduction(a, axis, out, keepdims, initial, where)
        filled = _filled(a, aval, primitive.identity(aval.dtype))
        extreme = reduction(filled, axis, out, keepdims, initial, where)
        if initial is not None:
            return extreme
        axes = axis_tuple(name, aval.ndim, axis)
        number = reduce_and_p.bind(not_p.bind(eq_p.bind(a, a)), axes=axes)
        if keepdims:
            number = keep_dims(number, aval.shape, axes)
        result: Array = select_n_p.bind(number, extreme, scalar(math.nan, extreme.dtype))
        return result

    details = "Where all are NaN, so is the result without `initial`."
    return _documented(extremum, name, details, printed)


def _documented(function: _F, name: str, details: str, printed: str) -> _F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {name[3:]} over `axis` of the elements that are not NaN.  {details}

    The arguments are those of `{name[3:]}`.

    >>> {name}(asarray([[1.0, nan], [3.0, 4.0]]), axis=1)
    {printed}
    """
    static = [name for name in ("axis", "dtype", "keepdims") if name in function.__annotations__]
    return accepts_list_axis(composite(static_argnames=static)(function))


nansum = _total("nansum", sums.sum, 0, "Array([1., 7.], dtype=float32)")
nanprod = _total("nanprod", sums.prod, 1, "Array([ 1., 12.], dtype=float32)")
nanmax = _extremum("nanmax", sums.max, reduce_max_p, "Array([1., 4.], dtype=float32)")
nanmin = _extremum("nanmin", sums.min, reduce_min_p, "Array([1., 3.], dtype=float32)")


def _counted(name: str, a: Any, where: Any) -> Any:
    """Return the mask of the elements that count (in `where` and not NaN); None if all do."""
    a, aval = operand(name, a)
    if not _is_inexact(aval):
        return where
    number = eq_p.bind(a, a)
    if where is None:
        return number
    return and_p.bind(*promote(name, number, mask(name, where, aval.shape)))


@accepts_list_axis
@composite(static_argnames=("axis", "dtype", "keepdims"))
def nanmean(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    keepdims: bool = False,
    where: ArrayLike | None = None,
) -> Array:
    """Return the mean over `axis` of the elements that are not NaN; NaN if all are.

    The arguments are those of `mean`.

    >>> nanmean(asarray([[1.0, nan], [3.0, 4.0]]), axis=1)
    Array([1. , 3.5], dtype=float32)
    """
    reject_out("nanmean", out)
    where = _counted("nanmean", a, where)
    return statistics.mean(a, axis, dtype, None, keepdims, where=where)


@accepts_list_axis
@composite(static_argnames=_STATIC)
def nanvar(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the variance over `axis` of the elements that are not NaN; NaN if all are.

    The arguments are those of `var`.

    >>> nanvar(asarray([[1.0, nan], [3.0, 4.0]]), axis=1)
    Array([0.  , 0.25], dtype=float32)
    """
    where = _counted("nanvar", a, where)
    return variance("nanvar", a, axis, dtype, out, ddof, keepdims, where, mean)


@accepts_list_axis
@composite(static_argnames=_STATIC)
def nanstd(
    a: ArrayLike,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    out: None = None,
    ddof: int = 0,
    keepdims: bool = False,
    where: ArrayLike | None = None,
    mean: ArrayLike | None = None,
) -> Array:
    """Return the standard deviation over `axis` of the elements that are not NaN.

    The arguments are those of `std`.

    >>> nanstd(asarray([[1.0, nan], [3.0, 4.0]]), axis=1)
    Array([0. , 0.5], dtype=float32)
    """
    where = _counted("nanstd", a, where)
    return sqrt_p.bind(variance("nanstd", a, axis, dtype, out, ddof, keepdims, where, mean))
