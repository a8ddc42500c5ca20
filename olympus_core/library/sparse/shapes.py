"""Shapes of BCOO arrays: sums along axes, slices, joins, and other layouts."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base.errors import ArgumentError, ShapeError, UnsupportedError
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axes, canonical_axis
from olympus_core.library.lax.shape import broadcast_in_dim
from olympus_core.library.lax.slicing import dynamic_slice_in_dim
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.indexing.index_arrays import ravel_multi_index, unravel_index
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.manipulation.padding import pad
from olympus_core.library.numpy.manipulation.rearranging import flip
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, reshape
from olympus_core.library.numpy.manipulation.transposing import transpose
from olympus_core.library.numpy.reductions.sums import all as all_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.sparse.base import (
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    shape_tuple,
)
from olympus_core.library.sparse.coordinates import (
    BCOO,
    bcoo_fromdense,
    bcoo_sum_duplicates,
    bcoo_transpose,
    full_parts,
    is_within,
    masked,
)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> BCOO:
    """Return the sums along `axes`.

    >>> bcoo_reduce_sum(BCOO.fromdense(array([[0.0, 1.0], [2.0, 3.0]])), axes=(0,)).todense()
    Array([2., 4.], dtype=float32)
    """
    every = canonical_axes(axes, mat.ndim)
    first_dense = mat.n_batch + mat.n_sparse
    batch = [i for i in every if i < mat.n_batch]
    columns = [i for i in range(mat.n_sparse) if i + mat.n_batch not in every]
    data, indices = full_parts(mat)
    data = masked(data, is_within(indices, mat.sparse_shape))
    shift = mat.n_batch + 1 - first_dense
    dense = tuple(i + shift for i in every if i >= first_dense)
    data = sum_(data, axis=dense) if dense else data
    indices = indices[..., np.asarray(columns, np.int32)]
    # a batch axis that is summed joins the elements of its batches
    others = [i for i in range(mat.n_batch) if i not in batch]
    data = transpose(data, (*others, *batch, *range(mat.n_batch, data.ndim)))
    indices = transpose(indices, (*others, *batch, mat.n_batch, mat.n_batch + 1))
    count = mat.nse * math.prod(mat.shape[i] for i in batch)
    outer = tuple(mat.shape[i] for i in others)
    data = reshape(data, (*outer, count, *data.shape[mat.n_batch + 1 :]))
    indices = reshape(indices, (*outer, count, len(columns)))
    return BCOO((data, indices), shape=[n for i, n in enumerate(mat.shape) if i not in every])


def bcoo_broadcast_in_dim(
    mat: BCOO,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    sharding: None = None,
) -> BCOO:
    """Return the array with new axes and longer axes of length 1; see `lax.broadcast_in_dim`.

    New axes before the first sparse one are batch axes; after the last sparse one, dense axes. A
    sparse axis of length 1 becomes longer by copies of its elements.

    >>> mat = BCOO.fromdense(array([0.0, 1.0]))
    >>> bcoo_broadcast_in_dim(mat, shape=(3, 2), broadcast_dimensions=(1,)).shape
    (3, 2)
    """
    dense = broadcast_in_dim(mat.todense(), tuple(shape), tuple(broadcast_dimensions))
    places = list(broadcast_dimensions)
    n_batch = places[mat.n_batch] if mat.n_batch < mat.ndim else len(shape)
    ends = mat.n_batch + mat.n_sparse
    n_dense = len(shape) - places[ends] if mat.n_dense else 0
    sizes = tuple(shape)
    sparse = sizes[n_batch : len(sizes) - n_dense]
    old = [mat.shape[places.index(i)] if i in places else 1 for i in range(len(sizes))]
    copies = math.prod(
        n for n, k in zip(sparse, old[n_batch : len(sizes) - n_dense], strict=True) if n != k
    )
    return bcoo_fromdense_like(dense, mat, n_batch, n_dense, mat.nse * copies)


def bcoo_fromdense_like(dense: Any, mat: BCOO, n_batch: int, n_dense: int, nse: int) -> BCOO:
    """Return a dense array as BCOO with at most `nse` elements, and the index dtype of `mat`."""
    size = math.prod(dense.shape[n_batch : dense.ndim - n_dense])
    return bcoo_fromdense(
        dense,
        nse=min(nse, size),
        n_batch=n_batch,
        n_dense=n_dense,
        index_dtype=mat.indices.dtype,
    )


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Return arrays with equal kinds of axes joined along a batch or sparse dimension.

    Raises ArgumentError for arrays that do not match, UnsupportedError for a dense dimension.

    >>> mat = BCOO.fromdense(array([0.0, 1.0]))
    >>> bcoo_concatenate([mat, mat], dimension=0).todense()
    Array([0., 1., 0., 1.], dtype=float32)
    """
    first = operands[0]
    kinds = {(m.n_batch, m.n_sparse, m.n_dense) for m in operands}
    if len(kinds) != 1:
        raise ArgumentError(
            "bcoo_concatenate requires inputs to have matching nbatch, nsparse, ndense, and got "
            f"{sorted(kinds)}"
        )
    axis = canonical_axis(dimension, first.ndim)
    others = {tuple(n for i, n in enumerate(m.shape) if i != axis) for m in operands}
    if len(others) != 1:
        raise ShapeError(f"bcoo_concatenate needs equal shapes besides dimension {axis}")
    if axis >= first.n_batch + first.n_sparse:
        raise UnsupportedError("Concatenation along dense dimensions.")
    total = sum(m.shape[axis] for m in operands)
    shape = [total if i == axis else n for i, n in enumerate(first.shape)]
    if axis < first.n_batch:
        nse = max(m.nse for m in operands)
        parts = [full_parts(_with_nse(m, nse)) for m in operands]
        data, indices = (concatenate(list(p), axis=axis) for p in zip(*parts, strict=True))
        return BCOO((data, indices), shape=shape)
    column, start = axis - first.n_batch, 0
    datas, places = [], []
    for m in operands:
        data, indices = full_parts(m)
        padding = ~is_within(indices, m.sparse_shape)
        indices = indices.at[..., column].add(start)
        end = asarray(shape[first.n_batch : first.n_batch + first.n_sparse], indices.dtype)
        places.append(where(padding[..., None], end, indices))
        datas.append(masked(data, ~padding))
        start += m.shape[axis]
    data = concatenate(datas, axis=first.n_batch)
    return BCOO((data, concatenate(places, axis=first.n_batch)), shape=shape)


def _with_nse(mat: BCOO, nse: int) -> BCOO:
    """Return the array with more padding."""
    data, indices = full_parts(mat)
    extra = nse - mat.nse
    if not extra:
        return BCOO((data, indices), shape=mat.shape)
    widths = [(0, extra if i == mat.n_batch else 0) for i in range(data.ndim)]
    padding = broadcast_to(
        asarray(mat.sparse_shape, indices.dtype), (*mat.batch_shape, extra, mat.n_sparse)
    )
    indices = concatenate([indices, padding], axis=mat.n_batch)
    return BCOO((pad(data, widths), indices), shape=mat.shape)


def bcoo_reshape(
    mat: BCOO,
    *,
    new_sizes: Sequence[int],
    dimensions: Sequence[int] | None = None,
    sharding: None = None,
) -> BCOO:
    """Return the array with other sparse axes of the same size, or other batch axes.

    new_sizes: the new shape, in which the batch axes have the same size together, and so have the
    sparse and the dense axes. dimensions: an order of the axes before.

    Raises ShapeError for a shape that mixes batch, sparse and dense axes.

    >>> bcoo_reshape(BCOO.fromdense(array([[0.0, 1.0]])), new_sizes=(2,)).todense()
    Array([0., 1.], dtype=float32)
    """
    if dimensions is not None and list(dimensions) != list(range(mat.ndim)):
        mat = bcoo_transpose(mat, permutation=dimensions)
    sizes = list(_without_unknown(new_sizes, mat.size))
    if math.prod(sizes) != mat.size:
        raise ShapeError(f"cannot reshape an array of shape {mat.shape} to {tuple(sizes)}")
    n_batch = _prefix(sizes, math.prod(mat.batch_shape), mat.n_batch, "batch and sparse")
    rest = sizes[n_batch:]
    n_dense = mat.n_dense
    if n_dense:
        n_dense = _prefix(rest[::-1], math.prod(mat.dense_shape), n_dense, "sparse and dense")
    dense = rest[len(rest) - n_dense :]
    sparse = tuple(rest[: len(rest) - n_dense])
    data, indices = full_parts(mat)
    batch = sizes[:n_batch]
    data = reshape(data, (*batch, mat.nse, *dense))
    indices = reshape(indices, (*batch, *indices.shape[mat.n_batch :]))
    if sparse != mat.sparse_shape:
        inside = is_within(indices, mat.sparse_shape)
        columns = tuple(indices[..., i] for i in range(mat.n_sparse))
        flat = ravel_multi_index(columns, mat.sparse_shape, mode="clip")
        split = stack(unravel_index(flat, sparse), axis=-1).astype(indices.dtype)
        indices = where(inside[..., None], split, asarray(sparse, indices.dtype))
    return BCOO((data, indices), shape=sizes, unique_indices=mat.unique_indices)


def _without_unknown(sizes: Sequence[int], total: int) -> Sequence[int]:
    """Return sizes with -1 replaced."""
    known = math.prod(n for n in sizes if n != -1)
    return [total // known if n == -1 else operator.index(n) for n in sizes]


def _prefix(sizes: Sequence[int], size: int, count: int, kinds: str) -> int:
    """Return the number of first axes that have a size together; ShapeError if none."""
    if not count:
        return 0
    for n in range(1, len(sizes) + 1):
        if math.prod(sizes[:n]) == size:
            return n
    raise ShapeError(f"bcoo_reshape: new shape cannot mix {kinds} dimensions; got {tuple(sizes)}")


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Return the array with elements in reverse order along some dimensions.

    >>> bcoo_rev(BCOO.fromdense(array([0.0, 1.0, 0.0, 0.0])), (0,)).todense()
    Array([0., 0., 1., 0.], dtype=float32)
    """
    axes = canonical_axes(dimensions, operand.ndim)
    data, indices = full_parts(operand)
    batch = [i for i in axes if i < operand.n_batch]
    first_dense = operand.n_batch + operand.n_sparse
    dense = [i - operand.n_sparse + 1 for i in axes if i >= first_dense]
    data = flip(data, axis=tuple(batch + dense)) if batch or dense else data
    indices = flip(indices, axis=tuple(batch)) if batch else indices
    inside = is_within(indices, operand.sparse_shape)
    for i in axes:
        if operand.n_batch <= i < first_dense:
            column = i - operand.n_batch
            turned = operand.shape[i] - 1 - indices[..., column]
            column_values = where(inside, turned, indices[..., column])
            indices = indices.at[..., column].set(column_values)
    return BCOO((data, indices), shape=operand.shape, unique_indices=operand.unique_indices)


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Return the array without some dimensions of length 1.

    >>> bcoo_squeeze(BCOO.fromdense(array([[0.0, 1.0]])), dimensions=(0,)).shape
    (2,)
    """
    axes = canonical_axes(dimensions, arr.ndim)
    if any(arr.shape[i] != 1 for i in axes):
        raise ShapeError(f"the dimensions {axes} of the shape {arr.shape} do not have length 1")
    return bcoo_reduce_sum(arr, axes=axes)


def bcoo_slice(
    mat: BCOO,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> BCOO:
    """Return a part of the array; see `lax.slice`.

    >>> mat = BCOO.fromdense(array([0.0, 1.0, 2.0]))
    >>> bcoo_slice(mat, start_indices=(1,), limit_indices=(3,)).todense()
    Array([1., 2.], dtype=float32)
    """
    steps = [1] * mat.ndim if strides is None else [operator.index(s) for s in strides]
    starts, ends = shape_tuple(start_indices), shape_tuple(limit_indices)
    if not len(starts) == len(ends) == len(steps) == mat.ndim:
        raise ArgumentError(f"bcoo_slice: indices must have size mat.ndim={mat.ndim}")
    if any(not 0 <= i <= j <= n for i, j, n in zip(starts, ends, mat.shape, strict=True)):
        raise ArgumentError(
            f"bcoo_slice: invalid indices {starts} and {ends} for the shape {mat.shape}"
        )
    shape = [-(-(j - i) // s) for i, j, s in zip(starts, ends, steps, strict=True)]
    data, indices = full_parts(mat)
    slices = [slice(i, j, s) for i, j, s in zip(starts, ends, steps, strict=True)]
    first_dense = mat.n_batch + mat.n_sparse
    data = data[(*slices[: mat.n_batch], slice(None), *slices[first_dense:])]
    indices = indices[tuple(slices[: mat.n_batch])]
    sparse = slice(mat.n_batch, first_dense)
    low, high, step = (np.asarray(part[sparse], indices.dtype) for part in (starts, ends, steps))
    inside = all_((indices >= low) & (indices < high) & ((indices - low) % step == 0), axis=-1)
    end = np.asarray(shape[sparse], indices.dtype)
    indices = where(inside[..., None], (indices - low) // step, end)
    return shortened(BCOO((masked(data, inside), indices), shape=shape), mat)


def shortened(part: BCOO, mat: BCOO) -> BCOO:
    """Return a part of `mat` with no more elements than its size, if it has one of each index."""
    size = math.prod(part.sparse_shape)
    result = part
    if size < part.nse:
        result = bcoo_sum_duplicates(part, nse=size)
    return BCOO((result.data, result.indices), shape=part.shape, unique_indices=mat.unique_indices)


def bcoo_dynamic_slice(
    mat: BCOO, start_indices: Sequence[ArrayLike], slice_sizes: Sequence[int]
) -> BCOO:
    """Return a part of the array at indices that may be traced; see `lax.dynamic_slice`.

    >>> mat = BCOO.fromdense(array([0.0, 1.0, 2.0]))
    >>> bcoo_dynamic_slice(mat, (1,), (2,)).todense()
    Array([1., 2.], dtype=float32)
    """
    sizes = shape_tuple(slice_sizes)
    if len(sizes) != mat.ndim or len(start_indices) != mat.ndim:
        raise ArgumentError(f"bcoo_dynamic_slice: indices must have size mat.ndim={mat.ndim}")
    if any(k > n for k, n in zip(sizes, mat.shape, strict=True)):
        raise ShapeError(
            f"slice_sizes must be less than or equal to operand shape, got {sizes} for {mat.shape}"
        )
    starts = [
        clip(asarray(i), 0, n - k) for i, k, n in zip(start_indices, sizes, mat.shape, strict=True)
    ]
    data, indices = full_parts(mat)
    first_dense = mat.n_batch + mat.n_sparse
    for axis in range(mat.n_batch):
        data = dynamic_slice_in_dim(data, starts[axis], sizes[axis], axis)
        indices = dynamic_slice_in_dim(indices, starts[axis], sizes[axis], axis)
    for axis in range(first_dense, mat.ndim):
        place = axis - mat.n_sparse + 1
        data = dynamic_slice_in_dim(data, starts[axis], sizes[axis], place)
    shape = np.asarray(sizes[mat.n_batch : first_dense], indices.dtype)
    if mat.n_sparse:
        low = stack(starts[mat.n_batch : first_dense]).astype(indices.dtype)
        moved = indices - low
        inside = all_((moved >= 0) & (moved < shape), axis=-1)
        indices = where(inside[..., None], moved, shape)
        data = masked(data, inside)
    return shortened(BCOO((data, indices), shape=sizes), mat)


def bcoo_update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Return the array with other numbers of batch and dense axes.

    on_inefficient: "error" to raise SparseEfficiencyError if more memory is needed (for more batch
    or dense axes), "warn" to warn, None for neither.

    >>> bcoo_update_layout(BCOO.fromdense(array([[0.0, 1.0]])), n_batch=1,
    ...                    on_inefficient=None).n_batch
    1
    """
    batch = mat.n_batch if n_batch is None else operator.index(n_batch)
    dense = mat.n_dense if n_dense is None else operator.index(n_dense)
    if (batch, dense) == (mat.n_batch, mat.n_dense):
        return mat
    if batch < 0 or dense < 0:
        raise ArgumentError(f"n_batch and n_dense must be non-negative: {batch} and {dense}")
    if batch + dense > mat.ndim:
        raise ArgumentError(f"{batch=} and {dense=} are more than {mat.ndim} dimensions")
    if on_inefficient not in ("error", "warn", None):
        raise ArgumentError(f"{on_inefficient=!r} expected one of ['error', 'warn', None].")
    if batch > mat.n_batch or dense > mat.n_dense:
        text = (
            "bcoo_update_layout to more batch or dense dimensions is inefficient: "
            f"from ({mat.n_batch}, {mat.n_dense}) to ({batch}, {dense})"
        )
        if on_inefficient == "error":
            raise SparseEfficiencyError(f"{text}. Pass on_inefficient=None to disable this error.")
        if on_inefficient == "warn":
            warnings.warn(text, SparseEfficiencyWarning, stacklevel=2)
    fewer = math.prod(mat.shape[batch : mat.n_batch])
    wider = math.prod(mat.shape[mat.ndim - mat.n_dense : mat.ndim - dense])
    return bcoo_fromdense_like(mat.todense(), mat, batch, dense, mat.nse * fewer * wider)
