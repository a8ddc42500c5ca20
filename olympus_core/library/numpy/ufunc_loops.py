"""The methods of ufuncs: loops for any function, and reductions for the functions that have one."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.dtypes import DType
from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.axes import axis_tuple, keep_dims, one_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.control import scan
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import multiply
from olympus_core.library.numpy.elementwise.exponential import logaddexp
from olympus_core.library.numpy.functional import vectorize
from olympus_core.library.numpy.indexing.at import IndexUpdateHelper
from olympus_core.library.numpy.indexing.taking import take
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import (
    broadcast_to,
    expand_dims,
    ravel,
    reshape,
)
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions import cumulative, sums
from olympus_core.library.operands import choose, mask, operand
from olympus_core.library.promotion import convert
from olympus_core.library.softmax import logsumexp
from olympus_core.primitives.elementwise.base import BOOL
from olympus_core.primitives.elementwise.logic import and_p, or_p, xor_p
from olympus_core.primitives.reduction import reduce_and_p, reduce_or_p, reduce_xor_p
from olympus_core.transforms.staging import stage

if TYPE_CHECKING:
    from olympus_core.library.numpy.ufunc import ufunc

_INTEGER = np.dtype("int32")


@composite(static_argnums=0)
def vectorized(function: Callable[..., Any], *args: Any) -> Any:
    """Return the function of scalars, mapped over the elements of arrays."""
    return vectorize(function)(*args)


def _result_dtype(fun: ufunc, *avals: ShapedArray) -> DType:
    """Return the dtype of the function's result for scalars of the operands' types."""
    scalars = [ShapedArray((), a.dtype, weak_type=a.weak_type) for a in avals]
    return stage(lambda *xs: [fun(*xs)], scalars, what=fun.__name__).out_avals[0].dtype


def reduce(
    fun: ufunc,
    a: Any,
    *,
    axis: Any,
    dtype: DTypeLike | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    """Fold the function over one axis, element by element."""
    name = f"{fun.__name__}.reduce"
    a, aval = operand(name, a)
    if isinstance(axis, tuple):
        axis_tuple(name, aval.ndim, axis)
        raise UnsupportedError(
            f"tuple of axes: {name} of a function without a reduction takes one axis"
        )
    axes = axis_tuple(name, aval.ndim, axis)
    compute = dtypes.requested(name, dtype, _result_dtype(fun, aval, aval))
    rows = _leading(a, axis, aval)
    used = None if where is None else _leading(mask(name, where, aval.shape), axis, aval)
    start = initial if initial is not None else fun.identity
    if start is None and rows.shape[0] == 0:
        raise ShapeError(f"zero-size array to reduction operation {name}, which has no identity")
    rows = convert(rows, compute)
    if start is None:
        first, rows = rows[0], rows[1:]
    else:
        first = broadcast_to(convert(asarray(start), compute), rows.shape[1:])
    first = convert(first, compute)

    def step(total: Any, inputs: Any) -> Any:
        x, counts = inputs
        new = convert(fun(total, x), compute)
        return (new if counts is None else choose(name, counts, new, total)), None

    result = scan(step, first, (rows, used))[0]
    return keep_dims(result, aval.shape, axes) if keepdims else result


def _leading(a: Any, axis: int | None, aval: ShapedArray) -> Any:
    """Return the array with `axis` first; None: as one axis."""
    return ravel(a) if axis is None else moveaxis(a, axis, 0)


def accumulate(fun: ufunc, a: Any, *, axis: int, dtype: DTypeLike | None) -> Array:
    """Fold the function over one axis, and return all partial results."""
    name = f"{fun.__name__}.accumulate"
    a, aval = operand(name, a)
    if axis is None or isinstance(axis, tuple):
        raise ArgumentError(f"{name} does not allow multiple axes, and got {axis}")
    place = one_axis(name, aval.ndim, axis)
    compute = dtypes.requested(name, dtype, _result_dtype(fun, aval, aval))
    rows = convert(moveaxis(a, place, 0), compute)
    if 0 in aval.shape:
        return asarray(np.zeros(aval.shape, compute))

    def step(total: Any, x: Any) -> Any:
        new = convert(fun(total, x), compute)
        return new, new

    _, rest = scan(step, rows[0], rows[1:])
    return moveaxis(concatenate([rows[:1], rest]), 0, place)


def reduceat(
    fun: ufunc, a: Any, indices: ArrayLike, *, axis: int, dtype: DTypeLike | None
) -> Array:
    """Fold the function over segments of one axis."""
    name = f"{fun.__name__}.reduceat"
    a, aval = operand(name, a)
    starts = asarray(indices)
    if aval.ndim == 0:
        raise ShapeError("reduceat: a must have 1 or more dimension, got a.shape=()")
    if starts.ndim != 1:
        raise ShapeError(
            f"reduceat: indices must be one-dimensional, got indices.shape={starts.shape}"
        )
    if axis is None or isinstance(axis, (tuple, list)):
        raise ArgumentError(f"{name} requires a single integer axis, and got {axis}")
    place = one_axis(name, aval.ndim, axis)
    compute = dtypes.requested(name, dtype, aval.dtype)
    rows = convert(moveaxis(a, place, 0), compute)
    size = rows.shape[0]
    ends = concatenate([starts[1:], asarray(np.full(1, size, np.int32)).astype(starts.dtype)])
    first = take(rows, starts, axis=0)
    wide = (-1, *(1,) * (aval.ndim - 1))

    def step(total: Any, inputs: Any) -> Any:
        i, x = inputs
        inside = reshape((i > starts) & (i < ends), wide)
        new = convert(fun(total, broadcast_to(x, total.shape)), compute)
        return choose(name, inside, new, total), None

    counted = asarray(np.arange(size, dtype=np.int32)).astype(starts.dtype)
    return moveaxis(scan(step, first, (counted, rows))[0], 0, place)


def outer(fun: ufunc, a: Any, b: Any) -> Array:
    """Return the function of all pairs of elements."""
    columns = expand_dims(a, tuple(range(np.ndim(a), np.ndim(a) + np.ndim(b))))
    return fun(columns, b)


def at(fun: ufunc, a: Any, indices: Any, *values: Any) -> Array:
    """Apply the function to the elements at `indices`, one after another."""
    a = asarray(a)
    operands = [asarray(x) for x in values]
    compute = _result_dtype(fun, a.aval, *[x.aval for x in operands])
    a, operands = convert(a, compute), [convert(x, compute) for x in operands]
    parts = indices if isinstance(indices, tuple) else (indices,)
    if all(i is None or i is Ellipsis or isinstance(i, (slice, int)) for i in parts):
        result: Array = _helper(a)[indices].set(fun(_helper(a)[indices].get(), *operands))
        return result
    return _one_by_one(fun, a, indices, operands)


def _one_by_one(fun: ufunc, a: Any, indices: Any, operands: list[Any]) -> Array:
    size = math.prod(a.shape)
    places = asarray(np.arange(size, dtype=np.int32).reshape(a.shape))
    chosen = _helper(places)[indices].get(mode="fill", fill_value=size)
    spread = [ravel(broadcast_to(x, chosen.shape)) for x in operands]

    def step(flat: Any, inputs: Any) -> Any:
        i, *others = inputs
        new = fun(_helper(flat)[i].get(mode="clip"), *others)
        return _helper(flat)[i].set(convert(new, flat.dtype), mode="drop"), None

    flat, _ = scan(step, ravel(a), (ravel(chosen), *spread))
    return reshape(flat, a.shape)


def _helper(a: Any) -> Any:
    return IndexUpdateHelper(a)


def _at(method: str, through_integers: bool = True) -> Callable[..., Array]:
    """Return `at` by a method of `x.at[indices]`; bools are updated as integers."""

    def updated(fun: ufunc, a: Any, indices: Any, b: Any) -> Array:
        a = asarray(a)
        if a.dtype == BOOL and through_integers:
            b = convert(convert(asarray(b), BOOL), _INTEGER)
            integers = _helper(convert(a, _INTEGER))[indices]
            return asarray(convert(getattr(integers, method)(b), BOOL))
        result: Array = getattr(_helper(a)[indices], method)(b)
        return result

    return updated


add_at, multiply_at = _at("add"), _at("mul")
subtract_at = _at("subtract", through_integers=False)


def _by(total: Callable[..., Array]) -> Callable[..., Array]:
    """Return the method that calls a function of the library with its options."""
    return lambda fun, a, **options: total(a, **options)


sum_reduce, product_reduce = _by(sums.sum), _by(sums.prod)
sum_accumulate, product_accumulate = _by(cumulative.cumsum), _by(cumulative.cumprod)


def _reduction(rule: sums.ReductionRule, kinds: str, to_bool: bool = False) -> Callable[..., Array]:
    """Return the reduction of a rule for arrays of some kinds of dtypes."""

    def reduced(
        fun: ufunc,
        a: Any,
        *,
        axis: Any,
        dtype: DTypeLike | None,
        keepdims: bool,
        initial: Any,
        where: Any,
    ) -> Array:
        a, aval = operand(rule.name, a)
        if dtypes.kind(aval.dtype) not in kinds:
            raise ArgumentError(f"{rule.name} does not take {aval.long_name()}")
        axes = axis_tuple(rule.name, aval.ndim, axis)
        compute = dtypes.requested(rule.name, dtype, aval.dtype)
        if to_bool:
            a, compute = convert(a, BOOL), BOOL if dtype is None else compute
            aval = get_aval(a)
        return sums.reduce_axes(rule, a, aval, axes, compute, keepdims, initial, where)

    return reduced


_XOR = sums.ReductionRule("bitwise_xor.reduce", reduce_xor_p, xor_p, (reduce_xor_p, xor_p))
_AND = sums.ReductionRule("bitwise_and.reduce", reduce_and_p, and_p, (reduce_and_p, and_p))
_OR = sums.ReductionRule("bitwise_or.reduce", reduce_or_p, or_p, (reduce_or_p, or_p))

bitwise_and_reduce = _reduction(_AND, "bui")
bitwise_or_reduce = _reduction(_OR, "bui")
bitwise_xor_reduce = _reduction(_XOR, "bui")
logical_and_reduce = _reduction(_AND, "buifc", to_bool=True)
logical_or_reduce = _reduction(_OR, "buifc", to_bool=True)
logical_xor_reduce = _reduction(_XOR, "buifc", to_bool=True)
maximum_reduce = _reduction(sums.MAX, "buifc")
minimum_reduce = _reduction(sums.MIN, "buifc")


def logaddexp_reduce(
    fun: ufunc,
    a: Any,
    *,
    axis: Any,
    dtype: DTypeLike | None,
    keepdims: bool,
    initial: Any,
    where: Any,
) -> Array:
    """Return the logarithm of the sum of exponentials; `dtype` has no effect, as in JAX."""
    result = logsumexp(a, axis=axis, keepdims=keepdims, where=where)
    return result if initial is None else logaddexp(initial, result)


def logaddexp2_reduce(
    fun: ufunc,
    a: Any,
    *,
    initial: Any,
    **options: Any,
) -> Array:
    """Return the logarithm, to base 2, of the sum of powers of 2."""
    scale = math.log(2)
    first = None if initial is None else multiply(initial, scale)
    return logaddexp_reduce(fun, multiply(a, scale), initial=first, **options) / scale
