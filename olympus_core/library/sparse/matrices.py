"""COO, CSR and CSC: sparse matrices of coordinates, compressed rows, and compressed columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np

from olympus_core.base import tree
from olympus_core.base.errors import ArgumentError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.sparse.base import JAXSparse, shape_tuple
from olympus_core.library.sparse.compressed import BCSR, bcsr_fromdense
from olympus_core.library.sparse.coordinates import BCOO, bcoo_fromdense, bcoo_transpose
from olympus_core.library.sparse.products import bcoo_dot_general


class _Matrix(JAXSparse):
    """A sparse matrix that converts to coordinates."""

    @property
    def nse(self) -> int:
        """The number of specified elements."""
        return self.data.size

    def _coordinates(self) -> BCOO:
        raise UnsupportedError(f"{type(self).__name__} has no coordinates")

    def todense(self) -> Array:
        """Return the dense matrix."""
        return self._coordinates().todense()

    def __matmul__(self, other: Any) -> Any:
        """Return the product with a dense vector or matrix."""
        if isinstance(other, JAXSparse):
            raise UnsupportedError("matmul between two sparse objects.")
        values = asarray(other)
        if values.ndim not in (1, 2):
            raise UnsupportedError(f"matmul with an array of shape {values.shape}")
        return _product(self._coordinates(), values, transposed=False)


def _product(mat: BCOO, values: Any, *, transposed: bool) -> Array:
    numbers = (((0 if transposed else 1,), (0,)), ((), ()))
    return cast(Array, bcoo_dot_general(mat, values, dimension_numbers=numbers))


class COO(_Matrix):
    """A matrix of elements `data` at the coordinates `row` and `col`.

    args: three vectors of one length. An index beyond the shape is padding.

    >>> COO.fromdense(array([[0.0, 1.0], [2.0, 0.0]])).row
    Array([0, 1], dtype=int32)
    """

    row: Array
    col: Array

    def __init__(
        self,
        args: tuple[ArrayLike, ArrayLike, ArrayLike],
        *,
        shape: Sequence[int],
        rows_sorted: bool = False,
        cols_sorted: bool = False,
    ) -> None:
        self.data, self.row, self.col = (asarray(x) for x in args)
        self.shape = shape_tuple(shape)
        self._rows_sorted, self._cols_sorted = rows_sorted, cols_sorted

    def _coordinates(self) -> BCOO:
        return BCOO((self.data, stack([self.row, self.col], axis=-1)), shape=self.shape)

    @classmethod
    def _of(cls, mat: BCOO) -> COO:
        parts = (mat.data, mat.indices[:, 0], mat.indices[:, 1])
        return cls(parts, shape=mat.shape, rows_sorted=mat.indices_sorted)

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> COO:
        """Return a dense matrix in this format; `nse` is needed for a traced one."""
        return coo_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> COO:
        _check_matrix("COO", shape)
        return cls._of(BCOO._empty(shape, dtype=dtype, index_dtype=index_dtype))

    def transpose(self, axes: Sequence[int] | None = None) -> COO:
        """Return the transposed matrix; UnsupportedError for axes."""
        if axes is not None:
            raise UnsupportedError("axes argument to transpose()")
        return COO(
            (self.data, self.col, self.row),
            shape=self.shape[::-1],
            rows_sorted=self._cols_sorted,
            cols_sorted=self._rows_sorted,
        )


class CSR(_Matrix):
    """A matrix of compressed rows: `data`, the column `indices`, and `indptr`, the row ends.

    >>> CSR.fromdense(array([[0.0, 1.0], [2.0, 0.0]])).indptr
    Array([0, 1, 2], dtype=int32)
    """

    indices: Array
    indptr: Array

    def __init__(
        self, args: tuple[ArrayLike, ArrayLike, ArrayLike], *, shape: Sequence[int]
    ) -> None:
        self.data, self.indices, self.indptr = (asarray(x) for x in args)
        self.shape = shape_tuple(shape)

    def _coordinates(self) -> BCOO:
        return BCSR((self.data, self.indices, self.indptr), shape=self.shape).to_bcoo()

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> CSR:
        """Return a dense matrix in this format; `nse` is needed for a traced one."""
        return csr_fromdense(mat, nse=nse, index_dtype=index_dtype)

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> CSR:
        _check_matrix("CSR", shape)
        rows = BCSR._empty(shape, dtype=dtype, index_dtype=index_dtype)
        return cls((rows.data, rows.indices, rows.indptr), shape=shape)

    def transpose(self, axes: Sequence[int] | None = None) -> CSC:
        """Return the transposed matrix, of compressed columns; UnsupportedError for axes."""
        if axes is not None:
            raise UnsupportedError("axes argument to transpose()")
        return CSC((self.data, self.indices, self.indptr), shape=self.shape[::-1])


class CSC(_Matrix):
    """A matrix of compressed columns: `data`, the row `indices`, and `indptr`, the column ends.

    >>> CSC.fromdense(array([[0.0, 1.0], [2.0, 0.0]])).indices
    Array([1, 0], dtype=int32)
    """

    indices: Array
    indptr: Array

    def __init__(
        self, args: tuple[ArrayLike, ArrayLike, ArrayLike], *, shape: Sequence[int]
    ) -> None:
        self.data, self.indices, self.indptr = (asarray(x) for x in args)
        self.shape = shape_tuple(shape)

    def _coordinates(self) -> BCOO:
        return bcoo_transpose(self.transpose()._coordinates(), permutation=(1, 0))

    @classmethod
    def fromdense(
        cls, mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
    ) -> CSC:
        """Return a dense matrix in this format; `nse` is needed for a traced one."""
        return csr_fromdense(asarray(mat).T, nse=nse, index_dtype=index_dtype).transpose()

    @classmethod
    def _empty(
        cls,
        shape: Sequence[int],
        *,
        dtype: DTypeLike | None = None,
        index_dtype: DTypeLike = "int32",
    ) -> CSC:
        _check_matrix("CSC", shape)
        return CSR._empty(tuple(shape)[::-1], dtype=dtype, index_dtype=index_dtype).transpose()

    def transpose(self, axes: Sequence[int] | None = None) -> CSR:
        """Return the transposed matrix, of compressed rows; UnsupportedError for axes."""
        if axes is not None:
            raise UnsupportedError("axes argument to transpose()")
        return CSR((self.data, self.indices, self.indptr), shape=self.shape[::-1])


def _check_matrix(name: str, shape: Sequence[int]) -> None:
    if len(shape) != 2:
        raise ArgumentError(f"{name} must have ndim=2; got {shape=}")


def coo_fromdense(
    mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
) -> COO:
    """Return a dense matrix as COO.

    >>> coo_fromdense(array([[0.0, 1.0]])).col
    Array([1], dtype=int32)
    """
    return COO._of(bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype))


def coo_todense(mat: COO) -> Array:
    """Return the dense matrix.

    >>> coo_todense(coo_fromdense(array([[0.0, 1.0]])))
    Array([[0., 1.]], dtype=float32)
    """
    return mat.todense()


def coo_matvec(mat: COO, v: ArrayLike, transpose: bool = False) -> Array:
    """Return the product of a matrix, or its transpose, and a dense vector.

    >>> coo_matvec(coo_fromdense(array([[0.0, 1.0]])), array([2.0, 3.0]))
    Array([3.], dtype=float32)
    """
    return _product(mat._coordinates(), asarray(v), transposed=transpose)


def coo_matmat(mat: COO, B: ArrayLike, *, transpose: bool = False) -> Array:
    """Return the product of a matrix, or its transpose, and a dense matrix.

    >>> coo_matmat(coo_fromdense(array([[0.0, 1.0]])), eye(2))
    Array([[0., 1.]], dtype=float32)
    """
    return _product(mat._coordinates(), asarray(B), transposed=transpose)


def csr_fromdense(
    mat: ArrayLike, *, nse: int | None = None, index_dtype: DTypeLike = np.int32
) -> CSR:
    """Return a dense matrix as CSR.

    >>> csr_fromdense(array([[0.0, 1.0]])).indptr
    Array([0, 1], dtype=int32)
    """
    rows = bcsr_fromdense(mat, nse=nse, index_dtype=index_dtype)
    return CSR((rows.data, rows.indices, rows.indptr), shape=rows.shape)


def csr_todense(mat: CSR) -> Array:
    """Return the dense matrix.

    >>> csr_todense(csr_fromdense(array([[0.0, 1.0]])))
    Array([[0., 1.]], dtype=float32)
    """
    return mat.todense()


def csr_matvec(mat: CSR, v: ArrayLike, transpose: bool = False) -> Array:
    """Return the product of a matrix, or its transpose, and a dense vector.

    >>> csr_matvec(csr_fromdense(array([[0.0, 1.0]])), array([2.0, 3.0]))
    Array([3.], dtype=float32)
    """
    return _product(mat._coordinates(), asarray(v), transposed=transpose)


def csr_matmat(mat: CSR, B: ArrayLike, *, transpose: bool = False) -> Array:
    """Return the product of a matrix, or its transpose, and a dense matrix.

    >>> csr_matmat(csr_fromdense(array([[0.0, 1.0]])), eye(2))
    Array([[0., 1.]], dtype=float32)
    """
    return _product(mat._coordinates(), asarray(B), transposed=transpose)


def _register(cls: type, names: tuple[str, ...], static: tuple[str, ...]) -> None:
    """Register a class as a tree of the attributes `names`, with static ones."""

    def flatten(mat: Any) -> Any:
        values = [tuple(getattr(mat, n) for n in part) for part in (names, static)]
        return tuple(values)

    def unflatten(given: Any, children: Any) -> Any:
        mat: Any = object.__new__(cls)
        for name, value in zip((*names, *static), (*children, *given), strict=True):
            setattr(mat, name, value)
        return mat

    tree.register_node(cls, flatten, unflatten)


_register(COO, ("data", "row", "col"), ("shape", "_rows_sorted", "_cols_sorted"))
_register(CSR, ("data", "indices", "indptr"), ("shape",))
_register(CSC, ("data", "indices", "indptr"), ("shape",))
