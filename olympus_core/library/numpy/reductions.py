"""numpy's reductions: an array and axes enter, an array without these axes leaves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import ShapedArray, shape_of
from olympus_core.dtypes import DType
from olympus_core.errors import ShapeError
from olympus_core.library.numpy.axes import (
    Axis,
    axis_tuple,
    keep_dims,
    mask,
    operand,
    reject_out,
    scalar,
    wide_integer,
)
from olympus_core.library.promotion import broadcast_to, convert, promote, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import add_p, div_p, max_p, min_p, mul_p, sub_p
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.conversion import convert_element_type_p
from olympus_core.primitives.elementwise.logic import and_p, ne_p, or_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.reduction import (
    Reduction,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_prod_p,
    reduce_sum_p,
)
from olympus_core.primitives.shape import reshape_p
from olympus_core.tracer import Array

__all__ = [
    "all",
    "amax",
    "amin",
    "any",
    "average",
    "count_nonzero",
    "max",
    "mean",
    "min",
    "prod",
    "ptp",
    "sum",
]

#: dtypes that are summed in float32
HALF = frozenset({np.dtype("float16"), dtypes.bfloat16})
_F32 = np.dtype("float32")


class _Rule(NamedTuple):
    """A reduction: its primitive, the operation on two values, and the same for bools."""

    name: str
    primitive: Reduction
    combine: Any
    on_bools: tuple[Reduction, Any]
    has_identity: bool = True
    upcast: bool = False  # half floats are summed in float32


_SUM = _Rule("sum", reduce_sum_p, add_p, (reduce_or_p, or_p), upcast=True)
_PROD = _Rule("prod", reduce_prod_p, mul_p, (reduce_and_p, and_p), upcast=True)
_MAX = _Rule("max", reduce_max_p, max_p, (reduce_max_p, max_p), has_identity=False)
_MIN = _Rule("min", reduce_min_p, min_p, (reduce_min_p, min_p), has_identity=False)
_ALL = _Rule("all", reduce_and_p, and_p, (reduce_and_p, and_p))
_ANY = _Rule("any", reduce_or_p, or_p, (reduce_or_p, or_p))


def _reduce(
    rule: _Rule,
    a: Any,
    aval: ShapedArray,
    axes: tuple[int, ...],
    dtype: DType,
    keepdims: bool,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Reduce `a` in `dtype`; the result is of that dtype, and not weak."""
    compute = _F32 if rule.upcast and dtype in HALF else dtype
    if aval.dtype != compute or (aval.weak_type and not axes):
        a = convert_element_type_p.bind(a, new_dtype=compute, weak_type=False)
    primitive, combine = rule[1:3] if compute != BOOL else rule.on_bools
    shape = aval.shape
    if where is not None or not rule.has_identity:
        a, shape = _prepare(rule, primitive, a, shape, axes, compute, initial, where)
    if axes or not isinstance(a, Array):
        a = primitive.bind(a, axes=axes)
    if initial is not None:
        a = combine.bind(convert(initial, compute), a)
    if keepdims:
        a = keep_dims(a, shape, axes)
    if compute != dtype or (aval.weak_type and axes and aval.dtype == compute):
        a = convert_element_type_p.bind(a, new_dtype=dtype, weak_type=False)
    return a


def _prepare(
    rule: _Rule,
    primitive: Reduction,
    a: Any,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    dtype: DType,
    initial: Any,
    where: Any,
) -> tuple[Any, tuple[int, ...]]:
    """The operand with what `where` leaves out replaced by the identity."""
    if initial is None and not rule.has_identity:
        if where is not None:
            raise ShapeError(f"{rule.name} with where needs initial: {rule.name} has no identity")
        for i in axes:
            if shape[i] == 0:
                raise ShapeError(f"{rule.name} of no elements has no value: the shape is {shape}")
    if where is None:
        return a, shape
    neutral = scalar(primitive.identity(dtype), dtype)
    return select_n_p.bind(mask(rule.name, where, shape), neutral, a), shape


def _total(rule: _Rule) -> Callable[..., Any]:
    """A reduction that widens integers, and takes a dtype."""

    def total(
        a: Any,
        axis: Axis = None,
        dtype: Any = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
        promote_integers: bool = True,
    ) -> Any:
        name = rule.name
        a, aval = operand(name, a)
        if out is not None:
            reject_out(name, out)
        if dtype is not None:
            wide = dtypes.canonicalize(dtype)
        else:
            wide = wide_integer(aval.dtype) if promote_integers else aval.dtype
        axes = axis_tuple(name, aval.ndim, axis)
        return _reduce(rule, a, aval, axes, wide, keepdims, initial, where)

    return _documented(total, rule.name, "dtype: of the result; integers widen by default.")


def _extremum(rule: _Rule, name: str) -> Callable[..., Any]:
    """A reduction that keeps the dtype, and has no value for no elements."""

    def extremum(
        a: Any,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = None,
    ) -> Any:
        a, aval = operand(name, a)
        if out is not None:
            reject_out(name, out)
        axes = axis_tuple(name, aval.ndim, axis)
        return _reduce(rule, a, aval, axes, aval.dtype, keepdims, initial, where)

    return _documented(extremum, name, "A NaN counts as the result.")


def _logical(rule: _Rule) -> Callable[..., Any]:
    """A reduction of truth values."""

    def logical(
        a: Any, axis: Axis = None, out: None = None, keepdims: bool = False, *, where: Any = None
    ) -> Any:
        a, aval = operand(rule.name, a)
        if out is not None:
            reject_out(rule.name, out)
        axes = axis_tuple(rule.name, aval.ndim, axis)
        return _reduce(rule, a, aval, axes, BOOL, keepdims, None, where)

    return _documented(logical, rule.name, "Elements other than 0 are true.")


def _documented(function: Any, name: str, more: str) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {name} of the elements over `axis` (all axes by default).

    a: an array or scalar.  axis: an int, a tuple of ints, or None.  keepdims: keep the reduced
    axes, with size 1.  where: a bool array, the elements that count.  {more}

    Raises DTypeError for what is not an array, ShapeError for an axis that the array does not
    have, and TraceError for `out`.
    """
    result: Callable[..., Any] = function
    return result


sum = _total(_SUM)
prod = _total(_PROD)
max = _extremum(_MAX, "max")
min = _extremum(_MIN, "min")
amax = _extremum(_MAX, "amax")
amin = _extremum(_MIN, "amin")
all = _logical(_ALL)
any = _logical(_ANY)


def mean(
    a: Any,
    axis: Axis = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """The arithmetic mean over `axis` (all axes by default).

    Integers and bools become floats; half floats are summed in float32.  Over no elements the
    mean is NaN.

    >>> mean(array([1, 2, 4]))
    Array(2.3333333, dtype=float32)
    """
    a, aval = operand("mean", a)
    if out is not None:
        reject_out("mean", out)
    result = dtypes.to_inexact(aval.dtype) if dtype is None else dtypes.canonicalize(dtype)
    compute = _F32 if result in HALF else result
    axes = axis_tuple("mean", aval.ndim, axis)
    total = _reduce(_SUM, a, aval, axes, compute, keepdims, None, where)
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
    """How many elements a mask at `shape` lets through over `axes`."""
    where, aval = operand("mean", where)
    if not aval.shape:
        size = 1
        for i in axes:
            size *= shape[i]
        return mul_p.bind(convert(where, dtype), scalar(size, dtype))
    return _reduce(_SUM, where, aval, axes, dtype, keepdims)


def ptp(a: Any, axis: Axis = None, out: None = None, keepdims: bool = False) -> Any:
    """The range of the elements over `axis`: the greatest less the least.

    Raises ShapeError for no elements.
    """
    reject_out("ptp", out)
    return sub_p.bind(max(a, axis, keepdims=keepdims), min(a, axis, keepdims=keepdims))


def count_nonzero(a: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """How many elements over `axis` are not 0, as the default integer dtype."""
    a, aval = operand("count_nonzero", a)
    if aval.dtype != BOOL:
        a = ne_p.bind(a, scalar(0, aval.dtype))
    return sum(a, axis, dtype=dtypes.default_dtype("i"), keepdims=keepdims)


def average(
    a: Any,
    axis: Axis = None,
    weights: Any = None,
    returned: bool = False,
    keepdims: bool = False,
) -> Any:
    """The mean over `axis`, weighted by `weights`; with `returned`, (mean, sum of weights).

    weights: of the shape of `a`, or of the sizes of the axes that `axis` names.

    Raises ShapeError for weights of another shape.
    """
    a, aval = operand("average", a)
    axes = axis_tuple("average", aval.ndim, axis)
    if weights is None:
        result = mean(a, axis, keepdims=keepdims)
        count = int(np.prod([aval.shape[i] for i in axes]))
        total = scalar(count, result.dtype)
    else:
        weights = _weights_at(operand("average", weights)[0], aval, axis, axes)
        a, weights = promote_inexact(a, weights)
        total = sum(weights, axis, keepdims=keepdims)
        products = mul_p.bind(*promote("average", a, weights))
        result = div_p.bind(*promote("average", sum(products, axis, keepdims=keepdims), total))
    return (result, broadcast_to(total, result.shape)) if returned else result


def _weights_at(weights: Any, aval: ShapedArray, axis: Axis, axes: tuple[int, ...]) -> Any:
    """Weights of some axes, in the order named, as an array that broadcasts to `aval.shape`."""
    have = shape_of(weights)
    if have == aval.shape:
        return weights
    want = tuple([aval.shape[i] for i in axes])
    if axis is None or have != want:
        raise ShapeError(f"average needs weights of shape {aval.shape} or {want}, and got {have}")
    order = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    sizes = tuple([n if i in axes else 1 for i, n in enumerate(aval.shape)])
    return reshape_p.bind(weights, dimensions=order, new_sizes=sizes)
