"""Index arrays: `unravel_index`, `ix_`, and the indices of diagonals and triangles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import as_sequence, dimension, get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim, max_dim
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError, concrete_value_expected
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, DTypeLike, NestedArrayLike, ShapeLike
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.creation.grids import along
from olympus_core.library.numpy.creation.matrices import check_sizes, tri
from olympus_core.library.numpy.sorting.searching import nonzero
from olympus_core.library.operands import choose, operand
from olympus_core.primitives.shape import iota_p


def ix_(*args: NestedArrayLike) -> tuple[Array, ...]:
    """Return index arrays that select the grid of vectors; a bool vector selects its True indices.

    >>> asarray([[1, 2], [3, 4]])[ix_(asarray([1]), asarray([0, 1]))]
    Array([[3, 4]], dtype=int32)
    """
    result = []
    for i, x in enumerate(map(asarray, args)):
        if x.ndim != 1:
            raise ShapeError(f"ix_ needs vectors, and got an array of shape {x.shape}")
        if not x.size:
            x = asarray(np.zeros((0,), dtypes.default_dtype("i")))
        elif x.dtype == dtypes.bool_:
            x = asarray(np.flatnonzero(np.asarray(x)).astype("int32"))
        shape = tuple([x.size if i == axis else 1 for axis in range(len(args))])
        result.append(along(x, i, shape, sparse=True))
    return tuple(result)


def _positions(mask: Any) -> tuple[Array, ...]:
    wanted = dtypes.default_dtype("i")
    return tuple(asarray(i.astype(wanted)) for i in np.nonzero(mask))


def _symbolic_positions(n: Any, k: int, m: Any, *, is_upper: bool) -> tuple[Array, ...]:
    """Return the positions in a triangle of an n x m matrix of symbolic size."""
    m, diagonal = n if m is None else m, k - 1 if is_upper else k

    def sum_up_to(number: Any) -> Any:
        positive = max_dim(number, 0)
        return positive * (positive + 1) // 2

    # row i has min(max(i + 1 + diagonal, 0), m) elements
    lower = sum_up_to(n + diagonal) - sum_up_to(diagonal)
    lower -= sum_up_to(n + diagonal - m) - sum_up_to(diagonal - m)
    mask = tri(n, m, diagonal, dtype=bool)
    return nonzero(~mask if is_upper else mask, size=n * m - lower if is_upper else lower)


def tril_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return (rows, columns) of the elements on and below diagonal `k` of an n x m matrix.

    >>> tril_indices(2)
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    if is_symbolic_dim(n) or is_symbolic_dim(m):
        return _symbolic_positions(n, k, m, is_upper=False)
    return _positions(np.tri(n, n if m is None else m, k, dtype=bool))


def triu_indices(n: int, k: int = 0, m: int | None = None) -> tuple[Array, ...]:
    """Return (rows, columns) of the elements on and above diagonal `k` of an n x m matrix.

    >>> triu_indices(2)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    if is_symbolic_dim(n) or is_symbolic_dim(m):
        return _symbolic_positions(n, k, m, is_upper=True)
    return _positions(~np.tri(n, n if m is None else m, k - 1, dtype=bool))


def tril_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return (rows, columns) of the elements of a matrix on and below diagonal `k`.

    >>> tril_indices_from(asarray([[1, 2], [3, 4]]))
    (Array([0, 1, 1], dtype=int32), Array([0, 0, 1], dtype=int32))
    """
    rows, columns = _matrix("tril_indices_from", arr)
    return tril_indices(rows, k, columns)


def triu_indices_from(arr: ArrayLike, k: int = 0) -> tuple[Array, ...]:
    """Return (rows, columns) of the elements of a matrix on and above diagonal `k`.

    >>> triu_indices_from(asarray([[1, 2], [3, 4]]))
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    rows, columns = _matrix("triu_indices_from", arr)
    return triu_indices(rows, k, columns)


def _matrix(name: str, arr: Any) -> tuple[int, int]:
    shape = shape_of(arr)
    if len(shape) != 2:
        raise ShapeError(f"{name} needs a matrix, and got an array of shape {shape}")
    return shape[0], shape[1]


def mask_indices(
    n: int,
    mask_func: Callable[[Array, int], ArrayLike],
    k: int = 0,
    *,
    size: int | None = None,
) -> tuple[Array, ...]:
    """Return (rows, columns) where `mask_func` (such as `triu`) of n x n ones is nonzero.

    size: the number of positions to return; missing ones are 0.

    >>> mask_indices(2, triu)
    (Array([0, 0, 1], dtype=int32), Array([0, 1, 1], dtype=int32))
    """
    mask = mask_func(asarray(np.ones((n, n), bool)), k)
    return _positions(np.asarray(mask)) if size is None else nonzero(mask, size=size)


def diag_indices(n: int, ndim: int = 2) -> tuple[Array, ...]:
    """Return the indices of the diagonal of an array of `ndim` axes of length `n`.

    >>> diag_indices(2)
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    check_sizes("diag_indices", n, ndim)
    return (iota_p.bind(dtype=dtypes.default_dtype("i"), shape=(n,), dimension=0),) * ndim


def diag_indices_from(arr: ArrayLike) -> tuple[Array, ...]:
    """Return the indices of the diagonal of a square array; raise ShapeError for another shape.

    >>> diag_indices_from(asarray([[1, 2], [3, 4]]))
    (Array([0, 1], dtype=int32), Array([0, 1], dtype=int32))
    """
    shape = shape_of(arr)
    if len(shape) < 2 or len(set(shape)) > 1:
        raise ShapeError(f"diag_indices_from needs axes of one length, and got shape {shape}")
    return diag_indices(shape[0], len(shape))


def unravel_index(indices: ArrayLike, shape: ShapeLike) -> tuple[Array, ...]:
    """Return the index along each axis of elements at positions in the flattened array.

    Positions out of bounds are clamped; negative ones count from the end.

    >>> unravel_index(asarray([5]), (2, 3))
    (Array([1], dtype=int32), Array([2], dtype=int32))
    """
    indices, _ = operand("unravel_index", indices)
    sizes = tuple(dimension(n) for n in as_sequence(shape))
    total = math.prod(sizes)
    flat = asarray(indices)
    flat = choose("unravel_index", flat < 0, flat + total, flat).clip(0, max(total - 1, 0))
    result = []
    for n in sizes[:0:-1]:
        result.append(flat % n)
        flat = flat // n
    return (flat, *reversed(result)) if sizes else ()


def ravel_multi_index(
    multi_index: Sequence[ArrayLike],
    dims: Sequence[int],
    mode: str = "raise",
    order: str = "C",
    *,
    dtype: DTypeLike | None = None,
) -> Array:
    """Return the position in the flattened array of elements with an index along each axis.

    Indices out of bounds are clamped for `mode` "clip", wrapped around for "wrap", and raise for
    "raise" (ArgumentError; ConcretizationTypeError under a trace).

    >>> ravel_multi_index((asarray([1]), asarray([2])), (2, 3))
    Array([5], dtype=int32)
    """
    if len(multi_index) != len(dims):
        raise ShapeError(f"ravel_multi_index got {len(multi_index)} indices for {len(dims)} axes")
    if order not in ("C", "F"):
        raise ArgumentError(f"ravel_multi_index takes order 'C' or 'F', and got {order!r}")
    wanted = dtypes.requested("ravel_multi_index", dtype, dtypes.default_dtype("i"))
    for index in multi_index:
        if dtypes.kind(get_aval(index).dtype) not in "iu":
            raise DTypeError(
                f"ravel_multi_index needs integers, and got {get_aval(index).long_name()}"
            )
    wide = [i if isinstance(i, int) else _widened(asarray(i), wanted) for i in multi_index]
    pairs = [(_bounded(i, n, mode), n) for i, n in zip(wide, dims, strict=True)]
    result = zeros((), wanted)
    for index, n in pairs if order == "C" else reversed(pairs):
        result = result * n + asarray(index).astype(wanted)
    return result


def _widened(index: Array, dtype: dtypes.DType) -> Array:
    """Return the index in `dtype`, which can represent the lengths, or in its own wider dtype."""
    wider = dtypes.iinfo(index.dtype).max > dtypes.iinfo(dtype).max
    return index if wider else index.astype(dtype)


def _bounded(index: Any, length: int, mode: str) -> Any:
    if mode == "wrap":
        return asarray(index) % length
    if mode == "clip":
        return asarray(index).clip(0, length - 1)
    if mode != "raise":
        raise ArgumentError(f"ravel_multi_index takes mode 'raise', 'wrap' or 'clip', not {mode!r}")
    if isinstance(index, Tracer):
        raise concrete_value_expected(
            f"ravel_multi_index cannot check an index while tracing: it is {index.origin()}",
            hint="pass mode='clip' or mode='wrap'",
        )
    values = np.asarray(index)
    if values.size and not 0 <= values.min() <= values.max() < length:
        raise ArgumentError(f"ravel_multi_index got an index out of bounds for length {length}")
    return index
