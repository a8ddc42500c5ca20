"""BCOO: arrays of coordinates, with batches of them and dense blocks as elements."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.errors import (
    ArgumentError,
    ShapeError,
    UnsupportedError,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.lax.annotations import stop_gradient
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones, zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.manipulation.joining import concatenate, stack
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, reshape
from olympus_core.library.numpy.manipulation.transposing import transpose
from olympus_core.library.numpy.reductions.cumulative import cumsum
from olympus_core.library.numpy.reductions.sums import all as all_
from olympus_core.library.numpy.reductions.sums import any as any_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import argmax, nonzero, where
from olympus_core.library.numpy.sorting.sorting import lexsort
from olympus_core.library.sparse.base import (
    JAXSparse,
    element_batches,
    over_batches,
    shape_tuple,
    stacked_batches,
    stored_elements,
)
from olympus_core.transforms.vmappables import register_vmappable


class BCOO(JAXSparse):
    """An array of specified elements and their coordinates.

    args: `data`, of shape (*batch, nse, *dense), and the integer `indices`, of shape
    (*batch, nse, n_sparse). shape: that of the dense array, (*batch, *sparse, *dense). The batch
    axes of data and indices may have length 1. An index beyond the shape is padding; elements with
    equal indices are summed. indices_sorted, unique_indices: True if that is known of the indices.

    Raises ArgumentError for arrays whose shapes do not match.

    >>> BCOO.fromdense(array([[0.0, 1.0], [2.0, 0.0]])).data
    Array([1., 2.], dtype=float32)
    """

    indices: Array
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices = (asarray(x) for x in args)
        self.shape = shape_tuple(shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        _check(self)

    @property
    def nse(self) -> int:
        """The number of specified elements of each batch."""
        return self.indices.shape[-2]

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return self.indices.ndim - 2

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes."""
        return self.indices.shape[-1]

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return self.data.ndim - 1 - self.n_batch

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The lengths of the batch axes."""
        return self.shape[: self.n_batch]

    @property
    def sparse_shape(self) -> tuple[int, ...]:
        """The lengths of the sparse axes."""
        return self.shape[self.n_batch : self.n_batch + self.n_sparse]

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The lengths of the dense axes."""
        return self.shape[self.n_batch + self.n_sparse :]

    def __repr__(self) -> str:
        """Return the dtype, the shape, the number of elements and the kinds of axes."""
        extra = "".join(
            f", {name}={getattr(self, name)}"
            for name in ("n_batch", "n_dense")
            if getattr(self, name)
        )
        text = f"BCOO({self.dtype}{list(self.shape)}, nse={self.nse}{extra})"
        return f"{type(self.data).__name__}[{text}]" if isinstance(self.data, Tracer) else text

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """Return a dense array in this format; see `bcoo_fromdense`."""
        return bcoo_fromdense(
            mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch
        )

    @classmethod
    def from_scipy_sparse(
        cls,
        mat: Any,
        *,
        index_dtype: DTypeLike | None = None,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCOO:
        """Return a matrix of SciPy; UnsupportedError for n_dense or n_batch other than 0."""
        if n_dense or n_batch:
            raise UnsupportedError("from_scipy_sparse supports only n_dense=0 and n_batch=0")
        coo = mat.tocoo()
        indices = np.column_stack([coo.row, coo.col])
        dtype = indices.dtype if index_dtype is None else index_dtype
        return cls((coo.data, asarray(indices, dtype)), shape=coo.shape)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
        n_dense: int = 0,
        n_batch: int = 0,
        nse: int = 0,
    ) -> BCOO:
        sizes = shape_tuple(shape)
        n_sparse = len(sizes) - n_batch - n_dense
        if n_sparse < 0 or n_batch < 0 or n_dense < 0:
            raise ArgumentError(f"Invalid inputs: {shape=}, {n_dense=}, {n_batch=}")
        batch, sparse = sizes[:n_batch], sizes[n_batch : n_batch + n_sparse]
        data = zeros((*batch, nse, *sizes[n_batch + n_sparse :]), dtype)
        indices = broadcast_to(asarray(sparse, index_dtype), (*batch, nse, n_sparse))
        return cls((data, indices), shape=sizes, indices_sorted=True, unique_indices=True)

    def todense(self) -> Array:
        """Return the dense array; see `bcoo_todense`."""
        return bcoo_todense(self)

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """Return the array with its axes in another order; see `bcoo_transpose`."""
        order = range(self.ndim)[::-1] if axes is None else axes
        return bcoo_transpose(self, permutation=order)

    def sort_indices(self) -> BCOO:
        """Return the array with its elements in the order of their indices."""
        return bcoo_sort_indices(self)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """Return the array with one element for each index, and without zeros.

        nse: the number of elements; by default it is computed, which a traced array does not allow.
        """
        return bcoo_sum_duplicates(_without_zeros(self) if remove_zeros else self, nse=nse)

    def astype(self, dtype: DTypeLike) -> BCOO:
        """Return the array with another dtype."""
        return with_data(self, self.data.astype(dtype))


def _check(mat: BCOO) -> None:
    """Raise ArgumentError unless the shapes of the parts match."""
    if dtypes.kind(mat.indices.dtype) not in "iu":
        raise ArgumentError(
            f"BCOO needs integer indices, and got the dtype {mat.indices.dtype.name}"
        )
    if mat.indices.ndim < 2 or mat.data.ndim <= mat.n_batch:
        raise ArgumentError(
            f"BCOO needs indices (*batch, nse, n_sparse) and data (*batch, nse, *dense), and got "
            f"the shapes {mat.indices.shape} and {mat.data.shape}"
        )
    batches = zip(mat.data.shape, mat.indices.shape, mat.batch_shape, strict=False)
    wrong = [pair for *pair, n in list(batches)[: mat.n_batch] if set(pair) - {1, n}]
    if (
        wrong
        or mat.data.shape[mat.n_batch] != mat.nse
        or mat.data.shape[mat.n_batch + 1 :] != mat.dense_shape
        or mat.n_batch + mat.n_sparse + mat.n_dense != mat.ndim
    ):
        raise ArgumentError(
            f"BCOO: the shapes {mat.data.shape} of data and {mat.indices.shape} of indices do not "
            f"match the shape {mat.shape}"
        )


def with_data(mat: BCOO, data: Any) -> BCOO:
    """Return an array with the indices of another one."""
    return BCOO(
        (data, mat.indices),
        shape=mat.shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def full_parts(mat: BCOO) -> tuple[Any, Any]:
    """Return data and indices, broadcast to the batch shape."""
    batch = mat.batch_shape
    data = broadcast_to(mat.data, (*batch, *mat.data.shape[mat.n_batch :]))
    return data, broadcast_to(mat.indices, (*batch, *mat.indices.shape[mat.n_batch :]))


def is_within(indices: Any, sparse_shape: Sequence[int]) -> Any:
    """Return a mask of the elements that are not padding."""
    if not len(sparse_shape):
        return ones(indices.shape[:-1], bool)
    return all_(indices < asarray(sparse_shape, indices.dtype), axis=-1)


def masked(data: Any, mask: Any) -> Any:
    """Return data with 0 where a mask of the elements is False."""
    return where(reshape(mask, (*mask.shape, *(1,) * (data.ndim - mask.ndim))), data, 0)


def bcoo_todense(mat: BCOO) -> Array:
    """Return the dense array; elements with equal indices are summed.

    >>> bcoo_todense(BCOO((array([1.0, 2.0]), array([[0], [2]])), shape=(3,)))
    Array([1., 0., 2.], dtype=float32)
    """
    data, indices = full_parts(mat)
    shape = (*mat.sparse_shape, *mat.dense_shape)

    def one(data: Any, indices: Any) -> Any:
        if not mat.n_sparse:
            return sum_(data, axis=0)
        columns = tuple(indices[:, i] for i in range(mat.n_sparse))
        return zeros(shape, data.dtype).at[columns].add(data, mode="drop")

    dense: Array = over_batches(one, mat.n_batch)(data, indices)
    return dense


def _gathered(indices: Any, values: Any, n_sparse: int, n_batch: int) -> Any:
    """Return the elements of a dense array at indices, 0 beyond its shape."""

    def one(indices: Any, values: Any) -> Any:
        if not n_sparse:
            return broadcast_to(values, (indices.shape[0], *values.shape))
        columns = tuple(indices[:, i] for i in range(n_sparse))
        return values.at[columns].get(mode="fill", fill_value=0)

    return over_batches(one, n_batch)(indices, values)


def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCOO:
    """Return a dense array as coordinates of its elements other than 0.

    nse: the number of elements of each batch, by default the most that one has; a traced array
    needs it. n_batch, n_dense: the numbers of the first axes that are batches, and of the last ones
    that are within elements.

    >>> bcoo_fromdense(array([[0.0, 1.0], [2.0, 0.0]])).indices
    Array([[0, 1],
           [1, 0]], dtype=int32)
    """
    values = asarray(mat)
    count = stored_elements(values, n_batch, n_dense) if nse is None else operator.index(nse)
    n_sparse = values.ndim - n_batch - n_dense
    if n_sparse < 0:
        raise ArgumentError(f"{n_batch=} and {n_dense=} are more than {values.ndim} dimensions")
    sparse = values.shape[n_batch : n_batch + n_sparse]

    def places(values: Any) -> Any:
        mask = any_(values != 0, axis=tuple(range(n_sparse, values.ndim)))
        if not n_sparse:
            return zeros((count, 0), index_dtype)
        found = nonzero(mask, size=count, fill_value=sparse)
        return stack(found, axis=-1).astype(index_dtype)

    indices = over_batches(places, n_batch)(stop_gradient(values))
    data = _gathered(indices, values, n_sparse, n_batch)
    if not n_sparse and count > 1:
        data = masked(data, broadcast_to(np.arange(count) == 0, data.shape[: n_batch + 1]))
    return BCOO((data, indices), shape=values.shape, indices_sorted=True, unique_indices=True)


def bcoo_extract(sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None) -> BCOO:
    """Return the elements of a dense array at the indices of a sparse one of the same shape.

    assume_unique: False to extract only the first of equal indices; by default it is known of
    `sparr`. Raises ShapeError for arrays of different shapes.

    >>> sparse = bcoo_fromdense(array([0.0, 1.0]))
    >>> bcoo_extract(sparse, array([3.0, 4.0])).data
    Array([4.], dtype=float32)
    """
    values = asarray(arr)
    if values.shape != sparr.shape:
        raise ShapeError(f"shape mismatch: {sparr.shape=} {values.shape=}")
    _, indices = full_parts(sparr)
    data = _gathered(indices, values, sparr.n_sparse, sparr.n_batch)
    unique_known = sparr.unique_indices if assume_unique is None else assume_unique
    if not unique_known:

        def first(indices: Any) -> Any:
            same = all_(indices[:, None] == indices[None], axis=-1)
            return argmax(same, axis=1) == arange(indices.shape[0])

        data = masked(data, over_batches(first, sparr.n_batch)(indices))
    return BCOO(
        (data, indices), shape=sparr.shape, indices_sorted=sparr.indices_sorted,
        unique_indices=sparr.unique_indices,
    )  # fmt: skip


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Return the array with its axes in another order.

    permutation: the axes in their new order; batch, sparse and dense axes remain such (else
    UnsupportedError). Raises ArgumentError for an invalid permutation.

    >>> bcoo_transpose(bcoo_fromdense(array([[0.0, 1.0]])), permutation=(1, 0)).shape
    (2, 1)
    """
    order = [operator.index(i) for i in permutation]
    if sorted(order) != list(range(mat.ndim)):
        raise ArgumentError(f"Invalid permutation {tuple(order)} for {mat.ndim} dimensions")
    ends = (mat.n_batch, mat.n_batch + mat.n_sparse)
    parts = order[: ends[0]], order[ends[0] : ends[1]], order[ends[1] :]
    starts = (0, *ends)
    sizes = (mat.n_batch, mat.n_sparse, mat.n_dense)
    for part, start, size in zip(parts, starts, sizes, strict=True):
        if sorted(part) != list(range(start, start + size)):
            raise UnsupportedError("transpose must not move batch, sparse or dense dimensions")
    batch, sparse, dense = parts
    data = transpose(mat.data, (*batch, mat.n_batch, *(i - mat.n_sparse + 1 for i in dense)))
    columns = np.asarray([i - mat.n_batch for i in sparse], np.int32)
    indices = transpose(mat.indices, (*batch, mat.n_batch, mat.n_batch + 1))[..., columns]
    return BCOO(
        (data, indices),
        shape=[mat.shape[i] for i in order],
        indices_sorted=mat.indices_sorted and sparse == sorted(sparse),
        unique_indices=mat.unique_indices,
    )


def _order(indices: Any) -> Any:
    """Return the order of a batch's elements by their indices."""
    if not indices.shape[1]:
        return arange(indices.shape[0])
    return lexsort(tuple(indices[:, i] for i in range(indices.shape[1]))[::-1])


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """Return the array with the elements of each batch in the order of their indices.

    >>> bcoo_sort_indices(BCOO((array([1.0, 2.0]), array([[2], [0]])), shape=(3,))).data
    Array([2., 1.], dtype=float32)
    """

    def one(data: Any, indices: Any) -> Any:
        order = _order(stop_gradient(indices))
        return data[order], indices[order]

    data, indices = over_batches(one, mat.n_batch)(*full_parts(mat))
    return BCOO(
        (data, indices),
        shape=mat.shape,
        indices_sorted=True,
        unique_indices=mat.unique_indices,
    )


def _without_zeros(mat: BCOO) -> BCOO:
    """Return the array with zeros as padding."""
    data, indices = full_parts(mat)
    axes = tuple(range(mat.n_batch + 1, data.ndim))
    keeps = any_(data != 0, axis=axes) if axes else data != 0
    indices = where(keeps[..., None], indices, asarray(mat.sparse_shape, indices.dtype))
    return BCOO((data, indices), shape=mat.shape)


def bcoo_eliminate_zeros(mat: BCOO, nse: int | None = None) -> BCOO:
    """Return the array without stored zeros; see `bcoo_sum_duplicates` for `nse`.

    >>> bcoo_eliminate_zeros(BCOO((array([1.0, 0.0]), array([[1], [2]])), shape=(3,))).nse
    1
    """
    return bcoo_sum_duplicates(_without_zeros(mat), nse=nse)


def _ranked(indices: Any, sparse_shape: Sequence[int]) -> tuple[Any, Any]:
    """Return the number of each element's distinct index in order, and the count of them."""
    order = _order(indices)
    ordered = indices[order]
    is_new = concatenate([ones(1, bool), any_(ordered[1:] != ordered[:-1], axis=-1)])
    is_new = is_new[: indices.shape[0]] & is_within(ordered, sparse_shape)
    rank = zeros(indices.shape[0], np.int32).at[order].set(cumsum(is_new).astype(np.int32) - 1)
    return rank, sum_(is_new)


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """Return the array with one element for each index, in order.

    nse: the number of elements, which may be more or less than the distinct indices; by default
    their number, which a traced array does not allow (ArgumentError).

    >>> bcoo_sum_duplicates(BCOO((array([1.0, 2.0]), array([[1], [1]])), shape=(3,))).data
    Array([3.], dtype=float32)
    """
    data, indices = full_parts(mat)
    sparse = mat.sparse_shape
    ranks, counts = over_batches(lambda i: _ranked(i, sparse), mat.n_batch)(indices)
    if nse is None:
        if isinstance(counts, Tracer):
            raise ArgumentError(
                "bcoo_sum_duplicates: nse must be specified for a traced array, in jit, vmap and "
                "other transformations"
            )
        nse = int(np.asarray(counts).max(initial=0))

    def one(data: Any, indices: Any, rank: Any) -> Any:
        place = where(is_within(indices, sparse), rank, nse)
        total = zeros((nse, *data.shape[1:]), data.dtype).at[place].add(data, mode="drop")
        padding = broadcast_to(asarray(sparse, indices.dtype), (nse, len(sparse)))
        return total, padding.at[place].set(indices, mode="drop")

    data, indices = over_batches(one, mat.n_batch)(data, indices, ranks)
    return BCOO((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)


def _flatten(mat: BCOO) -> tuple[tuple[Any, Any], tuple[Any, ...]]:
    return (mat.data, mat.indices), (mat.shape, mat.indices_sorted, mat.unique_indices)


def _unflatten(static: tuple[Any, ...], children: Sequence[Any]) -> BCOO:
    mat = object.__new__(BCOO)
    mat.data, mat.indices = children
    mat.shape, mat.indices_sorted, mat.unique_indices = static
    return mat


def _element(cont: Any, _: Any, mat: BCOO, axis: int | None) -> BCOO:
    if axis is None:
        return mat
    shape = element_batches(mat, axis)
    data, indices = full_parts(mat)
    return BCOO(
        (cont(data, axis % mat.ndim), cont(indices, axis % mat.ndim)),
        shape=shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _stacked(cont: Any, size: Any, mat: BCOO, axis: int | None) -> BCOO:
    if axis is None:
        data, indices = (cont(size, x, None) for x in (mat.data, mat.indices))
        return _unflatten((mat.shape, mat.indices_sorted, mat.unique_indices), (data, indices))
    shape = stacked_batches(mat, axis, size)
    place = axis % (mat.ndim + 1)
    return BCOO(
        (cont(size, mat.data, place), cont(size, mat.indices, place)),
        shape=shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


tree.register_node(BCOO, _flatten, _unflatten)
register_vmappable(BCOO, int, int, _element, _stacked, None)
