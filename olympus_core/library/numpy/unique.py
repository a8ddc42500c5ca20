"""numpy's unique elements: an array enters; its distinct elements, and where they are, leave.

How many there are depends on the values: outside of a trace they are looked at, and in a trace
the caller says how many to give, by `size`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_core import dtypes
from olympus_core.array import put, to_numpy
from olympus_core.avals import shape_of
from olympus_core.errors import ConcretizationError, ShapeError
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.numpy import reductions
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.cumulative import cumsum
from olympus_core.library.numpy.fills import full, zeros
from olympus_core.library.numpy.indexing import read
from olympus_core.library.numpy.joining import concatenate
from olympus_core.library.numpy.operands import choose
from olympus_core.library.numpy.orders import moveaxis
from olympus_core.library.numpy.ranges import arange
from olympus_core.library.numpy.selection import nonzero
from olympus_core.library.numpy.shapes import ravel, reshape
from olympus_core.library.promotion import convert
from olympus_core.primitives.elementwise.logic import ne_p
from olympus_core.primitives.shape import iota_p
from olympus_core.primitives.sort import sort_p
from olympus_core.tracer import Array, Tracer

__all__ = ["unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: Any = None,
    sorted: bool = True,
) -> Any:
    """The distinct elements in rising order; with `axis`, the distinct slices along it.

    return_index: also where each is found first; return_inverse: also which of them each element
    of `ar` is; return_counts: also how often each occurs.  equal_nan: all NaNs are one.  size:
    how many to give, which is needed in a trace; where there are fewer, the rest is `fill_value`,
    or the least element.  The result is sorted whatever `sorted` says.

    Raises ConcretizationError for a traced array and no size.

    >>> unique(array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    ar, aval = operand("unique", ar)
    wanted = (return_index, return_inverse, return_counts)
    if size is None:
        if isinstance(ar, Tracer):
            raise ConcretizationError(
                f"the number of distinct elements of a traced array {aval.long_name()} is not "
                "known: unique needs its size",
                hint="pass size=n, the number of elements to give",
            )
        results = _on_host(ar, axis, wanted, equal_nan)
    else:
        if not aval.size and size and fill_value is None:
            raise ShapeError("unique of no elements needs a fill_value to give any")
        results = _sized(ar, wanted, axis, equal_nan, operator.index(size), fill_value)
    return results if len(results) > 1 else results[0]


def _on_host(
    ar: Any, axis: int | None, wanted: tuple[bool, ...], equal_nan: bool
) -> tuple[Array, ...]:
    value = to_numpy(ar)
    on_host: Callable[..., Any] = np.unique  # its overloads know literal flags only
    found = on_host(value, *wanted, axis=axis, equal_nan=equal_nan)
    arrays = list(found) if isinstance(found, tuple) else [found]
    if wanted[1] and axis is None:
        arrays[1 + wanted[0]] = arrays[1 + wanted[0]].reshape(value.shape)
    return tuple([put(x) for x in arrays])


def _sorted_slices(ar: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """Slices along the first axis in order, where each differs from the one before, the order."""
    length = ar.shape[0]
    columns = reshape(ar, (length, math.prod(ar.shape[1:])))
    keys = [columns[:, i] for i in range(columns.shape[1])]
    places = iota_p.bind(dtype=dtypes.default_dtype("i"), shape=(length,), dimension=0)
    order = places  # of empty slices, which are all equal
    if keys:
        order = sort_p.bind(*keys, places, dimension=0, is_stable=True, num_keys=len(keys))[-1]
    ordered = read(columns, order)
    before, after = ordered[:-1], ordered[1:]
    differs = ne_p.bind(before, after)
    if equal_nan and dtypes.kind(ar.dtype) in "fc":  # two that are not themselves are both NaN
        differs = differs & ((before == before) | (after == after))
    first = full((1,), True, bool)
    mask = concatenate([first, reductions.any(differs, 1)]) if length else first[:0]
    return reshape(ordered, ar.shape), mask, order


@composite(static_argnames=("wanted", "axis", "equal_nan", "size"))
def _sized(
    ar: Any,
    wanted: tuple[bool, ...],
    axis: int | None,
    equal_nan: bool,
    size: int,
    fill_value: Any,
) -> tuple[Array, ...]:
    """The first `size` distinct slices, and what else is wanted."""
    shape = ar.shape
    index = dtypes.default_dtype("i")
    place = 0 if axis is None else canonical_axis(axis, len(shape), "the axis of unique")
    slices = ravel(ar) if axis is None else moveaxis(ar, place, 0)
    ordered, mask, order = _sorted_slices(slices, equal_nan)
    (starts,) = nonzero(mask, size=size)
    values = read(ordered, starts) if slices.size else zeros((size, *slices.shape[1:]), ar.dtype)
    if fill_value is not None:
        valid = arange(size) < reductions.sum(mask)
        valid = reshape(valid, (size, *[1] * (values.ndim - 1)))
        values = choose("unique", valid, values, convert(fill_value, ar.dtype))
    results = [moveaxis(values, 0, place)]
    if wanted[0]:
        results.append(read(order, starts) if shape_of(order)[0] else starts)
    if wanted[1]:
        which = zeros(mask.shape, index).at[order].set(cumsum(mask, dtype=index) - 1)
        results.append(which if axis is not None else reshape(which, shape))
    if wanted[2]:
        (ends,) = nonzero(mask, size=size + 1, fill_value=mask.size)
        (begins,) = nonzero(mask, size=size, fill_value=mask.size)
        results.append(ends[1:] - begins)
    return tuple(results)


class UniqueAll(NamedTuple):
    """The distinct elements, where each is first, which each element is, and how many there are."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The distinct elements, and how often each occurs."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The distinct elements, and which of them each element is."""

    values: Array
    inverse_indices: Array


def unique_all(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueAll:
    """`unique` with all that it can give; NaNs are all different."""
    return UniqueAll(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueCounts:
    """`unique` with how often each element occurs; NaNs are all different."""
    found = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCounts(*found)


def unique_inverse(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> UniqueInverse:
    """`unique` with which of them each element is; NaNs are all different."""
    found = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverse(*found)


def unique_values(x: Any, /, *, size: int | None = None, fill_value: Any = None) -> Array:
    """`unique` alone; NaNs are all different."""
    found: Array = unique(x, equal_nan=False, size=size, fill_value=fill_value)
    return found
