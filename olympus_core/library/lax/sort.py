"""The sorting functions of `olympus.lax`."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import dimension, get_aval
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.shape import iota_p, transpose_p
from olympus_core.primitives.slicing import slice_p
from olympus_core.primitives.sort import sort_p, top_k_p

_INT32 = np.dtype("int32")


def _place(name: str, axis: int, ndim: int) -> int:
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise ShapeError(f"axis {axis} is out of bounds for array of dimension {ndim}, in {name}")
    return axis % ndim


@overload
def sort(
    operand: ArrayLike, dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> Array: ...
@overload
def sort(
    operand: Sequence[ArrayLike], dimension: int = -1, is_stable: bool = True, num_keys: int = 1
) -> tuple[Array, ...]: ...
def sort(
    operand: ArrayLike | Sequence[ArrayLike],
    dimension: int = -1,
    is_stable: bool = True,
    num_keys: int = 1,
) -> Array | tuple[Array, ...]:
    """Sort an array along `dimension`, or a sequence of arrays of one shape by the first ones.

    num_keys: the number of leading arrays that are keys, compared in order; the others follow.
    is_stable: keep the order of equal keys.  NaNs come last, and -0 equals 0.

    Raises ShapeError for arrays of different shapes, or a dimension that they do not have.

    >>> sort(array([3, 1, 2]))
    Array([1, 2, 3], dtype=int32)
    """
    arrays = list(operand) if isinstance(operand, Sequence) else [operand]
    check_arrays("sort", *arrays)
    if not arrays:
        raise ShapeError("Sort requires at least one operand, and got none")
    out = sort_p.bind(
        *arrays,
        dimension=_place("sort", dimension, get_aval(arrays[0]).ndim),
        is_stable=bool(is_stable),
        num_keys=operator.index(num_keys),
    )
    return tuple(out) if isinstance(operand, Sequence) else out[0]


def sort_key_val(
    keys: ArrayLike, values: ArrayLike, dimension: int = -1, is_stable: bool = True
) -> tuple[Array, Array]:
    """Return the sorted `keys`, and `values` in the same order.

    >>> sort_key_val(array([3, 1, 2]), array([0, 1, 2]))
    (Array([1, 2, 3], dtype=int32), Array([1, 2, 0], dtype=int32))
    """
    first, second = sort((keys, values), dimension=dimension, is_stable=is_stable, num_keys=1)
    return first, second


def top_k(operand: ArrayLike, k: int, *, axis: int = -1) -> list[Array]:
    """Return the `k` greatest elements along `axis`, descending, and their indices as int32.

    Of equal elements the first comes first; a NaN is greater than all.

    Raises ShapeError if the axis has fewer than k elements, and DTypeError for complex numbers.

    >>> top_k(array([3., 1., 2.]), 2)
    [Array([3., 2.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    check_arrays("top_k", operand)
    aval = get_aval(operand)
    if dtypes.kind(aval.dtype) == "c":
        raise DTypeError(f"top_k is not compatible with complex inputs: got {aval.long_name()}")
    ndim = aval.ndim
    place = _place("top_k", axis, ndim)
    swap = (*[i for i in range(ndim) if i != place], place)
    moved = operand if place == ndim - 1 else transpose_p.bind(operand, permutation=swap)
    results = top_k_p.bind(moved, k=dimension(k))
    if place != ndim - 1:
        back = tuple(map(swap.index, range(ndim)))
        results = [transpose_p.bind(x, permutation=back) for x in results]
    return results


def _candidate_count(
    name: str, operand: Any, k: int, axis: int, recall_target: float, size: int, aggregates: bool
) -> int:
    """Return the size of a result of `approx_max_k` along `axis`: `k` if the result is aggregated.

    Otherwise that of XLA's partial reduction, a multiple of a tile of a TPU: Chern et al., TPU-KNN
    (2022).  `size` is the size to reach the recall for, by default the operand's.
    """
    aval = get_aval(operand)
    if dtypes.kind(aval.dtype) != "f":
        raise ArgumentError(
            f"operand must be a floating type: {name} got the type {aval.long_name()}"
        )
    if k <= 0:
        raise ArgumentError(f"k must be positive, got {k} in {name}")
    full: int = aval.shape[axis]
    if full < k:
        raise ShapeError(
            f"k must be smaller than the size of reduction_dim {full}, got {k} in {name}"
        )
    tile = 1024 if aval.ndim == 1 else 128
    if aggregates:
        return k
    if full <= tile:
        return full
    if k == 1:
        return tile
    if recall_target == 1:
        return full
    needed = min(max(int((1 - k) / math.log(recall_target)), tile), full)
    most = math.ceil(math.log2(math.ceil(full / tile)))
    halvings = min(((full if size < 0 else size) // needed).bit_length() - 1, most)
    if halvings <= 0:
        return full
    return math.ceil(math.ceil(full / tile) / (1 << halvings)) * tile


def approx_max_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Return the `k` greatest elements along an axis, descending, and their indices.

    The result is exact (recall 1) for every `recall_target`.  Without `aggregate_to_topk` there
    are as many elements as a TPU needs to reach `recall_target` for an input of the given size.

    Raises ArgumentError for integers, and ShapeError for a `k` that exceeds the size.

    >>> approx_max_k(array([3.0, 1.0, 2.0]), 2)
    [Array([3., 2.], dtype=float32), Array([0, 2], dtype=int32)]
    """
    check_arrays("approx_max_k", operand)
    axis = _place("approx_max_k", reduction_dimension, get_aval(operand).ndim)
    size = reduction_input_size_override
    count = _candidate_count(
        "approx_max_k", operand, k, axis, recall_target, size, aggregate_to_topk
    )
    return top_k(operand, count, axis=axis)


def approx_min_k(
    operand: ArrayLike,
    k: int,
    reduction_dimension: int = -1,
    recall_target: float = 0.95,
    reduction_input_size_override: int = -1,
    aggregate_to_topk: bool = True,
) -> list[Array]:
    """Return the `k` least elements along an axis, ascending, and their indices.

    The result is exact (recall 1) for every `recall_target`.  Without `aggregate_to_topk` there
    are as many elements as a TPU needs to reach `recall_target` for an input of the given size.

    Raises ArgumentError for integers, and ShapeError for a `k` that exceeds the size.

    >>> approx_min_k(array([3.0, 1.0, 2.0]), 2)
    [Array([1., 2.], dtype=float32), Array([1, 2], dtype=int32)]
    """
    check_arrays("approx_min_k", operand)
    aval = get_aval(operand)
    axis = _place("approx_min_k", reduction_dimension, aval.ndim)
    size = reduction_input_size_override
    count = _candidate_count(
        "approx_min_k", operand, k, axis, recall_target, size, aggregate_to_topk
    )
    places = iota_p.bind(dtype=_INT32, shape=aval.shape, dimension=axis)
    ordered = sort_p.bind(operand, places, dimension=axis, is_stable=True, num_keys=1)
    limits = tuple([count if i == axis else n for i, n in enumerate(aval.shape)])
    starts = (0,) * aval.ndim
    return [
        slice_p.bind(x, start_indices=starts, limit_indices=limits, strides=None) for x in ordered
    ]
