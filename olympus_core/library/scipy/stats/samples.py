"""Statistics of samples: the most frequent value, ranks, and the error of the mean."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones, zeros, zeros_like
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.functional import apply_along_axis
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import atleast_1d, ravel, reshape
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.cumulative import cumsum
from olympus_core.library.numpy.reductions.nan import nanstd
from olympus_core.library.numpy.reductions.statistics import std
from olympus_core.library.numpy.reductions.sums import any as any_
from olympus_core.library.numpy.reductions.sums import max as max_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import argmax, nonzero, where
from olympus_core.library.numpy.sorting.sets import unique
from olympus_core.library.numpy.sorting.sorting import argsort
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.transforms.vmapping import vmap


class ModeResult(NamedTuple):
    """The most frequent values, and their counts."""

    mode: Array
    count: Array  # type: ignore[assignment]


def _check_policy(name: str, nan_policy: str) -> None:
    """Raise an error unless `nan_policy` is "propagate"."""
    if nan_policy not in ("propagate", "omit", "raise"):
        raise ArgumentError(
            f"{name} got the illegal nan_policy value {nan_policy!r}; "
            "the policies are 'propagate', 'omit' and 'raise'"
        )
    if nan_policy != "propagate":
        raise UnsupportedError(f"{name} supports only nan_policy='propagate', not {nan_policy!r}")


def _most_frequent(x: Any) -> tuple[Any, Any]:
    """Return the least of the most frequent elements of a vector, and its count."""
    if not x.size:
        dtype = dtypes.default_dtype("f")
        return asarray(np.nan, dtype), asarray(0, dtype)
    values, counts = unique(x, return_counts=True, size=x.size)
    return values[argmax(counts)], max_(counts)


@composite(static_argnames=("axis", "nan_policy", "keepdims"))
def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Return the most frequent value along `axis`, the least of several, and its count.

    a: an array. axis: None for all elements. keepdims: True to keep the axis, with length 1.
    nan_policy: only "propagate".

    Raises ArgumentError for an unknown policy, UnsupportedError for another one, ShapeError for an
    axis that `a` does not have.

    >>> mode(array([[1, 2], [1, 3], [4, 3]])).mode
    Array([1, 3], dtype=int32)
    """
    check_arrays("mode", a)
    _check_policy("mode", nan_policy)
    x = atleast_1d(a)
    if axis is None:
        shape = (1,) * x.ndim if keepdims else ()
        x, axis = ravel(x), 0
    else:
        axis = canonical_axis(axis, x.ndim)
        shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape) if keepdims or i != axis)
    columns = moveaxis(x, axis, 0)
    columns = reshape(columns, (columns.shape[0], math.prod(columns.shape[1:])))
    if not columns.shape[1]:
        return ModeResult(zeros(shape, columns.dtype), zeros(shape, np.int32))
    values, counts = vmap(_most_frequent, in_axes=1)(columns)
    return ModeResult(reshape(values, shape), reshape(counts, shape))


_METHODS = ("average", "min", "max", "dense", "ordinal")


def _ranks(x: Any, method: str) -> Any:
    """Return the ranks of the elements of a vector without nan."""
    dtype = dtypes.default_dtype("f")
    order = argsort(x)
    place = zeros_like(order).at[order].set(arange(x.size, dtype=order.dtype))
    if method == "ordinal":
        return convert(place + 1, dtype)
    ordered = x[order]
    is_new = concatenate([ones(1, bool), ordered[1:] != ordered[:-1]])
    group = cumsum(is_new)[place]
    if method == "dense":
        return convert(group, dtype)
    starts = nonzero(is_new, size=x.size + 1, fill_value=x.size)[0].astype(dtype)
    first, end = starts[group - 1] + 1, starts[group]
    return {"min": first, "max": end}.get(method, 0.5 * (first + end))


@composite(static_argnames=("method", "axis", "nan_policy"))
def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """Return the ranks of the elements of `a`, from 1, as floats.

    method: the rank of equal elements: "average", "min" or "max" of their places, "dense" to count
    them as one, "ordinal" for their places. axis: None for all elements as a vector.
    With a nan, all ranks are nan. nan_policy: only "propagate".

    Raises ArgumentError for an unknown method or policy, UnsupportedError for another policy.

    >>> rankdata(array([3, 1, 3]))
    Array([2.5, 1. , 2.5], dtype=float32)
    """
    check_arrays("rankdata", a)
    _check_policy("rankdata", nan_policy)
    if method not in _METHODS:
        raise ArgumentError(
            f"rankdata got the unknown method {method!r}; the methods are {', '.join(_METHODS)}"
        )
    if axis is not None:
        ranked: Array = apply_along_axis(lambda x: rankdata(x, method), axis, asarray(a))
        return ranked
    x = ravel(a)
    if not x.size:
        return zeros(0, dtypes.default_dtype("f"))
    return where(any_(isnan(x)), np.nan, _ranks(x, method))


@composite(static_argnames=("axis", "ddof", "nan_policy", "keepdims"))
def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Return the standard error of the mean along `axis`: the standard deviation by sqrt(n).

    a: an array; integers become floats. axis: None for all elements. ddof: the deviation is divided
    by n - ddof. nan_policy: "propagate", or "omit" to omit nan. keepdims: True to keep the axis.

    Raises ArgumentError for another policy, ShapeError for an axis that `a` does not have.

    >>> sem(array([1.0, 2.0, 3.0, 4.0]))
    Array(0.64549726, dtype=float32)
    """
    check_arrays("sem", a)
    x = asarray(promote_inexact(a)[0])
    if nan_policy == "propagate":
        size = x.size if axis is None else x.shape[canonical_axis(axis, x.ndim)]
        return std(x, axis, ddof=ddof, keepdims=keepdims) / sqrt(size).astype(x.dtype)
    if nan_policy == "omit":
        count = sum_(~isnan(x), axis, keepdims=keepdims)
        return nanstd(x, axis, ddof=ddof, keepdims=keepdims) / sqrt(count).astype(x.dtype)
    raise ArgumentError(f"sem got nan_policy {nan_policy!r}; it takes 'propagate' and 'omit'")
