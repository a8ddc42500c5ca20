"""Sets, as vectors of distinct elements in ascending order: `unique`, `isin`, `union1d`.

The number of elements depends on the values: outside of a trace it is computed, and under a
trace the caller specifies it by `size`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, NamedTuple, overload

import numpy as np

from olympus_core.arrays.device_array import array_to_numpy, put_array
from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, shape_of
from olympus_core.base.dimensions.expression import known_at_least
from olympus_core.base.errors import ArgumentError, ShapeError, concrete_value_expected
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full, zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.arithmetic import minimum
from olympus_core.library.numpy.indexing.reading import read
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import ravel, reshape
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.cumulative import cumsum
from olympus_core.library.numpy.reductions.sums import any as any_of
from olympus_core.library.numpy.reductions.sums import sum as sum_of
from olympus_core.library.numpy.sorting.searching import nonzero, searchsorted, where
from olympus_core.library.numpy.sorting.sorting import argsort, sort
from olympus_core.library.operands import choose, operand
from olympus_core.library.promotion import convert, promote_dtypes
from olympus_core.primitives.elementwise.logic import ne_p
from olympus_core.primitives.shape import iota_p
from olympus_core.primitives.sort import sort_p


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[False] = False,
    return_inverse: Literal[False] = False,
    return_counts: Literal[False] = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: Literal[True],
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> tuple[Array, ...]: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    *,
    return_inverse: Literal[True],
    return_counts: bool = False,
    axis: int | None = None,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> tuple[Array, ...]: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    *,
    return_counts: Literal[True],
    axis: int | None = None,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> tuple[Array, ...]: ...


@overload
def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]: ...


def unique(
    ar: ArrayLike,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
    sorted: bool = True,
) -> Array | tuple[Array, ...]:
    """Return the distinct elements in ascending order; with `axis`, the distinct slices along it.

    return_index: also the first index of each; return_inverse: also the index in the result of each
    element of `ar`; return_counts: also the count of each.  equal_nan: all NaNs are one.  size:
    the number to return, which a trace needs; missing elements are `fill_value`, or the least
    element.  `sorted` has no effect: the result is always sorted.

    Raises ConcretizationTypeError for a traced array without a size.

    >>> unique(array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    ar, aval = operand("unique", ar)
    requested = (return_index, return_inverse, return_counts)
    if size is None:
        if isinstance(ar, Tracer):
            raise concrete_value_expected(
                "The error arose for the first argument of jnp.unique(): the number of distinct "
                f"elements of a traced array {aval.long_name()} is not known",
                hint="pass size=n, the number of elements to return",
            )
        results = _on_host(ar, axis, requested, equal_nan)
    else:
        if not aval.size and size and fill_value is None:
            raise ShapeError("unique of an empty array needs a fill_value if size is above 0")
        results = _sized(ar, requested, axis, equal_nan, dimension(size), fill_value)
    return results if len(results) > 1 else results[0]


def _on_host(
    ar: Any, axis: int | None, requested: tuple[bool, ...], equal_nan: bool
) -> tuple[Array, ...]:
    value = array_to_numpy(ar)
    on_host: Callable[..., Any] = np.unique  # its overloads accept only literal flags
    results = on_host(value, *requested, axis=axis, equal_nan=equal_nan)
    arrays = list(results) if isinstance(results, tuple) else [results]
    if requested[1] and axis is None:
        arrays[1 + requested[0]] = arrays[1 + requested[0]].reshape(value.shape)
    return tuple([put_array(x) for x in arrays])


def _sorted_slices(ar: Any, equal_nan: bool) -> tuple[Any, Any, Any]:
    """Return slices along the first axis in order, the mask of first ones, and the permutation."""
    length = ar.shape[0]
    columns = reshape(ar, (length, math.prod(ar.shape[1:])))
    keys = [columns[:, i] for i in range(columns.shape[1])]
    places = iota_p.bind(dtype=dtypes.default_dtype("i"), shape=(length,), dimension=0)
    order = places  # for empty slices, which are all equal
    if keys:
        order = sort_p.bind(*keys, places, dimension=0, is_stable=True, num_keys=len(keys))[-1]
    ordered = read(columns, order)
    before, after = ordered[:-1], ordered[1:]
    differs = ne_p.bind(before, after)
    if equal_nan and dtypes.kind(ar.dtype) in "fc":  # NaNs differ from themselves
        differs = differs & ((before == before) | (after == after))
    first = full((1,), True, bool)
    mask = concatenate([first, any_of(differs, 1)]) if length else first[:0]
    return reshape(ordered, ar.shape), mask, order


@composite(static_argnames=("requested", "axis", "equal_nan", "size"))
def _sized(
    ar: Any,
    requested: tuple[bool, ...],
    axis: int | None,
    equal_nan: bool,
    size: int,
    fill_value: Any,
) -> tuple[Array, ...]:
    """Return the first `size` distinct slices, and the other requested results."""
    shape = ar.shape
    index = dtypes.default_dtype("i")
    place = 0 if axis is None else canonical_axis(axis, len(shape), "the axis of unique")
    slices = ravel(ar) if axis is None else moveaxis(ar, place, 0)
    ordered, mask, order = _sorted_slices(slices, equal_nan)
    (starts,) = nonzero(mask, size=size)
    values = read(ordered, starts) if slices.size else zeros((size, *slices.shape[1:]), ar.dtype)
    if fill_value is not None:
        valid = arange(size) < sum_of(mask)
        valid = reshape(valid, (size, *[1] * (values.ndim - 1)))
        values = choose("unique", valid, values, convert(fill_value, ar.dtype))
    results = [moveaxis(values, 0, place)]
    if requested[0]:
        results.append(read(order, starts) if shape_of(order)[0] else starts)
    if requested[1]:
        inverse = zeros(mask.shape, index).at[order].set(cumsum(mask, dtype=index) - 1)
        results.append(inverse if axis is not None else reshape(inverse, shape))
    if requested[2]:
        (ends,) = nonzero(mask, size=size + 1, fill_value=mask.size)
        (begins,) = nonzero(mask, size=size, fill_value=mask.size)
        results.append(ends[1:] - begins)
    return tuple(results)


class UniqueAll(NamedTuple):
    """The distinct elements, their first indices, the index of each element, and the counts."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """The distinct elements, and the count of each."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """The distinct elements, and the index in them of each element of the array."""

    values: Array
    inverse_indices: Array


def unique_all(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueAll:
    """Apply `unique` with all its results; NaNs are all different.

    >>> unique_all(array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    return UniqueAll(
        *unique(x, True, True, True, equal_nan=False, size=size, fill_value=fill_value)
    )


def unique_counts(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueCounts:
    """Apply `unique` with the count of each element; NaNs are all different.

    >>> unique_counts(array([3, 1, 3])).counts
    Array([1, 2], dtype=int32)
    """
    results = unique(x, return_counts=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueCounts(*results)


def unique_inverse(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> UniqueInverse:
    """Apply `unique` with the index of each element in the result; NaNs are all different.

    >>> unique_inverse(array([3, 1, 3])).inverse_indices
    Array([1, 0, 1], dtype=int32)
    """
    results = unique(x, return_inverse=True, equal_nan=False, size=size, fill_value=fill_value)
    return UniqueInverse(*results)


def unique_values(
    x: ArrayLike, /, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Apply `unique` without further results; NaNs are all different.

    >>> unique_values(array([3, 1, 3]))
    Array([1, 3], dtype=int32)
    """
    values: Array = unique(x, equal_nan=False, size=size, fill_value=fill_value)
    return values


_METHODS = ("auto", "compare_all", "binary_search", "sort")
_FEW = 64  # up to so many comparisons of each element are faster than a search


def isin(
    element: ArrayLike,
    test_elements: ArrayLike,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    method: str = "auto",
) -> Array:
    """Return True for each element of `element` that is in `test_elements`.

    The result has the shape of `element`.  assume_unique: has no effect.  invert: return the
    negation.  method: the algorithm, "compare_all", "binary_search", "sort" or "auto"; the result
    is the same.

    Raises ArgumentError for another method.

    >>> isin(array([1, 2, 3]), array([2, 5]))
    Array([False,  True, False], dtype=bool)
    """
    if method not in _METHODS:
        raise ArgumentError(f"isin has the methods {', '.join(_METHODS)}, and got {method!r}")
    x, y = operand("isin", element)[0], operand("isin", test_elements)[0]
    return _isin(x, y, invert=bool(invert), method=method)


@composite(static_argnames=("invert", "method"))
def _isin(element: Any, test_elements: Any, *, invert: bool, method: str) -> Array:
    x, y = (asarray(v) for v in promote_dtypes(element, test_elements))
    y = ravel(y)
    if not y.size:
        return full(x.shape, invert, bool)
    is_few = method == "auto" and not known_at_least(y.size, _FEW + 1)
    if method == "compare_all" or is_few or dtypes.kind(y.dtype) == "c":
        is_member = any_of(x[..., None] == y, axis=-1)
    else:
        ordered = sort(y)
        places = minimum(searchsorted(ordered, x), y.size - 1)
        is_member = read(ordered, places) == x
    return ~is_member if invert else is_member


def _flat(name: str, ar1: Any, ar2: Any) -> tuple[Array, Array]:
    """Return both arrays as vectors of one dtype."""
    first, second = (asarray(operand(name, x)[0]) for x in (ar1, ar2))
    first, second = promote_dtypes(ravel(first), ravel(second))
    return first, second


def _differs(ordered: Any) -> Any:
    """Return True for each element but the first of a sorted vector that differs from the last."""
    before, after = ordered[:-1], ordered[1:]
    differs = before != after
    if dtypes.kind(ordered.dtype) in "fc":  # two that are not themselves are both NaN
        differs = differs & ((before == before) | (after == after))
    return differs


def _first_of_each(ordered: Any) -> Any:
    """Return True for each element of a sorted vector that is the first of its equals."""
    true = full((min(1, ordered.size),), True, bool)
    return concatenate([true, _differs(ordered)]) if ordered.size else true


def _selected(name: str, mask: Any, size: int | None) -> tuple[Any, Any]:
    """Return (the first `size` positions where `mask` is True, a mask of the valid ones)."""
    if size is None:
        if isinstance(mask, Tracer):
            raise concrete_value_expected(
                f"{name} needs a size for traced arrays, because the number of its elements is "
                "not known",
                hint="pass size=n, the number of elements to return",
            )
        size = int(sum_of(mask))
    (places,) = nonzero(mask, size=int(size))
    return places, arange(int(size)) < sum_of(mask)


def _given(values: Any, places: Any, valid: Any, fill_value: Any) -> Array:
    """Return the values at the positions; for invalid ones the fill value, or the least value."""
    if not values.size:
        return full(places.shape, 0 if fill_value is None else fill_value, values.dtype)
    candidates = read(values, places)
    fill = candidates[:1] if fill_value is None else convert(fill_value, values.dtype)
    return where(valid, candidates, fill)


def union1d(
    ar1: ArrayLike, ar2: ArrayLike, *, size: int | None = None, fill_value: ArrayLike | None = None
) -> Array:
    """Return the elements that are in either array, each once.

    size: the number to return, which a trace needs; missing elements are `fill_value`, or the least
    element.

    Raises ConcretizationTypeError for traced arrays without a size.

    >>> union1d(array([3, 1]), array([1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    union: Array = unique(
        concatenate(list(_flat("union1d", ar1, ar2))), size=size, fill_value=fill_value
    )
    return union


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: Literal[False] = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    return_indices: Literal[True],
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool,
    return_indices: Literal[True],
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> tuple[Array, Array, Array]: ...


@overload
def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]: ...


def intersect1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    return_indices: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array | tuple[Array, Array, Array]:
    """Return the elements that are in both arrays, each once.

    assume_unique: neither array has an element twice.  return_indices: also the first index of each
    in the one and in the other array, flattened; an array's length for a missing one.  size and
    fill_value as in `union1d`.

    Raises ConcretizationTypeError for traced arrays without a size.

    >>> intersect1d(array([5, 3, 9]), array([9, 7, 3]))
    Array([3, 9], dtype=int32)
    """
    first, second = _flat("intersect1d", ar1, ar2)
    order = argsort(first)
    ordered = read(first, order) if first.size else first
    mask = _first_of_each(ordered) & isin(ordered, second)
    places, valid = _selected("intersect1d", mask, size)
    values = _given(ordered, places, valid, fill_value)
    if not return_indices:
        return values
    order2 = argsort(second)
    if not first.size or not second.size:
        return values, full(places.shape, first.size, int), full(places.shape, second.size, int)
    there = minimum(searchsorted(read(second, order2), values), second.size - 1)
    return (
        values,
        where(valid, read(order, places), first.size),
        where(valid, read(order2, there), second.size),
    )


def setdiff1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the elements of `ar1` that are not in `ar2`, each once, in the dtype of `ar1`.

    assume_unique: `ar1` has no element twice; its order is kept.  size as in `union1d`; missing
    elements are `fill_value`, or 0.

    Raises ConcretizationTypeError for traced arrays without a size.

    >>> setdiff1d(array([5, 3, 9]), array([3, 7]))
    Array([5, 9], dtype=int32)
    """
    values = ravel(asarray(operand("setdiff1d", ar1)[0]))
    mask = full(values.shape, True, bool)
    if not assume_unique:
        values = sort(values)
        mask = _first_of_each(values)
    mask = mask & isin(values, operand("setdiff1d", ar2)[0], invert=True)
    places, valid = _selected("setdiff1d", mask, size)
    return _given(values, places, valid, 0 if fill_value is None else fill_value)


def setxor1d(
    ar1: ArrayLike,
    ar2: ArrayLike,
    assume_unique: bool = False,
    *,
    size: int | None = None,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the elements that are in exactly one of the arrays, each once.

    assume_unique: neither array has an element twice.  size and fill_value as in `union1d`.

    Raises ConcretizationTypeError for traced arrays without a size.

    >>> setxor1d(array([5, 3, 9]), array([3, 7]))
    Array([5, 7, 9], dtype=int32)
    """
    first, second = _flat("setxor1d", ar1, ar2)
    ordered = sort(concatenate([first, second]))
    mask = _first_of_each(ordered)
    if assume_unique:
        true = full((min(1, ordered.size),), True, bool)
        mask = mask & concatenate([_differs(ordered), true]) if ordered.size else mask
    else:
        mask = mask & ~(isin(ordered, first) & isin(ordered, second))
    places, valid = _selected("setxor1d", mask, size)
    return _given(ordered, places, valid, fill_value)
