"""Counts of values in bins: `histogram`, `bincount`, `digitize`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeAlias

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, get_aval, shape_of
from olympus_core.base.errors import (
    DTypeError,
    ShapeError,
    UnsupportedError,
    concrete_value_expected,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones, ones_like, zeros
from olympus_core.library.numpy.creation.ranges import linspace
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.manipulation.rearranging import flip
from olympus_core.library.numpy.manipulation.shapes import ravel, reshape
from olympus_core.library.numpy.reductions.sums import max as max_
from olympus_core.library.numpy.reductions.sums import min as min_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.signal.differences import diff
from olympus_core.library.numpy.sorting.searching import searchsorted
from olympus_core.library.operands import choose, operand
from olympus_core.library.promotion import check_arrays, promote_inexact

#: the least and the greatest value that is counted
Range: TypeAlias = "tuple[ArrayLike, ArrayLike] | Sequence[float] | Array | np.ndarray[Any, Any]"


@out_sharded
def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the count of each of 0, 1, 2, ... in a vector, or the sum of their `weights`.

    The length is the greatest element plus 1, at least `minlength`; or, as a trace needs
    (ConcretizationTypeError), exactly `length`: greater elements are then ignored.  Negative
    elements count as 0.  Raises DTypeError for values that are not integers, ShapeError for an
    array that is not a vector.

    >>> bincount(asarray([0, 2, 2]))
    Array([1, 0, 2], dtype=int32)
    """
    x, aval = operand("bincount", x)
    if dtypes.kind(aval.dtype) not in "iub":
        raise DTypeError(f"bincount needs integers, and got {aval.long_name()}")
    if aval.ndim != 1:
        raise ShapeError(f"bincount needs a vector, and got {aval.long_name()}")
    if weights is not None and shape_of(weights) != aval.shape:
        raise ShapeError(f"bincount needs {aval.size} weights, and got shape {shape_of(weights)}")
    least = operator.index(minlength)
    if length is None:
        if isinstance(x, Tracer):
            raise concrete_value_expected(
                f"bincount cannot know the shape of its result: the array is {x.origin()}",
                hint="pass length=, one more than the largest element",
            )
        length = max(least, int(np.max(np.asarray(x))) + 1 if aval.size else 0)
    else:
        length = dimension(length)
    values = ones_like(x, dtype=int) if weights is None else asarray(weights)
    return _counted(asarray(x), values, length)


@composite(static_argnames=("length",))
def _counted(x: Any, values: Any, length: int) -> Array:
    index = choose("bincount", x < 0, 0, x) if x.dtype.kind == "i" else x.astype("int32")
    result: Array = zeros((length,), values.dtype).at[index].add(values, mode="drop")
    return result


def digitize(
    x: ArrayLike, bins: ArrayLike, right: bool = False, *, method: str | None = None
) -> Array:
    """Return the index of the bin that contains each element, for bins with sorted edges.

    Bin i goes from edge i - 1 (included) to edge i (excluded); `right` includes the right edge
    instead.  The edges may also descend.  Raises ShapeError unless `bins` is a vector.

    >>> digitize(asarray([0.5, 2.0]), asarray([0.0, 1.0, 2.0]))
    Array([1, 3], dtype=int32)
    """
    check_arrays("digitize", x, bins)
    if len(shape_of(bins)) != 1:
        raise ShapeError(f"digitize needs a vector of bins, and got shape {shape_of(bins)}")
    if not shape_of(bins)[0]:
        return zeros(shape_of(x), "int32")
    return _digitized(x, bins, right=bool(right), method=method or "scan")


@composite(static_argnames=("right", "method"))
def _digitized(x: Any, bins: Any, *, right: bool, method: str) -> Array:
    side = "left" if right else "right"
    rising = searchsorted(bins, x, side=side, method=method)
    falling = shape_of(bins)[0] - searchsorted(flip(bins), x, side=side, method=method)
    return choose("digitize", bins[-1] >= bins[0], rising, falling)


def histogram_bin_edges(
    a: ArrayLike, bins: ArrayLike = 10, range: Range | None = None, weights: ArrayLike | None = None
) -> Array:
    """Return the edges of `bins` bins of equal width from the least to the greatest element.

    `range` overrides these bounds.  A vector `bins` is returned as the edges.  Raises
    UnsupportedError for the name of a rule.

    >>> histogram_bin_edges(asarray([0.0, 1.0, 2.0]), bins=2)
    Array([0., 1., 2.], dtype=float32)
    """
    if isinstance(bins, str):
        raise UnsupportedError(
            f"string values for `bins` not implemented: histogram has no rule {bins!r} to choose "
            "bins",
            hint="pass the number of bins",
        )
    check_arrays("histogram_bin_edges", a, bins)
    (a,) = promote_inexact(a)
    if shape_of(bins):
        return asarray(bins, get_aval(a).dtype)
    low, high = range if range is not None else _extent(a)
    low, high = (asarray(x, get_aval(a).dtype) for x in (low, high))
    if not isinstance(bins, SupportsIndex):
        raise DTypeError(f"histogram needs an integer number of bins, and got {bins!r}")
    return _edges(low, high, count=operator.index(bins))


@composite(static_argnames=("count",))
def _edges(low: Any, high: Any, *, count: int) -> Array:
    flat = low == high  # all values are equal: a bin of width 1 around them
    low, high = (
        choose("histogram", flat, low - 0.5, low),
        choose("histogram", flat, high + 0.5, high),
    )
    return linspace(low, high, count + 1, dtype=low.dtype)


def _extent(a: Any) -> tuple[Any, Any]:
    return (min_(a), max_(a)) if math.prod(shape_of(a)) else (0, 1)


def histogram(
    a: ArrayLike,
    bins: ArrayLike = 10,
    range: Range | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Return (count of elements in each bin, edges of the bins); see `histogram_bin_edges`.

    The last bin includes its right edge.  With `weights`, sums of weights; with `density`, values
    whose integral is 1.  Raises ShapeError for weights of another shape.

    >>> histogram(asarray([1.0, 2.0, 2.0, 3.0]), bins=2)[0]
    Array([1., 3.], dtype=float32)
    """
    check_arrays("histogram", a)
    if weights is None:
        (a,) = promote_inexact(a)
        weights = ones_like(a)
    else:
        if shape_of(weights) != shape_of(a):
            raise ShapeError("histogram needs weights of the shape of the values")
        a, weights = promote_inexact(a, weights)
    edges = histogram_bin_edges(a, bins, range, weights)
    return _histogram(ravel(a), ravel(weights), edges, density=bool(density)), edges


@composite(static_argnames=("density",))
def _histogram(a: Any, weights: Any, edges: Any, *, density: bool) -> Array:
    count = edges.size - 1
    place = searchsorted(edges, a, side="right")
    place = choose("histogram", a == edges[-1], count, place)
    counts = zeros((count + 2,), weights.dtype).at[place].add(weights, mode="drop")[1:-1]
    if density:
        counts = counts / diff(edges) / sum_(counts)
    return counts


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Range | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Return (count of points (x, y) in each bin, edges along x, edges along y).

    `bins` is a number or a vector of edges, for both axes, or a pair of them; see `histogram`.

    >>> histogram2d(asarray([0.0, 1.0]), asarray([0.0, 1.0]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    pair: list[Any] = (
        list(bins) if isinstance(bins, (list, tuple)) and len(bins) == 2 else [bins, bins]
    )
    counts, edges = histogramdd(stack([ravel(x), ravel(y)], axis=1), pair, range, weights, density)
    return counts, edges[0], edges[1]


def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Range | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Return (count of rows of the matrix `sample` in each bin, edges along each axis).

    `bins` is a number of bins, or for each axis a number or edges; `range` a pair for each axis,
    or None.  Raises ShapeError if their number is not the number of columns.

    >>> histogramdd(asarray([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0]
    Array([[1, 0],
           [0, 1]], dtype=int32)
    """
    (points,) = promote_inexact(operand("histogramdd", sample)[0])
    if weights is not None:
        (weights,) = promote_inexact(operand("histogramdd", weights)[0])
    if len(shape_of(points)) != 2:
        raise ShapeError(f"histogramdd needs a matrix of points, and got shape {shape_of(points)}")
    count, rank = shape_of(points)
    bins_of: list[Any] = list(bins) if isinstance(bins, (list, tuple)) else [bins] * rank
    ranges = list(range) if range is not None else [None] * rank
    if len(bins_of) != rank or len(ranges) != rank:
        raise ShapeError(f"histogramdd needs bins and ranges for {rank} axes")
    values = ones((count,), "int32") if weights is None else asarray(weights)
    columns = [points[:, i] for i in _numbers(rank)]
    edges = [histogram_bin_edges(c, b, r) for c, b, r in zip(columns, bins_of, ranges, strict=True)]
    return _histogramdd(columns, values, edges, density=bool(density)), edges


_numbers = range


@composite(static_argnames=("density",))
def _histogramdd(columns: Any, weights: Any, edges: Any, *, density: bool) -> Array:
    shape = tuple([e.size + 1 for e in edges])
    flat: Any = 0
    for x, e, n in zip(columns, edges, shape, strict=True):
        place = choose("histogram", x == e[-1], n - 2, searchsorted(e, x, side="right"))
        flat = flat * n + place
    counts = zeros((math.prod(shape),), weights.dtype).at[flat].add(weights, mode="drop")
    counts = reshape(counts, shape)[(slice(1, -1),) * len(shape)]
    if density:
        counts = counts / sum_(counts)
        for i, e in enumerate(edges):
            counts = counts / reshape(diff(e), [-1 if k == i else 1 for k in _numbers(len(shape))])
    return counts
