"""The operators of BCOO arrays: sums, products, and indices."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from olympus_core.base.avals import shape_of
from olympus_core.base.errors import ArgumentError, IndexingError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.library.axes import canonical_axes
from olympus_core.library.lax.indexing import GatherDimensionNumbers
from olympus_core.library.lax.shape import broadcast_shapes
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.dtypes.queries import result_type
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import broadcast_to
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.sparse.coordinates import BCOO, full_parts, with_data
from olympus_core.library.sparse.gathering import bcoo_gather
from olympus_core.library.sparse.products import (
    bcoo_dot_general,
    bcoo_multiply_dense,
    bcoo_multiply_sparse,
)
from olympus_core.library.sparse.shapes import (
    bcoo_broadcast_in_dim,
    bcoo_reduce_sum,
    bcoo_reshape,
    bcoo_rev,
    bcoo_slice,
    bcoo_squeeze,
    bcoo_update_layout,
)


def _matmul(lhs: Any, rhs: Any) -> Any:
    """Return the matrix product of two arrays, of which one or both are BCOO; batches broadcast."""
    lhs, rhs = (x if isinstance(x, BCOO) else asarray(x) for x in (lhs, rhs))
    if not lhs.ndim or not rhs.ndim:
        raise ArgumentError("matmul inputs cannot be zero-dimensional")
    contract = (lhs.ndim - 1,), (max(rhs.ndim - 2, 0),)
    if rhs.ndim <= 2 or lhs.ndim <= 2:
        product = bcoo_dot_general(lhs, rhs, dimension_numbers=(contract, ((), ())))
        if lhs.ndim == 1 or rhs.ndim <= 2:
            return product
        order = (*range(1, product.ndim - 1), 0, product.ndim - 1)  # the rows follow the batches
        if isinstance(product, BCOO):
            product = bcoo_update_layout(product, n_batch=0)
        return product.transpose(order)
    lhs, rhs = _broadcast_batches(lhs, rhs)
    batch = tuple(range(lhs.ndim - 2))
    contract = (lhs.ndim - 1,), (lhs.ndim - 2,)
    return bcoo_dot_general(lhs, rhs, dimension_numbers=(contract, (batch, batch)))


def _broadcast_batches(lhs: Any, rhs: Any) -> tuple[Any, Any]:
    """Return both operands with the batch axes of their broadcast shape."""
    batch = broadcast_shapes(lhs.shape[:-2], rhs.shape[:-2])

    def wide(x: Any) -> Any:
        shape = (*batch, *x.shape[-2:])
        if x.shape == shape:
            return x
        if not isinstance(x, BCOO):
            return broadcast_to(x, shape)
        places = range(len(shape) - x.ndim, len(shape))
        return bcoo_broadcast_in_dim(x, shape=shape, broadcast_dimensions=places)

    return wide(lhs), wide(rhs)


def _rmatmul(rhs: BCOO, lhs: Any) -> Any:
    return _matmul(lhs, rhs)


def _mul(mat: BCOO, other: Any) -> BCOO:
    if isinstance(other, BCOO):
        return bcoo_multiply_sparse(mat, other)
    values = asarray(other)
    if values.ndim > mat.ndim:
        raise UnsupportedError(f"product with a dense array of {values.ndim} dimensions")
    return with_data(mat, bcoo_multiply_dense(mat, values))


def _add(mat: BCOO, other: Any) -> Any:
    if not isinstance(other, BCOO):
        if not shape_of(other) and not isinstance(other, Array) and other == 0:
            return mat
        return mat.todense() + other
    if mat.shape != other.shape:
        raise UnsupportedError("Addition between sparse matrices of different shapes.")
    if (mat.n_batch, mat.n_dense) != (other.n_batch, other.n_dense):
        raise UnsupportedError(
            "Addition between sparse matrices with different batch/dense dimensions."
        )
    dtype = result_type(mat.dtype, other.dtype)
    parts = [full_parts(m) for m in (mat, other)]
    data = concatenate([p[0].astype(dtype) for p in parts], axis=mat.n_batch)
    indices = concatenate([p[1] for p in parts], axis=mat.n_batch)
    return BCOO((data, indices), shape=mat.shape)


def _sub(mat: BCOO, other: Any) -> Any:
    return _add(mat, -other)


def _rsub(mat: BCOO, other: Any) -> Any:
    return _add(_neg(mat), other)


def _neg(mat: BCOO) -> BCOO:
    return with_data(mat, -mat.data)


def _pos(mat: BCOO) -> BCOO:
    return mat


def _divided(mat: BCOO, other: Any) -> BCOO:
    return _mul(mat, 1 / asarray(other))


def _getitem(mat: BCOO, index: Any) -> BCOO:
    """Return the part of integers and slices; UnsupportedError for index arrays."""
    items = list(index) if isinstance(index, tuple) else [index]
    count = sum(1 for i in items if i is not None and i is not Ellipsis)
    if Ellipsis in [i for i in items if i is Ellipsis]:
        place = next(n for n, i in enumerate(items) if i is Ellipsis)
        items[place : place + 1] = [slice(None)] * (mat.ndim - count)
    items += [slice(None)] * (mat.ndim - sum(1 for i in items if i is not None))
    if any(not isinstance(i, slice) and i is not None and shape_of(i) for i in items):
        return _gathered(mat, items)
    if any(i is None for i in items):
        return _with_new_axes(_getitem(mat, tuple([i for i in items if i is not None])), items)
    if len(items) > mat.ndim:
        raise IndexingError(f"too many indices: {len(items)} for {mat.ndim} dimensions")
    starts, ends, steps = list[int](), list[int](), list[int]()
    dropped, turned = list[int](), list[int]()
    for axis, (item, n) in enumerate(zip(items, mat.shape, strict=True)):
        if isinstance(item, slice):
            start, end, step = item.indices(n)
            if step < 0:
                length = len(range(start, end, step))
                last = start + (length - 1) * step
                start, end, step = (last, start + 1, -step) if length else (0, 0, 1)
                turned.append(axis)
            starts, ends, steps = [*starts, start], [*ends, max(start, end)], [*steps, step]
            continue
        place = _integer(item, n)
        dropped.append(axis)
        starts, ends, steps = [*starts, place], [*ends, place + 1], [*steps, 1]
    part = bcoo_slice(mat, start_indices=starts, limit_indices=ends, strides=steps)
    part = bcoo_rev(part, turned) if turned else part
    return bcoo_squeeze(part, dimensions=dropped) if dropped else part


def _with_new_axes(part: BCOO, items: list[Any]) -> BCOO:
    """Return the part of an index with axes of length 1 where the index has None."""
    are_new = [i is None for i in items if i is None or isinstance(i, slice)]
    places = [place for place, is_new in enumerate(are_new) if not is_new]
    lengths = iter(part.shape)
    shape = [1 if is_new else next(lengths) for is_new in are_new]
    return bcoo_broadcast_in_dim(part, shape=shape, broadcast_dimensions=places)


def _gathered(mat: BCOO, items: list[Any]) -> BCOO:
    """Return the parts at an array of indices along one axis, besides full slices."""
    places = [d for d, i in enumerate(items) if not isinstance(i, slice) or i != slice(None)]
    if len(places) != 1 or any(i is None for i in items):
        raise UnsupportedError(
            "a BCOO array supports an array of indices only along one axis, besides full slices"
        )
    (axis,) = places
    rows = asarray(items[axis])
    size = mat.shape[axis]
    rows = clip(where(rows < 0, rows + size, rows), 0, size - 1)
    window = [d + (rows.ndim - 1 if d > axis else 0) for d in range(mat.ndim) if d != axis]
    numbers = GatherDimensionNumbers(tuple(window), (axis,), (axis,))
    sizes = [1 if d == axis else n for d, n in enumerate(mat.shape)]
    return bcoo_gather(mat, rows[..., None], numbers, sizes)


def _integer(item: Any, n: int) -> int:
    """Return an index from 0 to n - 1; out of bounds it is the nearest end."""
    try:
        place = operator.index(item)
    except TypeError:
        raise UnsupportedError(
            f"a BCOO array supports indices of integers and slices, not {type(item).__name__}"
        ) from None
    return min(max(place + n if place < 0 else place, 0), n - 1)


def _iter(mat: BCOO) -> Iterator[BCOO]:
    return (_getitem(mat, i) for i in range(mat.shape[0]))


def _sum(mat: BCOO, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """Return the sums along axes as a sparse array, or of all elements."""
    axes = tuple(range(mat.ndim)) if axis is None else canonical_axes(axis, mat.ndim)
    source = mat if dtype is None else mat.astype(dtype)
    total = bcoo_reduce_sum(source, axes=axes)
    if not total.ndim:
        return total.todense()
    if keepdims:
        raise UnsupportedError("the sum of a BCOO array does not support keepdims")
    return total


def _reshape(mat: BCOO, *shape: Any) -> BCOO:
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    return bcoo_reshape(mat, new_sizes=sizes)


def _update_layout(
    mat: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    return bcoo_update_layout(mat, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)


def install() -> None:
    """Give BCOO its operators and the methods of other shapes.

    >>> install()
    """
    for name, function in {
        "__matmul__": _matmul,
        "__rmatmul__": _rmatmul,
        "__mul__": _mul,
        "__rmul__": _mul,
        "__truediv__": _divided,
        "__add__": _add,
        "__radd__": _add,
        "__sub__": _sub,
        "__rsub__": _rsub,
        "__neg__": _neg,
        "__pos__": _pos,
        "__getitem__": _getitem,
        "__iter__": _iter,
        "__array_priority__": 100,
        "sum": _sum,
        "reshape": _reshape,
        "update_layout": _update_layout,
    }.items():
        setattr(BCOO, name, function)


install()
