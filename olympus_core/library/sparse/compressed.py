"""BCSR: batches of matrices of compressed rows, with dense blocks as elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from olympus_core.base import tree
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.sorting.searching import searchsorted, where
from olympus_core.library.sparse.base import (
    JAXSparse,
    element_batches,
    over_batches,
    shape_tuple,
    stacked_batches,
)
from olympus_core.library.sparse.coordinates import (
    BCOO,
    bcoo_eliminate_zeros,
    bcoo_extract,
    bcoo_fromdense,
    bcoo_sort_indices,
    full_parts,
)
from olympus_core.library.sparse.products import DimensionNumbers, bcoo_dot_general
from olympus_core.library.sparse.shapes import (
    bcoo_broadcast_in_dim,
    bcoo_concatenate,
    bcoo_update_layout,
)
from olympus_core.transforms.vmappables import register_vmappable


class BCSR(JAXSparse):
    """An array of compressed rows.

    args: `data`, of shape (*batch, nse, *dense), the column `indices`, of shape (*batch, nse), and
    `indptr`, of shape (*batch, rows + 1): the elements of row i are those from indptr[i] to
    indptr[i + 1]. shape: that of the dense array, (*batch, rows, columns, *dense).

    Raises ArgumentError for arrays whose shapes do not match.

    >>> BCSR.fromdense(array([[0.0, 1.0], [2.0, 0.0]])).indptr
    Array([0, 1, 2], dtype=int32)
    """

    indices: Array
    indptr: Array
    indices_sorted: bool
    unique_indices: bool

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        indices_sorted: bool = False,
        unique_indices: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = (asarray(x) for x in args)
        self.shape = shape_tuple(shape)
        self.indices_sorted, self.unique_indices = indices_sorted, unique_indices
        n = self.n_batch
        if (
            n < 0
            or self.indptr.ndim != n + 1
            or self.data.ndim <= n
            or self.data.shape[n] != self.nse
            or self.ndim != n + 2 + self.n_dense
            or self.indptr.shape[-1] != self.shape[n] + 1
        ):
            raise ArgumentError(
                f"BCSR: the shapes {self.data.shape} of data, {self.indices.shape} of indices and "
                f"{self.indptr.shape} of indptr do not match the shape {self.shape}"
            )

    @property
    def nse(self) -> int:
        """The number of specified elements of each batch."""
        return self.indices.shape[-1]

    @property
    def n_batch(self) -> int:
        """The number of batch axes."""
        return self.indices.ndim - 1

    @property
    def n_sparse(self) -> int:
        """The number of sparse axes, 2."""
        return 2

    @property
    def n_dense(self) -> int:
        """The number of dense axes."""
        return self.data.ndim - 1 - self.n_batch

    @classmethod
    def fromdense(
        cls,
        mat: ArrayLike,
        *,
        nse: int | None = None,
        index_dtype: DTypeLike = np.int32,
        n_dense: int = 0,
        n_batch: int = 0,
    ) -> BCSR:
        """Return a dense array in this format; see `bcsr_fromdense`."""
        return bcsr_fromdense(
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
    ) -> BCSR:
        """Return a matrix of SciPy; UnsupportedError for n_dense or n_batch other than 0."""
        if n_dense or n_batch:
            raise UnsupportedError("from_scipy_sparse supports only n_dense=0 and n_batch=0")
        csr = mat.tocsr()
        dtype = csr.indices.dtype if index_dtype is None else index_dtype
        parts = (csr.data, asarray(csr.indices, dtype), asarray(csr.indptr, dtype))
        return cls(parts, shape=csr.shape)

    @classmethod
    def from_bcoo(cls, arr: BCOO) -> BCSR:
        """Return an array of coordinates with two sparse axes; UnsupportedError for others."""
        if arr.n_sparse != 2:
            raise UnsupportedError(f"BSCR.from_bcoo requires n_sparse=2; got {arr.n_sparse}")
        ordered = arr if arr.indices_sorted else bcoo_sort_indices(arr)
        data, indices = full_parts(ordered)
        rows = arr.sparse_shape[0]

        def pointers(row: Any) -> Any:
            return searchsorted(row, arange(rows + 1, dtype=row.dtype)).astype(row.dtype)

        indptr = over_batches(pointers, arr.n_batch)(indices[..., 0])
        return cls(
            (data, indices[..., 1], indptr),
            shape=arr.shape,
            indices_sorted=True,
            unique_indices=arr.unique_indices,
        )

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
    ) -> BCSR:
        if len(shape) != n_batch + 2 + n_dense:
            raise ArgumentError(f"BCSR needs two sparse dimensions: {shape=} {n_batch=} {n_dense=}")
        mat = bcoo_fromdense(
            zeros(shape, dtype), nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
        )
        return cls.from_bcoo(mat)

    def to_bcoo(self) -> BCOO:
        """Return the array as coordinates."""
        rows = self.shape[self.n_batch]

        def row_of(indptr: Any) -> Any:
            places = arange(self.nse, dtype=indptr.dtype)
            row = searchsorted(indptr, places, side="right") - 1
            return where(places < indptr[-1], row, rows).astype(self.indices.dtype)

        row = over_batches(row_of, self.n_batch)(self.indptr)
        column = where(row < rows, self.indices, self.shape[self.n_batch + 1])
        return BCOO(
            (self.data, stack([row, column], axis=-1)),
            shape=self.shape,
            indices_sorted=self.indices_sorted,
            unique_indices=self.unique_indices,
        )

    def todense(self) -> Array:
        """Return the dense array."""
        return self.to_bcoo().todense()

    def transpose(self, axes: Sequence[int] | None = None) -> Any:
        """Raise UnsupportedError, as in JAX: convert to BCOO."""
        raise UnsupportedError("Transpose of BCSR matrices.", hint="use to_bcoo().transpose()")

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCSR:
        """Return the array with one element for each index; see `BCOO.sum_duplicates`."""
        return BCSR.from_bcoo(self.to_bcoo().sum_duplicates(nse=nse, remove_zeros=remove_zeros))

    def __matmul__(self, other: Any) -> Any:
        """Return the matrix product with a dense array."""
        return self.to_bcoo() @ other


def bcsr_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCSR:
    """Return a dense array as compressed rows; the arguments are those of `bcoo_fromdense`.

    Raises ArgumentError unless the array has two axes besides the batch and dense ones.

    >>> bcsr_fromdense(array([[0.0, 1.0], [2.0, 0.0]])).indices
    Array([1, 0], dtype=int32)
    """
    values = asarray(mat)
    if values.ndim != n_batch + n_dense + 2:
        raise ArgumentError(
            f"BCSR needs two sparse dimensions, and got {values.ndim} dimensions with "
            f"{n_batch=} and {n_dense=}"
        )
    return BCSR.from_bcoo(
        bcoo_fromdense(values, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)
    )


def bcsr_todense(mat: BCSR) -> Array:
    """Return the dense array.

    >>> bcsr_todense(bcsr_fromdense(array([[0.0, 1.0]])))
    Array([[0., 1.]], dtype=float32)
    """
    return mat.todense()


def bcsr_extract(indices: ArrayLike, indptr: ArrayLike, mat: ArrayLike) -> Array:
    """Return the elements of a dense array at the places of compressed rows.

    >>> rows = bcsr_fromdense(array([[0.0, 1.0]]))
    >>> bcsr_extract(rows.indices, rows.indptr, array([[3.0, 4.0]]))
    Array([4.], dtype=float32)
    """
    values, columns = asarray(mat), asarray(indices)
    dense = values.shape[columns.ndim + 1 :]
    rows = BCSR((zeros((*columns.shape, *dense)), columns, indptr), shape=values.shape)
    return bcoo_extract(rows.to_bcoo(), values, assume_unique=True).data


def bcsr_dot_general(
    lhs: BCSR,
    rhs: ArrayLike,
    *,
    dimension_numbers: DimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> Array:
    """Return the product of compressed rows and a dense array; see `bcoo_dot_general`.

    >>> rows = bcsr_fromdense(array([[0.0, 1.0]]))
    >>> bcsr_dot_general(rows, array([1.0, 3.0]), dimension_numbers=(((1,), (0,)), ((), ())))
    Array([3.], dtype=float32)
    """
    if not isinstance(lhs, BCSR):
        raise UnsupportedError("bcsr_dot_general supports only a BCSR array on the left side")
    product = bcoo_dot_general(
        lhs.to_bcoo(),
        rhs,
        dimension_numbers=dimension_numbers,
        preferred_element_type=preferred_element_type,
    )
    return cast(Array, product)


def bcsr_sum_duplicates(mat: BCSR, nse: int | None = None) -> BCSR:
    """Return the array with one element for each index; see `bcoo_sum_duplicates`.

    >>> bcsr_sum_duplicates(bcsr_fromdense(array([[0.0, 1.0]]))).nse
    1
    """
    return mat.sum_duplicates(nse=nse, remove_zeros=False)


def bcsr_eliminate_zeros(mat: BCSR, nse: int | None = None) -> BCSR:
    """Return the array without stored zeros; see `bcoo_sum_duplicates` for `nse`.

    >>> bcsr_eliminate_zeros(bcsr_fromdense(array([[0.0, 1.0]]), nse=2)).nse
    1
    """
    return BCSR.from_bcoo(bcoo_eliminate_zeros(mat.to_bcoo(), nse=nse))


def bcsr_broadcast_in_dim(
    mat: BCSR,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    sharding: None = None,
) -> BCSR:
    """Return the array with more axes; see `bcoo_broadcast_in_dim`.

    >>> mat = bcsr_fromdense(array([[0.0, 1.0]]))
    >>> bcsr_broadcast_in_dim(mat, shape=(3, 1, 2), broadcast_dimensions=(1, 2)).shape
    (3, 1, 2)
    """
    wide = bcoo_broadcast_in_dim(
        mat.to_bcoo(), shape=shape, broadcast_dimensions=broadcast_dimensions
    )
    extra = wide.n_sparse - 2
    if extra:
        wide = bcoo_update_layout(wide, n_batch=wide.n_batch + extra, on_inefficient=None)
    return BCSR.from_bcoo(wide)


def bcsr_concatenate(operands: Sequence[BCSR], *, dimension: int) -> BCSR:
    """Return arrays joined along a dimension; see `bcoo_concatenate`.

    >>> mat = bcsr_fromdense(array([[0.0, 1.0]]))
    >>> bcsr_concatenate([mat, mat], dimension=0).shape
    (2, 2)
    """
    return BCSR.from_bcoo(bcoo_concatenate([m.to_bcoo() for m in operands], dimension=dimension))


def _flatten(mat: BCSR) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    static = (mat.shape, mat.indices_sorted, mat.unique_indices)
    return (mat.data, mat.indices, mat.indptr), static


def _unflatten(static: tuple[Any, ...], children: Sequence[Any]) -> BCSR:
    mat = object.__new__(BCSR)
    mat.data, mat.indices, mat.indptr = children
    mat.shape, mat.indices_sorted, mat.unique_indices = static
    return mat


def _element(cont: Any, _: Any, mat: BCSR, axis: int | None) -> BCSR:
    if axis is None:
        return mat
    shape, place = element_batches(mat, axis), axis % mat.ndim
    parts = (cont(mat.data, place), cont(mat.indices, place), cont(mat.indptr, place))
    return BCSR(
        parts,
        shape=shape,
        indices_sorted=mat.indices_sorted,
        unique_indices=mat.unique_indices,
    )


def _stacked(cont: Any, size: Any, mat: BCSR, axis: int | None) -> BCSR:
    place = None if axis is None else axis % (mat.ndim + 1)
    shape = mat.shape if axis is None else stacked_batches(mat, axis, size)
    parts = [cont(size, x, place) for x in (mat.data, mat.indices, mat.indptr)]
    return _unflatten((shape, mat.indices_sorted, mat.unique_indices), parts)


tree.register_node(BCSR, _flatten, _unflatten)
register_vmappable(BCSR, int, int, _element, _stacked, None)
