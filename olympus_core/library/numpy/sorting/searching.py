"""Searching: `where`, `nonzero`, `argmax`, `searchsorted`.

The shape of `nonzero` and the like is `size` or, outside of a trace, depends on the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.dimensions.shapes import symbolic_dim_bounds
from olympus_core.base.errors import ArgumentError, ShapeError, concrete_value_expected
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys
from olympus_core.library.axes import keep_dims, one_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.control import scan
from olympus_core.library.lax.reduction import cumsum
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full, zeros
from olympus_core.library.numpy.elementwise.logic import equal, isnan, less, less_equal, not_equal
from olympus_core.library.numpy.indexing.reading import read
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, ravel, reshape
from olympus_core.library.numpy.reductions import sums
from olympus_core.library.numpy.sorting.sorting import argsort
from olympus_core.library.operands import choose, operand, reject_out, scalar
from olympus_core.library.operands import choose as choose_between
from olympus_core.library.promotion import convert, promote_dtypes, promote_shapes
from olympus_core.library.structural import structural
from olympus_core.primitives.elementwise.conversion import imag_p, real_p
from olympus_core.primitives.elementwise.logic import and_p, le_p, ne_p, not_p, or_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.reduction import (
    ArgExtremum,
    argmax_p,
    argmin_p,
    reduce_and_p,
    reduce_sum_p,
)
from olympus_core.primitives.shape import iota_p, reshape_p


@overload
def where(
    condition: ArrayLike,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]: ...


@overload
def where(condition: ArrayLike, x: ArrayOrKeys, y: ArrayOrKeys, /) -> Array: ...


@structural(1, 2)
def where(
    condition: ArrayLike,
    x: ArrayOrKeys | None = None,
    y: ArrayOrKeys | None = None,
    /,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array | tuple[Array, ...]:
    """Return `x` where `condition`, `y` elsewhere; the three are broadcast to one shape.

    `condition` is bool, or a number, true if not 0.  With `condition` alone, `nonzero(condition)`.
    Raises ShapeError for shapes that do not broadcast, ArgumentError for only one of x and y.

    >>> where(asarray([True, False]), 1.0, asarray([2.0, 3.0]))
    Array([1., 3.], dtype=float32)
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if x is None or y is None:
        raise ArgumentError("where needs both x and y, or neither")
    if size is not None or fill_value is not None:
        raise ArgumentError("where takes size and fill_value with a condition alone")
    return choose_between("where", condition, x, y)


@composite(static_argnames=("size",))
def _nonzero_of(mask: Any, size: int, fill_value: Any) -> tuple[Array, ...]:
    shape = mask.shape
    int_dtype = dtypes.default_dtype("i")
    if not mask.size or not size:
        return (full((size,), 0, int_dtype),) * len(shape)
    flat = ravel(mask)
    rank = cumsum(flat.astype(int_dtype)) - 1  # the position of each true element in the result
    target = choose_between("nonzero", flat, rank, size)
    count = iota_p.bind(dtype=int_dtype, shape=(mask.size,), dimension=0)
    positions = zeros((size,), int_dtype).at[target].set(count, mode="drop")
    missing = iota_p.bind(dtype=int_dtype, shape=(size,), dimension=0) > rank[-1]
    results = []
    for axis, n in enumerate(shape):
        index = (positions // math.prod(shape[axis + 1 :])) % n
        results.append(choose_between("nonzero", missing, fill_value[axis], index))
    return tuple(convert(x, int_dtype) for x in results)


def nonzero(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> tuple[Array, ...]:
    """Return the indices of the nonzero elements: a vector for each axis.

    Under a trace their number must be given as `size`: further ones are ignored, and missing ones
    are `fill_value` (0 by default; one for each axis if a tuple).  Raises ConcretizationTypeError
    if it is not given, ShapeError for an array without dimensions.

    >>> nonzero(asarray([0, 5, 6]))
    (Array([1, 2], dtype=int32),)
    """
    a, aval = operand("nonzero", a)
    if not aval.shape:
        raise ShapeError("nonzero needs an array with dimensions: use atleast_1d")
    if size is None:
        if isinstance(a, Tracer):
            raise concrete_value_expected(
                "The size argument of jnp.nonzero must be statically specified to use jnp.nonzero "
                f"within transformations: the number of nonzero elements of {aval.long_name()} is "
                f"not known while tracing, and the array is {a.origin()}",
                hint="pass size=, a bound of their number, or use where with three arguments",
            )
        int_dtype = dtypes.default_dtype("i")
        return tuple(asarray(i.astype(int_dtype)) for i in np.nonzero(np.asarray(a)))
    fill = 0 if fill_value is None else fill_value
    fills = fill if isinstance(fill, tuple) else (fill,) * aval.ndim
    if len(fills) != aval.ndim:
        raise ShapeError(f"nonzero needs {aval.ndim} fill values, and got {len(fills)}")
    mask = a if aval.dtype == dtypes.bool_ else not_equal(a, 0)
    return _nonzero_of(asarray(mask), size, fills)


def flatnonzero(
    a: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the indices of the nonzero elements of the flattened array; see `nonzero`.

    >>> flatnonzero(asarray([[0, 5], [6, 0]]))
    Array([1, 2], dtype=int32)
    """
    return nonzero(ravel(a), size=size, fill_value=fill_value)[0]


def argwhere(
    a: ArrayLike,
    *,
    size: int | None = None,
    fill_value: ArrayLike | tuple[ArrayLike, ...] | None = None,
) -> Array:
    """Return the indices of the nonzero elements, as the rows of a matrix; see `nonzero`.

    >>> argwhere(asarray([[0, 5], [6, 0]]))
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    a, aval = operand("argwhere", a)
    if not aval.shape:
        count = size if size is not None else int(bool(np.asarray(a)))
        return zeros((count, 0), dtypes.default_dtype("i"))
    return stack(nonzero(a, size=size, fill_value=fill_value), axis=1)


def argmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first greatest element along `axis`, or of all; NaN is greatest.

    The result has the default integer dtype.  Raises ShapeError for no elements.

    >>> argmax(array([1, 5, 5]))
    Array(1, dtype=int32)
    """
    reject_out("argmax", out)
    return _position(argmax_p, *operand("argmax", a), axis, bool(keepdims))


def _extremes(greatest: bool, z: Any, axis: int) -> Any:
    """Return the mask of the complex extremes along an axis, in lexicographic order, or nan."""
    worst = -math.inf if greatest else math.inf
    extreme = sums.max if greatest else sums.min
    real, imag = real_p.bind(z), imag_p.bind(z)
    best = equal(real, extreme(real, axis=axis, keepdims=True))
    imag = choose("argmax", best, imag, worst)
    best = and_p.bind(best, equal(imag, extreme(imag, axis=axis, keepdims=True)))
    nan = isnan(z)
    return choose("argmax", sums.any(nan, axis=axis, keepdims=True), nan, best)


def argmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first least element along `axis`, or of all; NaN is least.

    The result has the default integer dtype.  Raises ShapeError for no elements.

    >>> argmin(asarray([3, 1, 1]))
    Array(1, dtype=int32)
    """
    reject_out("argmin", out)
    return _position(argmin_p, *operand("argmin", a), axis, bool(keepdims))


def _position(
    primitive: ArgExtremum, a: Any, aval: ShapedArray, axis: int | None, keepdims: bool
) -> Array:
    length = aval.size if axis is None else aval.shape[one_axis(primitive.name, aval.ndim, axis)]
    if length == 0:
        raise ShapeError(
            f"attempt to get {primitive} of an empty sequence: the shape is {aval.shape}"
        )
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
    position: Array = primitive.bind(a, axes=(place,), index_dtype=dtypes.default_dtype("i"))
    return keep_dims(position, aval.shape, axes) if keepdims else position


@composite(static_argnames=("axis", "keepdims"))
def nanargmax(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first greatest element that is not NaN; -1 if all are NaN.

    >>> nanargmax(asarray([nan, 1.0, 5.0]))
    Array(2, dtype=int32)
    """
    return _without_nan(argmax_p, a, axis, out, keepdims)


@composite(static_argnames=("axis", "keepdims"))
def nanargmin(
    a: ArrayLike, axis: int | None = None, out: None = None, keepdims: bool | None = None
) -> Array:
    """Return the index of the first least element that is not NaN; -1 if all are NaN.

    >>> nanargmin(asarray([nan, 5.0, 1.0]))
    Array(2, dtype=int32)
    """
    return _without_nan(argmin_p, a, axis, out, keepdims)


def _without_nan(
    primitive: ArgExtremum, a: Any, axis: int | None, out: None, keepdims: bool | None
) -> Array:
    name = f"nan{primitive}"
    reject_out(name, out)
    a, aval = operand(name, a)
    if dtypes.kind(aval.dtype) not in "fc":
        return _position(primitive, a, aval, axis, bool(keepdims))
    is_nan = ne_p.bind(a, a)
    real_dtype = dtypes.to_real(aval.dtype)
    filled = select_n_p.bind(is_nan, a, scalar(primitive.identity(real_dtype), aval.dtype))
    position = _position(primitive, filled, aval, axis, bool(keepdims))
    axes = tuple(range(aval.ndim)) if axis is None else (one_axis(name, aval.ndim, axis),)
    nothing = reduce_and_p.bind(is_nan, axes=axes)
    if keepdims:
        nothing = keep_dims(nothing, aval.shape, axes)
    result: Array = select_n_p.bind(nothing, position, scalar(-1, position.dtype))
    return result


_INT32 = np.dtype("int32")


def _precedes(x: Any, y: Any, or_equal: bool) -> Any:
    """Return x < y (or x <= y) in the order of a sorted array, with NaNs last."""
    before = (less_equal if or_equal else less)(x, y)
    if dtypes.kind(get_aval(x).dtype) != "f":
        return before
    is_nan = ne_p.bind(y, y)
    if not or_equal:
        is_nan = and_p.bind(is_nan, not_p.bind(ne_p.bind(x, x)))
    return or_p.bind(before, is_nan)


@composite(static_argnames=("side", "method"))
def searchsorted(
    a: ArrayLike,
    v: ArrayLike,
    side: str = "left",
    sorter: ArrayLike | None = None,
    *,
    method: str = "scan",
) -> Array:
    """Return the position of each element of `v` in the sorted vector `a` that keeps it sorted.

    side: "left" of elements that are equal, or "right".  sorter: indices that sort `a`, if it is
    not sorted.  method: "scan" and "scan_unrolled" halve the range of positions, "compare_all"
    compares with each element, "sort" sorts both.  The result has the dtype int32.

    Raises ShapeError unless `a` is a vector, ArgumentError for another side or method.

    >>> searchsorted(array([1, 2, 2, 3]), 2)
    Array(1, dtype=int32)
    """
    if side not in ("left", "right"):
        raise ArgumentError(f"searchsorted has the sides 'left' and 'right', and got {side!r}")
    if method not in _METHODS:
        raise ArgumentError(f"searchsorted has the methods {', '.join(_METHODS)}, not {method!r}")
    a, v = promote_dtypes(operand("searchsorted", a)[0], operand("searchsorted", v)[0])
    if get_aval(a).ndim != 1:
        raise ShapeError(f"searchsorted needs a vector, and got {get_aval(a).long_name()}")
    if sorter is not None:
        a = read(a, asarray(sorter))
    v = broadcast_to(convert(v, get_aval(v).dtype), get_aval(v).shape)
    return _METHODS[method](a, v, side == "right")


def _by_halves(a: Any, v: Any, after: bool) -> Array:
    """Jump by descending powers of two, each if the skipped element precedes the value."""
    length = get_aval(a).shape[0]
    place = broadcast_to(scalar(0, _INT32), v.shape)

    def moved(place: Any, jump: Any) -> Any:
        ahead = place + jump
        last = read(a, ahead - 1, mode="clip", wrap_negative_indices=False)
        fits = and_p.bind(_precedes(last, v, after), le_p.bind(ahead, scalar(length, _INT32)))
        return choose("searchsorted", fits, ahead, place)

    most = int(min(symbolic_dim_bounds(length)[1], np.iinfo(_INT32).max))
    jumps = [1 << i for i in reversed(range(most.bit_length()))]
    if is_symbolic_dim(length):
        result: Array
        result, _ = scan(lambda p, jump: (moved(p, jump), None), place, np.array(jumps, _INT32))
        return result
    for jump in jumps:
        place = moved(place, jump)
    return place


def _by_comparing(a: Any, v: Any, after: bool) -> Array:
    """Return the number of elements that precede each value."""
    x, y = promote_shapes("searchsorted", a, reshape(v, (*v.shape, 1)))
    precedes = convert(_precedes(x, y, after), _INT32)
    count: Array = reduce_sum_p.bind(precedes, axes=(v.ndim,))
    return count


def _by_sorting(a: Any, v: Any, after: bool) -> Array:
    """Return the positions of the values among all, minus the number of values before each."""
    length, flat = get_aval(a).shape[0], ravel(v)
    joined = concatenate([a, flat] if after else [flat, a])
    start = length if after else 0
    rank = argsort(argsort(joined, dtype=_INT32), dtype=_INT32)[start : start + flat.size]
    own = argsort(argsort(flat, dtype=_INT32), dtype=_INT32)
    return reshape(rank - own, v.shape)


_METHODS: dict[str, Callable[[Any, Any, bool], Array]] = {
    "scan": _by_halves,
    "scan_unrolled": _by_halves,
    "compare_all": _by_comparing,
    "sort": _by_sorting,
}
