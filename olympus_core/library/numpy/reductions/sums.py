"""Sums, products, extrema and truth over axes: `sum`, `prod`, `max`, `min`, `all`, `any`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import Axis, axis_tuple, keep_dims
from olympus_core.library.operands import mask, operand, reject_out, scalar
from olympus_core.library.promotion import convert, wide_integer
from olympus_core.primitives.elementwise.arithmetic import add_p, max_p, min_p, mul_p
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

if TYPE_CHECKING:
    from olympus_core.library.signatures import ExtremumFunction, Logical, Total

_F = TypeVar("_F", bound=Callable[..., Array])

#: dtypes that are summed in float32
HALF = frozenset({np.dtype("float16"), dtypes.bfloat16})
_F32 = np.dtype("float32")


class ReductionRule(NamedTuple):
    """A reduction: its primitive, the operation on two values, and the operation on bools."""

    name: str
    primitive: Reduction
    combine: Any
    on_bools: tuple[Reduction, Any]
    has_identity: bool = True
    upcast: bool = False  # half floats are summed in float32


SUM = ReductionRule("sum", reduce_sum_p, add_p, (reduce_or_p, or_p), upcast=True)
_PROD = ReductionRule("prod", reduce_prod_p, mul_p, (reduce_and_p, and_p), upcast=True)
MAX = ReductionRule("max", reduce_max_p, max_p, (reduce_max_p, max_p), has_identity=False)
MIN = ReductionRule("min", reduce_min_p, min_p, (reduce_min_p, min_p), has_identity=False)
_ALL = ReductionRule("all", reduce_and_p, and_p, (reduce_and_p, and_p))
_ANY = ReductionRule("any", reduce_or_p, or_p, (reduce_or_p, or_p))


def reduce_axes(
    rule: ReductionRule,
    a: Any,
    aval: ShapedArray,
    axes: tuple[int, ...],
    dtype: DType,
    keepdims: bool,
    initial: ArrayLike | None = None,
    where: Any = None,
) -> Array:
    """Reduce `a` in `dtype`; the result has that dtype, strongly typed."""
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
    result: Array = a
    return result


def _prepare(
    rule: ReductionRule,
    primitive: Reduction,
    a: Any,
    shape: tuple[int, ...],
    axes: tuple[int, ...],
    dtype: DType,
    initial: Any,
    where: Any,
) -> tuple[Any, tuple[int, ...]]:
    """Return the operand with the elements outside of `where` replaced by the identity."""
    if initial is None and not rule.has_identity:
        if where is not None:
            raise ShapeError(f"{rule.name} with where needs initial: {rule.name} has no identity")
        for i in axes:
            if shape[i] == 0:
                raise ShapeError(
                    f"zero-size array to reduction operation {rule.name} which has no identity: "
                    f"the shape is {shape}"
                )
    if where is None:
        return a, shape
    neutral = scalar(primitive.identity(dtype), dtype)
    return select_n_p.bind(mask(rule.name, where, shape), neutral, a), shape


def _total(rule: ReductionRule, printed: str) -> Total:
    """Return a reduction that widens integers and takes a dtype."""

    def total(
        a: ArrayLike,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
        promote_integers: bool = True,
    ) -> Array:
        name = rule.name
        a, aval = operand(name, a)
        if out is not None:
            reject_out(name, out)
        if dtype is not None:
            wide = dtypes.requested(name, dtype)
        else:
            wide = wide_integer(aval.dtype) if promote_integers else aval.dtype
        axes = axis_tuple(name, aval.ndim, axis)
        return reduce_axes(rule, a, aval, axes, wide, keepdims, initial, where)

    details = "dtype: of the result; integers widen by default."
    return _documented(total, rule.name, details, "[[1, 2, 3], [4, 5, 6]]", printed)


def _extremum(rule: ReductionRule, name: str, printed: str) -> ExtremumFunction:
    """Return a reduction that keeps the dtype and has no value for no elements."""

    def extremum(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        initial: ArrayLike | None = None,
        where: ArrayLike | None = None,
    ) -> Array:
        a, aval = operand(name, a)
        if out is not None:
            reject_out(name, out)
        axes = axis_tuple(name, aval.ndim, axis)
        return reduce_axes(rule, a, aval, axes, aval.dtype, keepdims, initial, where)

    details = "A NaN counts as the result."
    return _documented(extremum, name, details, "[[1, 2, 3], [4, 5, 6]]", printed)


def _logical(rule: ReductionRule, printed: str) -> Logical:
    """Return a reduction of truth values."""

    def logical(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        keepdims: bool = False,
        *,
        where: ArrayLike | None = None,
    ) -> Array:
        a, aval = operand(rule.name, a)
        if out is not None:
            reject_out(rule.name, out)
        axes = axis_tuple(rule.name, aval.ndim, axis)
        return reduce_axes(rule, a, aval, axes, BOOL, keepdims, None, where)

    details = "Elements other than 0 are true."
    return _documented(logical, rule.name, details, "[[1, 2], [0, 3], [0, 0]]", printed)


def _documented(function: _F, name: str, details: str, elements: str, printed: str) -> _F:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {name} of the elements over `axis` (all axes by default).

    a: an array or scalar.  axis: an int, a tuple of ints, or None.  keepdims: keep the reduced
    axes, with size 1.  where: a bool array, the elements that count.  {details}

    Raises DTypeError for what is not an array, ShapeError for an axis that the array does not
    have, and TraceError for `out`.

    >>> {name}(asarray({elements}), axis=1)
    {printed}
    """
    return function


sum = _total(SUM, "Array([ 6, 15], dtype=int32)")
prod = _total(_PROD, "Array([  6, 120], dtype=int32)")
max = _extremum(MAX, "max", "Array([3, 6], dtype=int32)")
min = _extremum(MIN, "min", "Array([1, 4], dtype=int32)")


def minmax(
    a: ArrayLike,
    axis: Axis = None,
    out: None = None,
    keepdims: bool = False,
    initial: ArrayLike | tuple[ArrayLike, ArrayLike] | None = None,
    where: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return the `min` and the `max` of the elements over `axis`, of which the arguments are.

    initial: one value, or one for each result.

    >>> minmax(asarray([[2, 5], [3, -7]]), axis=0)
    (Array([ 2, -7], dtype=int32), Array([3, 5], dtype=int32))
    """
    low, high = initial if isinstance(initial, tuple) else (initial, initial)
    return (
        min(a, axis, out, keepdims, initial=low, where=where),
        max(a, axis, out, keepdims, initial=high, where=where),
    )


amax = _extremum(MAX, "amax", "Array([3, 6], dtype=int32)")
amin = _extremum(MIN, "amin", "Array([1, 4], dtype=int32)")
all = _logical(_ALL, "Array([ True, False, False], dtype=bool)")
any = _logical(_ANY, "Array([ True,  True, False], dtype=bool)")


def count_nonzero(a: ArrayLike, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the number of nonzero elements over `axis`, as the default integer dtype.

    >>> count_nonzero(asarray([0, 5, 6]))
    Array(2, dtype=int32)
    """
    a, aval = operand("count_nonzero", a)
    if aval.dtype != BOOL:
        a = ne_p.bind(a, scalar(0, aval.dtype))
    return sum(a, axis, dtype=dtypes.default_dtype("i"), keepdims=keepdims)
