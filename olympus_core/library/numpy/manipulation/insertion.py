"""Insertion and deletion of elements: `insert` and `delete`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.dimensions.expression import is_symbolic_dim, symbolic_slice
from olympus_core.base.errors import (
    InconclusiveDimensionOperation,
    IndexingError,
    concrete_value_expected,
)
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.reduction import cumsum
from olympus_core.library.numpy.creation.array import array, asarray
from olympus_core.library.numpy.creation.fills import ones, zeros
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.indexing.reading import getitem
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, ravel
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.operands import choose, operand
from olympus_core.library.promotion import broadcast_shapes, convert
from olympus_core.library.structural import structural
from olympus_core.primitives.shape import iota_p

_INT32 = np.dtype("int32")


def _flat(name: str, arr: Any, axis: int | None) -> tuple[Array, int]:
    """Return the array and the axis to operate along: the flattened array, for None."""
    arr, aval = operand(name, arr)
    if axis is None:
        return ravel(arr), 0
    return asarray(arr), canonical_axis(axis, aval.ndim)


def _distinct(obj: Any, length: Any) -> Array:
    """Return different indices of an axis of symbolic length, of a slice or of known indices.

    Raises InconclusiveDimensionOperation if the length may be too small for them, or if two may
    be equal.
    """
    if isinstance(obj, slice):
        start, count, step = symbolic_slice(obj, length)
        indices: Array = arange(count) * step + start
        return indices
    index = np.unique(np.asarray(obj))
    if index.dtype.kind not in "iu":
        raise InconclusiveDimensionOperation(
            f"delete needs integers along an axis of the symbolic length {length}, not {index}"
        )
    if index.size and index[0] < 0 <= index[-1]:
        raise InconclusiveDimensionOperation(
            f"delete cannot know if two of the indices {index} are equal: the length of the axis "
            f"is the symbolic {length}",
            hint="count all of them from the start, or all from the end",
        )
    if index.size and length < max(index[-1] + 1, -index[0]):
        raise IndexingError(f"delete got an index that is out of bounds for length {length}")
    return asarray(index)


@structural()
def delete(
    arr: ArrayOrKeys,
    obj: ArrayLike | Sequence[int] | slice,
    axis: int | None = None,
    *,
    assume_unique_indices: bool = False,
) -> Array:
    """Return the array without the elements at an index, indices, or a slice along an axis.

    With axis None the array is flattened.  Traced indices need `assume_unique_indices=True`
    (ConcretizationTypeError), because the number of remaining elements depends on it.

    >>> delete(asarray([1, 2, 3]), 1)
    Array([1, 3], dtype=int32)
    """
    a, place = _flat("delete", arr, axis)
    length = a.shape[place]
    here = (slice(None),) * place
    if is_symbolic_dim(length) and isinstance(obj, int) and -1 <= obj <= 0:
        # the least length of an axis is 1
        rest = slice(1, None) if obj == 0 else slice(None, -1)
        return getitem(a, (*here, rest))
    if is_symbolic_dim(length) and not isinstance(obj, Tracer):
        return _deleted(a, place, _distinct(obj, length))
    if isinstance(obj, slice):
        obj = np.arange(length)[obj]
    if not isinstance(obj, Tracer):
        index = np.asarray(obj)
        outside = (index < -length) | (index >= length)
        if index.dtype != bool and outside.any():
            raise IndexingError(f"delete got an index that is out of bounds for length {length}")
        keep = np.delete(np.arange(length, dtype=_INT32), index if index.size else [])
        return getitem(a, (*here, keep))
    if obj.shape and not assume_unique_indices:
        raise concrete_value_expected(
            f"delete cannot know the number of remaining elements: the indices are {obj.origin()}",
            hint="pass assume_unique_indices=True if no index occurs twice",
        )
    return _deleted(a, place, obj)


def _deleted(a: Any, axis: int, indices: Any) -> Array:
    """Return the array without the elements at different indices along an axis."""
    length = a.shape[axis]
    deleted = ravel(choose("delete", indices < 0, indices + length, indices))
    is_deleted = zeros((length,), bool).at[deleted].set(True, mode="drop")
    (remaining,) = (~is_deleted).nonzero(size=length - deleted.size)
    return getitem(a, (slice(None),) * axis + (remaining,))


@structural(0, 2)
def insert(
    arr: ArrayOrKeys,
    obj: ArrayLike | Sequence[int] | slice,
    values: ArrayOrKeys,
    axis: int | None = None,
) -> Array:
    """Return the array with `values` inserted before an index, indices, or a slice of an axis.

    With axis None the array is flattened.

    >>> insert(asarray([1, 3]), 1, 2)
    Array([1, 2, 3], dtype=int32)
    """
    a, place = _flat("insert", arr, axis)
    length = a.shape[place]
    if isinstance(obj, slice):
        obj = np.arange(length)[obj]
    index, inserted = asarray(obj), array(values, a.dtype, copy=False, ndmin=a.ndim)
    if index.ndim > 1 or (index.size and dtypes.kind(index.dtype) not in "iu"):
        raise IndexingError(
            f"insert needs integers in one dimension, and got {index.aval.long_name()}"
        )
    if not index.shape:  # as in NumPy, one index inserts a whole block along its first axis
        inserted = moveaxis(inserted, 0, place)
    return _inserted(moveaxis(a, place, 0), ravel(index), moveaxis(inserted, place, 0), place)


@composite(static_argnames=("axis",))
def _inserted(a: Any, index: Any, values: Any, axis: int) -> Array:
    """Insert the rows of `values` before those rows of `a`; then move the rows to `axis`."""
    length, count = a.shape[0], broadcast_shapes(index.shape, values.shape[:1])[0]
    values = broadcast_to(values, (count, *a.shape[1:]))
    index = convert(clip(choose("insert", index < 0, index + length, index), 0, length), _INT32)
    index = broadcast_to(index, (count,))
    order = index.argsort(stable=True)
    place = index[order] + iota_p.bind(dtype=_INT32, shape=(count,), dimension=0)
    is_old = ones((length + count,), _INT32).at[place].set(0)
    source = (cumsum(is_old) - 1).at[place].set(length + convert(order, _INT32))
    return moveaxis(concatenate([a, values])[source], 0, axis)
