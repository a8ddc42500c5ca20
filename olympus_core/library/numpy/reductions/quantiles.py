"""Order statistics over axes: `quantile`, `percentile`, `median`, and variants without NaNs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import Axis, accepts_list_axis, axis_tuple
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.elementwise import arithmetic
from olympus_core.library.numpy.indexing.reading import read
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, reshape
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions import sums
from olympus_core.library.numpy.reductions.cumulative import cumsum
from olympus_core.library.operands import choose, operand, reject_out, scalar
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import ceil_p, floor_p
from olympus_core.primitives.elementwise.logic import eq_p
from olympus_core.primitives.shape import reshape_p
from olympus_core.primitives.sort import sort_p

if TYPE_CHECKING:
    from olympus_core.library.signatures import Median, Quantile

_F = TypeVar("_F", bound=Callable[..., Array])
_METHODS = ("linear", "lower", "higher", "midpoint", "nearest", "inverted_cdf")


def _quantile(
    name: str,
    a: Any,
    q: Any,
    axis: Axis,
    method: str,
    keepdims: bool,
    skip_nan: bool,
    weights: Any = None,
) -> Array:
    """Return the value with a fraction `q` of the elements over `axis` below it."""
    a, q = _checked(name, a, q, method, weights)
    shape = a.shape
    axes = axis_tuple(name, len(shape), axis)
    rows = _rows(a, axes)
    if not q.size and not rows.shape[-1]:  # an empty array of quantiles of an empty array
        out = zeros((*q.shape, *rows.shape[:-1]), a.dtype)
    elif method == "inverted_cdf":
        masses = None if weights is None else _masses(name, weights, shape, axes, axis, a.dtype)
        out = _inverted(rows, masses, q, skip_nan)
    else:
        (rows,) = sort_p.bind(rows, dimension=rows.ndim - 1, is_stable=True, num_keys=1)
        out = _between(rows, q, method, skip_nan)
    out = convert(out, a.dtype)
    if not keepdims:
        return out
    sizes = tuple([1 if i in axes else n for i, n in enumerate(shape)])
    return reshape(out, (*q.shape, *sizes))


def _checked(name: str, a: Any, q: Any, method: str, weights: Any) -> tuple[Any, Any]:
    """Return the operands as floats; raise an error for invalid operands or an invalid method."""
    if method not in _METHODS:
        raise ArgumentError(f"{name} has the methods {', '.join(_METHODS)}, and got {method!r}")
    if weights is not None and method != "inverted_cdf":
        raise UnsupportedError(
            f"{name} takes weights with the method 'inverted_cdf', and {method} doesn't support "
            "weights"
        )
    (a,), (q,) = promote_inexact(operand(name, a)[0]), promote_inexact(operand(name, q)[0])
    for x in (a, q):
        if dtypes.kind(get_aval(x).dtype) != "f":
            raise DTypeError(
                f"quantile does not support complex input: {name} takes real numbers, and got "
                f"{get_aval(x).long_name()}"
            )
    if get_aval(q).ndim > 1:
        raise ShapeError(f"{name} takes a fraction or a vector of them, and got shape {q.shape}")
    a = broadcast_to(a, get_aval(a).shape)
    return a, broadcast_to(convert(q, get_aval(q).dtype), get_aval(q).shape)


def _rows(x: Any, axes: tuple[int, ...]) -> Any:
    """Return the array with the given axes merged to one, the last."""
    shape = x.shape
    remaining_axes = tuple([i for i in range(len(shape)) if i not in axes])
    sizes = (*[shape[i] for i in remaining_axes], math.prod([shape[i] for i in axes]))
    order = (*remaining_axes, *axes)
    ordered = order == tuple(range(len(shape)))
    if ordered and sizes == shape:
        return x
    return reshape_p.bind(x, dimensions=None if ordered else order, new_sizes=sizes)


def _between(rows: Any, q: Any, method: str, skip_nan: bool) -> Any:
    """Return the values at fractions `q` of sorted rows, with NaNs last; of shape q + rest."""
    length = rows.shape[-1]
    if skip_nan:
        count = sums.sum(eq_p.bind(rows, rows), -1, dtype=q.dtype)
        last = count - 1
    else:
        last = scalar(length - 1, q.dtype)
    at = reshape(q, (*q.shape, *[1] * np.ndim(last))) * last
    low, high = floor_p.bind(at), ceil_p.bind(at)
    above = at - low
    low_value, high_value = (
        _take(rows, arithmetic.clip(i, 0, arithmetic.maximum(last, 0)), q.ndim, skip_nan)
        for i in (low, high)
    )
    if not skip_nan:
        above = reshape(above, (*q.shape, *[1] * (rows.ndim - 1)))
    out = _mix(low_value, high_value, above, method)
    if skip_nan:
        return choose("quantile", count > 0, out, scalar(math.nan, out.dtype))
    end = read(rows, (..., -1))
    return choose("quantile", eq_p.bind(end, end), out, scalar(math.nan, out.dtype))


def _take(rows: Any, index: Any, leading: int, is_per_row: bool) -> Any:
    """Return the elements at `index`, which has an axis for the rows if `is_per_row`."""
    index = convert(index, dtypes.default_dtype("i"))
    if is_per_row:
        row_shape = rows.shape[:-1]
        grid = [
            np.arange(n).reshape(-1, *[1] * (len(row_shape) - 1 - i))
            for i, n in enumerate(row_shape)
        ]
        return _read(rows, (*grid, index))
    elements = _read(rows, (..., index))
    return moveaxis(elements, -1, 0) if leading else elements


def _read(rows: Any, index: Any) -> Any:
    return read(rows, index, mode="promise_in_bounds", wrap_negative_indices=False)


def _mix(low: Any, high: Any, above: Any, method: str) -> Any:
    """Return the value at a fraction `above` of the way from `low` to `high`."""
    if method == "lower":
        return low
    if method == "higher":
        return high
    if method == "midpoint":
        return (low + high) * 0.5
    if method == "nearest":
        return choose("quantile", above <= 0.5, low, high)
    dtype = above.dtype
    return convert(low, dtype) * (1 - above) + convert(high, dtype) * above


def _masses(
    name: str, weights: Any, shape: tuple[int, ...], axes: tuple[int, ...], axis: Axis, dtype: Any
) -> Any:
    """Return the weights of the elements, or of the indices along the axes, as rows."""
    weights, aval = operand(name, weights)
    if dtypes.kind(aval.dtype) == "c":
        raise DTypeError(f"{name} takes real weights, and got {aval.long_name()}")
    if aval.shape != shape:
        axis_sizes = tuple([shape[i] for i in axes])
        if axis is None or aval.shape != axis_sizes:
            raise ShapeError(
                f"{name} needs weights of shape {shape} or {axis_sizes}, not {aval.shape}"
            )
        sizes = tuple([n if i in axes else 1 for i, n in enumerate(shape)])
        weights = broadcast_to(reshape(weights, sizes), shape)
    return _rows(convert(weights, dtype), axes)


def _inverted(rows: Any, weights: Any, q: Any, skip_nan: bool) -> Any:
    """Return the least elements up to which the fraction of the weights reaches `q`."""
    if weights is None:
        weights = broadcast_to(scalar(1, rows.dtype), rows.shape)
    axis = rows.ndim - 1
    rows, weights = sort_p.bind(rows, weights, dimension=axis, is_stable=True, num_keys=1)
    number, is_invalid = eq_p.bind(rows, rows), ~(weights >= 0)
    masses = cumsum(choose("quantile", number & ~is_invalid, weights, 0), axis)
    padding_shape = [1] * axis
    target = reshape(q, (*q.shape, *padding_shape, 1)) * masses[..., -1:]
    place = sums.sum(masses < target, -1, dtype=dtypes.default_dtype("i"))
    count = sums.sum(number, -1, dtype=place.dtype)
    place = arithmetic.clip(place, 0, arithmetic.maximum(count - 1, 0))
    out = _take(rows, place, q.ndim, True)
    bad = sums.any(is_invalid, -1) | (count == 0 if skip_nan else count < rows.shape[-1])
    return choose("quantile", bad, scalar(math.nan, out.dtype), out)


def _at_fractions(name: str, doc: str, skip_nan: bool, whole: int = 1) -> Quantile:
    """Return the function of the values at fractions that are given as parts of `whole`."""

    def at_fractions(
        a: ArrayLike,
        q: ArrayLike,
        axis: Axis = None,
        out: None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        *,
        weights: ArrayLike | None = None,
    ) -> Array:
        reject_out(name, out)
        if whole != 1:
            q = arithmetic.divide(q, whole)
        return _quantile(name, a, q, axis, method, keepdims, skip_nan, weights)

    return _named(at_fractions, name, doc, 2, "method")


def _middle(name: str, doc: str, skip_nan: bool) -> Median:
    def middle(
        a: ArrayLike,
        axis: Axis = None,
        out: None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Array:
        if out is not None or overwrite_input:
            raise ArgumentError(
                f"jax.numpy.{name} does not support overwrite_input=True or out != None: arrays "
                "cannot be written to"
            )
        return _quantile(name, a, 0.5, axis, "midpoint", keepdims, skip_nan)

    return _named(middle, name, doc, 1)


def _named(function: _F, name: str, doc: str, axis: int, *static: str) -> _F:
    """Return the public function; `axis` is the index of that argument."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    names = ("axis", "overwrite_input", "keepdims", *static)
    return accepts_list_axis(composite(static_argnames=names)(function), axis)


quantile = _at_fractions(
    "quantile",
    """Return the quantiles of the elements over `axis`, at the fractions `q` from 0 to 1.

    q: a number, or a vector, whose axis leads in the result.  method: the value between two
    elements: "linear", "lower", "higher", "midpoint", "nearest", or "inverted_cdf" for the first
    element that reaches the fraction, which takes `weights`.  The result is NaN if an element is.

    Raises ArgumentError for another method, DTypeError for complex elements.

    >>> quantile(array([1., 2., 3., 4.]), 0.5)
    Array(2.5, dtype=float32)
    """,
    skip_nan=False,
)
nanquantile = _at_fractions(
    "nanquantile",
    """`quantile` of the elements that are not NaN; NaN where there are none.

    >>> nanquantile(array([1.0, nan, 3.0, 4.0]), array([0.0, 0.5]))
    Array([1., 3.], dtype=float32)
    """,
    skip_nan=True,
)
_percentile = _at_fractions("percentile", "", skip_nan=False, whole=100)


@out_sharded
def percentile(
    a: ArrayLike,
    q: ArrayLike,
    axis: Axis = None,
    out: None = None,
    overwrite_input: bool = False,
    method: str = "linear",
    keepdims: bool = False,
    *,
    weights: ArrayLike | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """`quantile` for percentages `q` (0 to 100).

    >>> percentile(array([1.0, 2.0, 3.0, 5.0]), array([25, 50, 100]))
    Array([1.75, 2.5 , 5.  ], dtype=float32)
    """
    return _percentile(a, q, axis, out, overwrite_input, method, keepdims, weights=weights)


nanpercentile = _at_fractions(
    "nanpercentile",
    """`nanquantile` for percentages `q` (0 to 100).

    >>> nanpercentile(array([1.0, nan, 3.0, 4.0]), 50)
    Array(3., dtype=float32)
    """,
    skip_nan=True,
    whole=100,
)
median = _middle(
    "median",
    """The middle element over `axis`, or the mean of the two; a NaN makes it NaN.

    >>> median(array([3., 1., 2., 10.]))
    Array(2.5, dtype=float32)
    """,
    skip_nan=False,
)
nanmedian = _middle(
    "nanmedian",
    """The median over `axis` of the elements that are not NaN; NaN where there are none.

    >>> nanmedian(array([[1.0, nan, 3.0], [nan, nan, nan]]), axis=1)
    Array([ 2., nan], dtype=float32)
    """,
    skip_nan=True,
)
