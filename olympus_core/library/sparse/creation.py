"""Sparse arrays of zeros, of a diagonal, and of random elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones, zeros
from olympus_core.library.numpy.indexing.index_arrays import unravel_index
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.manipulation.shapes import reshape
from olympus_core.library.random.key_functions import split
from olympus_core.library.random.keys import KeyLike
from olympus_core.library.random.permutation import choice
from olympus_core.library.random.uniform import uniform
from olympus_core.library.sparse.base import JAXSparse, shape_tuple
from olympus_core.library.sparse.compressed import BCSR
from olympus_core.library.sparse.coordinates import BCOO, bcoo_transpose
from olympus_core.library.sparse.matrices import COO, CSC, CSR
from olympus_core.library.sparse.shapes import bcoo_update_layout
from olympus_core.transforms.vmapping import vmap

_FORMATS: dict[str, Any] = {"bcsr": BCSR, "bcoo": BCOO, "coo": COO, "csr": CSR, "csc": CSC}


def todense(arr: JAXSparse | ArrayLike) -> Array:
    """Return a sparse array as a dense one; a dense array is returned as it is.

    >>> todense(empty((2,)))
    Array([0., 0.], dtype=float32)
    """
    return arr.todense() if isinstance(arr, JAXSparse) else asarray(arr)


def _format(name: str) -> Any:
    if name not in _FORMATS:
        raise ArgumentError(
            f"sparse_format={name!r} not recognized; must be one of {list(_FORMATS)}"
        )
    return _FORMATS[name]


def empty(
    shape: Sequence[int],
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    **kwds: int,
) -> JAXSparse:
    """Return a sparse array without elements.

    sparse_format: "bcoo", "bcsr", "coo", "csr" or "csc" (else ArgumentError). kwds: n_batch,
    n_dense and nse, of the first two formats.

    >>> empty((2, 3)).nse
    0
    """
    mat = _format(sparse_format)._empty(tuple(shape), dtype=dtype, index_dtype=index_dtype, **kwds)
    return cast(JAXSparse, mat)


def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: DTypeLike | None = None,
    index_dtype: DTypeLike = "int32",
    sparse_format: str = "bcoo",
    n_batch: int = 0,
    n_dense: int = 0,
) -> JAXSparse:
    """Return the sparse (N, M) matrix with ones on the diagonal `k`.

    sparse_format: as for `empty`. n_batch, n_dense: the numbers of such axes, of BCOO.

    >>> eye(2).todense()
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    rows, columns = operator.index(N), operator.index(N if M is None else M)
    offset = operator.index(k)
    kind = _format(sparse_format)
    first = max(0, -offset)
    count = max(0, min(rows - first, columns - max(0, offset)))
    row = np.arange(first, first + count)
    indices = asarray(np.stack([row, row + offset], axis=-1), index_dtype)
    mat = BCOO(
        (ones(count, dtype), indices),
        shape=(rows, columns),
        indices_sorted=True,
        unique_indices=True,
    )
    if kind is BCOO:
        return bcoo_update_layout(mat, n_batch=n_batch, n_dense=n_dense, on_inefficient=None)
    if kind is BCSR:
        return BCSR.from_bcoo(mat)
    if kind is COO:
        return COO._of(mat)
    turned = mat if kind is CSR else bcoo_transpose(mat, permutation=(1, 0))
    compressed = BCSR.from_bcoo(turned)
    parts = (compressed.data, compressed.indices, compressed.indptr)
    return cast(JAXSparse, kind(parts, shape=(rows, columns)))


def random_bcoo(
    key: KeyLike,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = float,
    indices_dtype: DTypeLike | None = None,
    nse: float | int = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Array] = uniform,
    **kwds: Any,
) -> BCOO:
    """Return a sparse array with random elements at random indices.

    nse: the number of elements of each batch, or their share if it is less than 1. unique_indices:
    False to allow equal indices. generator: a function of a key, `shape` and `dtype`, with kwds.

    Raises ArgumentError for a wrong number of elements or of axes.

    >>> random_bcoo(key(0), (3, 4), nse=5).nse
    5
    """
    sizes = shape_tuple(shape)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > len(sizes):
        raise ArgumentError(f"Invalid {n_batch=}, {n_dense=} for {shape=}")
    end = len(sizes) - n_dense
    batch, sparse = sizes[:n_batch], sizes[n_batch:end]
    size = math.prod(sparse)
    if not 0 <= nse < size:
        raise ArgumentError(f"got {nse=}, expected to be between 0 and {size}")
    count = math.ceil(nse * size) if 0 < nse < 1 else operator.index(cast(int, nse))
    index_dtype = (
        dtypes.default_dtype("i") if indices_dtype is None else dtypes.dtype(indices_dtype)
    )
    if size > dtypes.iinfo(index_dtype).max:
        raise ArgumentError(
            f"{indices_dtype=} does not have enough range to generate sparse indices of size {size}"
        )

    def places(key: Any) -> Any:
        if not sparse:
            return zeros((count, 0), index_dtype)
        flat = choice(key, size, shape=(count,), replace=not unique_indices).astype(index_dtype)
        return stack(unravel_index(flat, sparse), axis=-1).astype(index_dtype)

    keys = split(key, math.prod(batch) + 1)
    data = generator(keys[0], shape=(*batch, count, *sizes[end:]), dtype=dtype, **kwds)
    indices = reshape(vmap(places)(keys[1:]), (*batch, count, len(sparse)))
    mat = BCOO((data, indices), shape=sizes, unique_indices=unique_indices)
    return mat.sort_indices() if sorted_indices else mat
