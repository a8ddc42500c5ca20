"""The operations on the arrays of sparse matrices as primitives, with JAX's parameters.

Functions of `experimental.sparse` are made of dense operations; these primitives are for programs
that bind them, or that read or write them in an Olympuspr.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from olympus_core.base.tree import unflatten
from olympus_core.extension.composed import ComposedPrimitive
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.linalg.equations import solve
from olympus_core.library.sparse import compressed, coordinates, creation, matrices, products
from olympus_core.library.sparse.compressed import BCSR
from olympus_core.library.sparse.coordinates import BCOO
from olympus_core.library.sparse.matrices import COO, CSR


class SparseInfo(NamedTuple):
    """The shape of a sparse array, and the known properties of its indices."""

    shape: tuple[int, ...]
    indices_sorted: bool = False
    unique_indices: bool = False


class COOInfo(NamedTuple):
    """The shape of a COO matrix, and the known orders of its indices."""

    shape: tuple[int, ...]
    rows_sorted: bool = False
    cols_sorted: bool = False


def _bcoo(data: Any, indices: Any, spinfo: Any) -> BCOO:
    _, is_sorted, unique = spinfo
    return BCOO(
        (data, indices), shape=spinfo.shape, indices_sorted=is_sorted, unique_indices=unique
    )


def _bcsr(data: Any, indices: Any, indptr: Any, spinfo: Any) -> BCSR:
    return BCSR((data, indices, indptr), shape=spinfo.shape)


def _coo(data: Any, row: Any, col: Any, spinfo: Any) -> COO:
    _, rows_sorted, cols_sorted = spinfo
    return COO(
        (data, row, col), shape=spinfo.shape, rows_sorted=rows_sorted, cols_sorted=cols_sorted
    )


def _parts(mat: Any) -> list[Any]:
    """Return the arrays of a sparse array, as the results of a primitive."""
    if isinstance(mat, BCOO):
        return [mat.data, mat.indices]
    if isinstance(mat, COO):
        return [mat.data, mat.row, mat.col]
    return [mat.data, mat.indices, mat.indptr]


def _bcoo_extract(indices: Any, arr: Any, *, assume_unique: bool) -> Any:
    dense = arr.shape[indices.ndim - 2 + indices.shape[-1] :]
    data = zeros((*indices.shape[:-1], *dense), arr.dtype)
    mat = BCOO((data, indices), shape=arr.shape)
    return coordinates.bcoo_extract(mat, arr, assume_unique=assume_unique).data


def _bcoo_dot_general(data: Any, indices: Any, rhs: Any, *, lhs_spinfo: Any, **params: Any) -> Any:
    return products.bcoo_dot_general(_bcoo(data, indices, lhs_spinfo), rhs, **params)


def _bcoo_spdot_general(
    data: Any,
    indices: Any,
    other: Any,
    others: Any,
    *,
    lhs_spinfo: Any,
    rhs_spinfo: Any,
    **params: Any,
) -> list[Any]:
    lhs, rhs = _bcoo(data, indices, lhs_spinfo), _bcoo(other, others, rhs_spinfo)
    return _parts(products.bcoo_dot_general(lhs, rhs, **params))


def _bcsr_dot_general(
    data: Any, indices: Any, indptr: Any, rhs: Any, *, lhs_spinfo: Any, **params: Any
) -> Any:
    return compressed.bcsr_dot_general(_bcsr(data, indices, indptr, lhs_spinfo), rhs, **params)


def _spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, *, tol: float = 1e-6, reorder: int = 1
) -> Any:
    return solve(CSR((data, indices, indptr), shape=(b.size, b.size)).todense(), b)


def _several(name: str, function: Any) -> ComposedPrimitive:
    """Return a primitive whose results are the arrays of the function's sparse result."""
    return ComposedPrimitive(
        name, lambda *args, **params: _parts(function(*args, **params)), multiple_results=True
    )


todense_p = ComposedPrimitive(
    "todense", lambda *buffers, tree: creation.todense(unflatten(tree, buffers))
)
bcoo_todense_p = ComposedPrimitive(
    "bcoo_todense", lambda data, indices, *, spinfo: _bcoo(data, indices, spinfo).todense()
)
bcoo_fromdense_p = _several("bcoo_fromdense", coordinates.bcoo_fromdense)
bcoo_extract_p = ComposedPrimitive("bcoo_extract", _bcoo_extract)
bcoo_transpose_p = _several(
    "bcoo_transpose",
    lambda data, indices, *, permutation, spinfo: coordinates.bcoo_transpose(
        _bcoo(data, indices, spinfo), permutation=permutation
    ),
)
bcoo_sort_indices_p = _several(
    "bcoo_sort_indices",
    lambda data, indices, *, spinfo: coordinates.bcoo_sort_indices(_bcoo(data, indices, spinfo)),
)
bcoo_sum_duplicates_p = _several(
    "bcoo_sum_duplicates",
    lambda data, indices, *, spinfo, nse: coordinates.bcoo_sum_duplicates(
        _bcoo(data, indices, spinfo), nse=nse
    ),
)
bcoo_dot_general_p = ComposedPrimitive("bcoo_dot_general", _bcoo_dot_general)
bcoo_dot_general_sampled_p = ComposedPrimitive(
    "bcoo_dot_general_sampled", products.bcoo_dot_general_sampled
)
bcoo_spdot_general_p = ComposedPrimitive(
    "bcoo_spdot_general", _bcoo_spdot_general, multiple_results=True
)
bcsr_todense_p = ComposedPrimitive(
    "bcsr_todense",
    lambda data, indices, indptr, *, spinfo: _bcsr(data, indices, indptr, spinfo).todense(),
)
bcsr_fromdense_p = _several("bcsr_fromdense", compressed.bcsr_fromdense)
bcsr_extract_p = ComposedPrimitive("bcsr_extract", compressed.bcsr_extract)
bcsr_dot_general_p = ComposedPrimitive("bcsr_dot_general", _bcsr_dot_general)
coo_todense_p = ComposedPrimitive(
    "coo_todense", lambda data, row, col, *, spinfo: _coo(data, row, col, spinfo).todense()
)
coo_fromdense_p = _several("coo_fromdense", matrices.coo_fromdense)
coo_matvec_p = ComposedPrimitive(
    "coo_matvec",
    lambda data, row, col, v, *, spinfo, transpose: matrices.coo_matvec(
        _coo(data, row, col, spinfo), v, transpose=transpose
    ),
)
coo_matmat_p = ComposedPrimitive(
    "coo_matmat",
    lambda data, row, col, mat, *, spinfo, transpose: matrices.coo_matmat(
        _coo(data, row, col, spinfo), mat, transpose=transpose
    ),
)
csr_todense_p = ComposedPrimitive(
    "csr_todense",
    lambda data, indices, indptr, *, shape: CSR((data, indices, indptr), shape=shape).todense(),
)
csr_fromdense_p = _several("csr_fromdense", matrices.csr_fromdense)
csr_matvec_p = ComposedPrimitive(
    "csr_matvec",
    lambda data, indices, indptr, v, *, shape, transpose: matrices.csr_matvec(
        CSR((data, indices, indptr), shape=shape), v, transpose=transpose
    ),
)
csr_matmat_p = ComposedPrimitive(
    "csr_matmat",
    lambda data, indices, indptr, mat, *, shape, transpose: matrices.csr_matmat(
        CSR((data, indices, indptr), shape=shape), mat, transpose=transpose
    ),
)
spsolve_p = ComposedPrimitive("spsolve", _spsolve)


def spsolve(
    data: Any, indices: Any, indptr: Any, b: Any, tol: float = 1e-6, reorder: int = 1
) -> Any:
    """Return the solution x of A x = b, for a square CSR matrix A.

    data, indices, indptr: the arrays of A.  It is solved as a dense matrix: `tol` and `reorder`,
    which are options of JAX's solver for GPUs, have no effect.

    >>> mat = CSR.fromdense(array([[2.0, 0.0], [0.0, 4.0]]))
    >>> spsolve(mat.data, mat.indices, mat.indptr, array([2.0, 2.0]))
    Array([1. , 0.5], dtype=float32)
    """
    return spsolve_p.bind(data, indices, indptr, b, tol=tol, reorder=reorder)
