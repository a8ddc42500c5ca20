"""Products of BCOO arrays: with dense arrays, with each other, and elementwise."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.errors import ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, DTypeLike
from olympus_core.library.lax.dot import dot_general
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros
from olympus_core.library.numpy.dtypes.queries import result_type
from olympus_core.library.numpy.indexing.taking import take_along_axis
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, reshape
from olympus_core.library.numpy.manipulation.transposing import transpose
from olympus_core.library.numpy.reductions.sums import all as all_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import argmax, where
from olympus_core.library.sparse.base import over_batches
from olympus_core.library.sparse.coordinates import (
    BCOO,
    bcoo_extract,
    bcoo_transpose,
    full_parts,
    is_within,
    masked,
)
from olympus_core.library.sparse.shapes import bcoo_update_layout, shortened
from olympus_core.transforms.vmapping import vmap

DimensionNumbers = tuple[tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]]


class _Numbers(NamedTuple):
    """The contracting and the batch axes of both operands."""

    lhs_contract: tuple[int, ...]
    rhs_contract: tuple[int, ...]
    lhs_batch: tuple[int, ...]
    rhs_batch: tuple[int, ...]

    @staticmethod
    def of(numbers: DimensionNumbers) -> _Numbers:
        (a, b), (c, d) = numbers
        return _Numbers(*(tuple(operator.index(i) for i in part) for part in (a, b, c, d)))

    def swapped(self) -> _Numbers:
        return _Numbers(self.rhs_contract, self.lhs_contract, self.rhs_batch, self.lhs_batch)


def _check_shapes(lhs: Any, rhs: Any, n: _Numbers) -> None:
    """Raise ShapeError unless the contracted and the batch axes have equal lengths."""
    pairs = zip((*n.lhs_contract, *n.lhs_batch), (*n.rhs_contract, *n.rhs_batch), strict=True)
    if any(lhs.shape[i] != rhs.shape[j] for i, j in pairs):
        raise ShapeError(
            f"dot_general requires equal lengths of the contracted and batch dimensions {n}, and "
            f"got the shapes {lhs.shape} and {rhs.shape}"
        )


def _free(ndim: int, *used: Sequence[int]) -> list[int]:
    excluded = {i for part in used for i in part}
    return [i for i in range(ndim) if i not in excluded]


def _by_gathering(lhs: BCOO, rhs: Any, n: _Numbers, dtype: Any) -> Any:
    """Return the product, by rows of rhs at the indices of lhs, summed at the other indices.

    The batch axes of the product are the first ones of lhs; its other batch axes, which remain in
    the result, are mapped too. It contracts sparse axes only.
    """
    n_batch, n_sparse = lhs.n_batch, lhs.n_sparse
    free = _free(rhs.ndim, n.rhs_batch, n.rhs_contract)
    rhs = transpose(rhs, (*n.rhs_batch, *n.rhs_contract, *free))
    columns = [i - n_batch for i in n.lhs_contract]
    rest = [i for i in range(n_sparse) if i not in columns]
    shape = tuple(lhs.sparse_shape[i] for i in rest)

    def one(data: Any, indices: Any, rhs: Any) -> Any:
        inside = is_within(indices, lhs.sparse_shape)
        rows = rhs[tuple(indices[:, c] for c in columns)] if columns else rhs[None]
        tail = rows.ndim - 1
        terms = reshape(masked(data, inside), (*data.shape, *(1,) * tail)).astype(dtype)
        ones_ = (1,) * (data.ndim - 1)
        rows = reshape(rows, (rows.shape[0], *ones_, *rows.shape[1:])).astype(dtype)
        product = terms * rows
        if not rest:
            return sum_(product, axis=0)
        places = tuple(indices[:, c] for c in rest)
        return zeros((*shape, *product.shape[1:]), dtype).at[places].add(product, mode="drop")

    data, indices = full_parts(lhs)
    used = [i for i in range(n_batch) if i not in n.lhs_batch]
    front = (*n.lhs_batch, *used)
    data = transpose(data, (*front, *range(n_batch, data.ndim)))
    indices = transpose(indices, (*front, n_batch, n_batch + 1))
    function: Callable[..., Any] = one
    for _ in used:
        function = vmap(function, in_axes=(0, 0, None))
    return over_batches(function, len(n.lhs_batch))(data, indices, rhs)


def _times_dense(lhs: BCOO, rhs: Any, n: _Numbers, preferred: Any) -> Array:
    _check_shapes(lhs, rhs, n)
    dtype = result_type(lhs.dtype, rhs.dtype) if preferred is None else dtypes.dtype(preferred)
    sparse = range(lhs.n_batch, lhs.n_batch + lhs.n_sparse)
    by_indices = all(i in sparse for i in n.lhs_contract)
    if by_indices and all(i < lhs.n_batch for i in n.lhs_batch):
        result: Array = _by_gathering(lhs, rhs, n, dtype)
        return result
    numbers = ((n.lhs_contract, n.rhs_contract), (n.lhs_batch, n.rhs_batch))
    dense, rhs = lhs.todense().astype(dtype), rhs.astype(dtype)
    return dot_general(dense, rhs, numbers)


def _dense_times(lhs: Any, rhs: BCOO, n: _Numbers, preferred: Any) -> Array:
    out = _times_dense(rhs, lhs, n.swapped(), preferred)
    batch = len(n.lhs_batch)
    first = rhs.ndim - batch - len(n.rhs_contract)
    order = (*range(batch), *range(batch + first, out.ndim), *range(batch, batch + first))
    return transpose(out, order)


def _sparse_pair(lhs: BCOO, rhs: BCOO, n: _Numbers, dtype: Any) -> BCOO:
    """Return the product of two sparse arrays without dense axes: one element for each pair."""
    if lhs.n_dense or rhs.n_dense:
        raise UnsupportedError("bcoo_dot_general of two sparse arrays does not support n_dense > 0")
    n_batch = len(n.lhs_batch)
    lhs, contract = _batched(lhs, n.lhs_batch, n.lhs_contract)
    rhs, other_contract = _batched(rhs, n.rhs_batch, n.rhs_contract)
    n = n._replace(lhs_contract=contract, rhs_contract=other_contract)
    left, right = ([i - n_batch for i in part] for part in (n.lhs_contract, n.rhs_contract))
    rest = _free(lhs.n_sparse, left), _free(rhs.n_sparse, right)
    shapes = [[m.sparse_shape[i] for i in part] for m, part in zip((lhs, rhs), rest, strict=True)]
    shape = (*shapes[0], *shapes[1])

    def one(a: Any, i: Any, b: Any, j: Any) -> Any:
        columns = np.asarray(left, int), np.asarray(right, int)
        meets = all_(i[:, None, columns[0]] == j[None, :, columns[1]], axis=-1)
        meets = meets & is_within(i, lhs.sparse_shape)[:, None] & is_within(j, rhs.sparse_shape)
        data = where(meets, a[:, None] * b[None], 0)
        sides = [
            broadcast_to(i[:, None, np.asarray(rest[0], int)], (*meets.shape, len(rest[0]))),
            broadcast_to(j[None, :, np.asarray(rest[1], int)], (*meets.shape, len(rest[1]))),
        ]
        places = concatenate(sides, axis=-1)
        places = where(meets[..., None], places, asarray(shape, places.dtype))
        count = data.size
        return reshape(data, count).astype(dtype), reshape(places, (count, len(shape)))

    parts = (*full_parts(lhs), *full_parts(rhs))
    data, indices = over_batches(one, n_batch)(*parts)
    result = BCOO((data, indices), shape=(*lhs.batch_shape, *shape))
    return shortened(result, result)


def _batched(
    mat: BCOO, batch: Sequence[int], contract: Sequence[int]
) -> tuple[BCOO, tuple[int, ...]]:
    """Return an array whose batch axes are those of a product, in order, and its contracted axes.

    Raises UnsupportedError if a batch axis of the product is a sparse axis.
    """
    if any(i >= mat.n_batch for i in batch):
        raise UnsupportedError(
            "bcoo_dot_general batch dimensions must be among the batch dimensions in the sparse "
            f"representation, and got {tuple(batch)} for n_batch={mat.n_batch}"
        )
    others = [i for i in range(mat.n_batch) if i not in batch]
    order = (*batch, *others, *range(mat.n_batch, mat.ndim))
    moved = bcoo_transpose(mat, permutation=order)
    moved = bcoo_update_layout(moved, n_batch=len(batch))
    return moved, tuple([order.index(i) for i in contract])


def bcoo_dot_general(
    lhs: BCOO | ArrayLike,
    rhs: BCOO | ArrayLike,
    *,
    dimension_numbers: DimensionNumbers,
    precision: None = None,
    preferred_element_type: DTypeLike | None = None,
    out_sharding: None = None,
) -> BCOO | Array:
    """Return the product of two arrays, of which one or both are sparse; see `lax.dot_general`.

    The result is dense unless both are sparse. `precision` and `out_sharding` have no effect.

    Raises ShapeError for axes that do not match, UnsupportedError for two sparse arrays with dense
    axes, or with other batch axes than those of the product.

    >>> sparse = BCOO.fromdense(array([[0.0, 1.0], [2.0, 0.0]]))
    >>> bcoo_dot_general(sparse, array([1.0, 3.0]), dimension_numbers=(((1,), (0,)), ((), ())))
    Array([3., 2.], dtype=float32)
    """
    n = _Numbers.of(dimension_numbers)
    if isinstance(lhs, BCOO) and isinstance(rhs, BCOO):
        _check_shapes(lhs, rhs, n)
        preferred = preferred_element_type
        dtype = result_type(lhs.dtype, rhs.dtype) if preferred is None else dtypes.dtype(preferred)
        return _sparse_pair(lhs, rhs, n, dtype)
    if isinstance(lhs, BCOO):
        return _times_dense(lhs, asarray(cast(ArrayLike, rhs)), n, preferred_element_type)
    if isinstance(rhs, BCOO):
        return _dense_times(asarray(lhs), rhs, n, preferred_element_type)
    return dot_general(lhs, rhs, dimension_numbers)


def bcoo_dot_general_sampled(
    A: ArrayLike, B: ArrayLike, indices: ArrayLike, *, dimension_numbers: DimensionNumbers
) -> Array:
    """Return the elements of a product of dense arrays at indices (nse, n_sparse).

    >>> numbers = (((1,), (0,)), ((), ()))
    >>> bcoo_dot_general_sampled(eye(2), eye(2), array([[1, 1]]), dimension_numbers=numbers)
    Array([1.], dtype=float32)
    """
    n = _Numbers.of(dimension_numbers)
    numbers = ((n.lhs_contract, n.rhs_contract), (n.lhs_batch, n.rhs_batch))
    product, places = dot_general(A, B, numbers), asarray(indices)
    n_batch = places.ndim - 2
    sample = BCOO(
        (zeros((*places.shape[:-1], *product.shape[n_batch + places.shape[-1] :])), places),
        shape=product.shape,
    )
    return bcoo_extract(sample, product, assume_unique=True).data


def bcoo_multiply_dense(sp_mat: BCOO, v: ArrayLike) -> Array:
    """Return the data of the elementwise product with a dense array, which broadcasts.

    >>> bcoo_multiply_dense(BCOO.fromdense(array([0.0, 2.0])), array([3.0, 4.0]))
    Array([8.], dtype=float32)
    """
    values = asarray(v)
    if not values.ndim:
        return sp_mat.data * values
    if values.ndim > sp_mat.ndim:
        raise UnsupportedError(
            f"bcoo_multiply_dense supports only a dense array of at most {sp_mat.ndim} dimensions, "
            f"and got {values.ndim}"
        )
    values = broadcast_to(values, sp_mat.shape)
    data, _ = full_parts(sp_mat)
    sampled = bcoo_extract(sp_mat, values, assume_unique=True).data
    product: Array = data * sampled
    return product


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Return the elementwise product of two sparse arrays of one shape, with equal kinds of axes.

    >>> mat = BCOO.fromdense(array([0.0, 2.0]))
    >>> bcoo_multiply_sparse(mat, mat).todense()
    Array([0., 4.], dtype=float32)
    """
    kinds = [(m.shape, m.n_batch, m.n_dense) for m in (lhs, rhs)]
    if kinds[0] != kinds[1]:
        raise UnsupportedError(
            "bcoo_multiply_sparse supports only arrays of one shape, n_batch and n_dense, and got "
            f"{kinds[0]} and {kinds[1]}"
        )
    if lhs.n_dense:
        raise UnsupportedError("bcoo_multiply_sparse does not support n_dense > 0")

    def one(a: Any, i: Any, b: Any, j: Any) -> Any:
        meets = all_(i[:, None] == j[None], axis=-1) & is_within(i, lhs.sparse_shape)[:, None]
        places = where(meets[..., None], i[:, None], asarray(lhs.sparse_shape, i.dtype))
        product = where(meets, a[:, None] * b[None], 0)
        if rhs.unique_indices:
            best = argmax(meets, axis=1)[:, None]
            product = take_along_axis(product, best, axis=1)
            places = take_along_axis(places, best[..., None], axis=1)
        return reshape(product, product.size), reshape(places, (product.size, i.shape[1]))

    parts = (*full_parts(lhs), *full_parts(rhs))
    data, indices = over_batches(one, lhs.n_batch)(*parts)
    unique_known = lhs.unique_indices and rhs.unique_indices
    return BCOO((data, indices), shape=lhs.shape, unique_indices=unique_known)
