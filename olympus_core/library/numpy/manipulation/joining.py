"""Joining of arrays: `concatenate`, `stack`, `block`, `append`.

The arrays are promoted to one dtype.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayOrKeys, ArraysOrKeys, DTypeLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax import slicing as lax
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.manipulation.shapes import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    expand_dims,
    ravel,
    reshape,
)
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.operands import reject_out
from olympus_core.library.promotion import check_arrays, convert, promote_dtypes
from olympus_core.library.structural import structural
from olympus_core.primitives.joining import concatenate_p, stack_p
from olympus_core.transforms.vmapping import vmap


def _operands(name: str, arrays: Any, dtype: Any) -> list[Any]:
    """Return the arrays of a sequence, or the rows of one array, in one dtype."""
    if isinstance(arrays, (Array, np.ndarray)):
        if not shape_of(arrays):
            raise ShapeError(f"{name} needs a sequence of arrays, and got one without dimensions")
        arrays = lax.unstack(arrays)
    operands = list(arrays) if isinstance(arrays, (tuple, list)) else _sequence(name, arrays)
    if not operands:
        raise ShapeError(f"Need at least one array to {name}, and got none")
    check_arrays(name, *operands)
    if dtype is not None:
        target_dtype = dtypes.requested(name, dtype)
        return [convert(x, target_dtype) for x in operands]
    return promote_dtypes(*operands)


def _has_symbolic_rows(arrays: Any) -> bool:
    """Return True for an array of a symbolic number of rows, which cannot be a sequence of them."""
    return isinstance(arrays, Array) and bool(arrays.ndim) and is_symbolic_dim(arrays.shape[0])


def _each(function: Callable[[Any], Any], arrays: Any) -> Any:
    """Return the results for each array of a sequence, or for the rows of one array as an array."""
    if _has_symbolic_rows(arrays):
        return vmap(function)(arrays)
    return [function(x) for x in arrays]


def _joined_rows(rows: Any, axis: int | None, dtype: Any) -> Array:
    """Return the rows of an array of a symbolic number of them, joined along an axis of theirs."""
    x = rows if dtype is None else convert(rows, dtypes.requested("concatenate", dtype))
    if axis is None:
        return ravel(x)
    if x.ndim == 1:
        raise ShapeError("concatenate cannot join arrays without dimensions: use stack")
    place = canonical_axis(axis, x.ndim - 1)
    moved = moveaxis(x, 0, place)
    before, (count, size, *after) = moved.shape[:place], moved.shape[place:]
    return reshape(moved, (*before, count * size, *after))


def _sequence(name: str, arrays: Any) -> list[Any]:
    if not hasattr(arrays, "__iter__"):
        raise DTypeError(
            f"{name} needs a sequence of arrays, and got a value of type {type(arrays).__name__}"
        )
    return list(arrays)


@structural()
def concatenate(
    arrays: ArraysOrKeys, axis: int | None = 0, dtype: DTypeLike | None = None
) -> Array:
    """Join the arrays along an axis; with axis None, each is flattened first.

    They must have one shape except for that axis (ShapeError), and are promoted to one dtype or
    `dtype`.

    >>> concatenate([asarray([1, 2]), asarray([3])])
    Array([1, 2, 3], dtype=int32)
    """
    if _has_symbolic_rows(arrays):
        return _joined_rows(arrays, axis, dtype)
    operands = _operands("concatenate", arrays, dtype)
    if axis is None:
        operands, axis = [ravel(x) for x in operands], 0
    ndim = len(shape_of(operands[0]))
    if ndim == 0:
        raise ShapeError("concatenate cannot join arrays without dimensions: use stack")
    place = canonical_axis(axis, ndim)
    if len(operands) == 1:
        return asarray(operands[0])
    result: Array = concatenate_p.bind(*operands, dimension=place)
    return result


@structural()
def concat(arrays: ArraysOrKeys, /, *, axis: int | None = 0) -> Array:
    """Join the arrays along an axis; see `concatenate`.

    >>> concat([asarray([1, 2]), asarray([3])])
    Array([1, 2, 3], dtype=int32)
    """
    return concatenate(arrays, axis)


@structural()
def stack(
    arrays: ArraysOrKeys,
    axis: int = 0,
    out: None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Stack arrays of one shape (ShapeError) along a new axis.

    >>> stack([asarray([1, 2]), asarray([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    reject_out("stack", out)
    if _has_symbolic_rows(arrays):
        rows = asarray(arrays, dtype)
        return moveaxis(rows, 0, canonical_axis(axis, rows.ndim))
    operands = _operands("stack", arrays, dtype)
    place = canonical_axis(axis, len(shape_of(operands[0])) + 1)
    result: Array = stack_p.bind(*operands, axis=place)
    return result


@structural()
def hstack(tup: ArraysOrKeys, dtype: DTypeLike | None = None) -> Array:
    """Join the arrays along axis 1, or along axis 0 if they are vectors or scalars.

    >>> hstack([asarray([1, 2]), asarray([3])])
    Array([1, 2, 3], dtype=int32)
    """
    arrays = _each(atleast_1d, tup)
    rank = arrays.ndim - 1 if isinstance(arrays, Array) else arrays[0].ndim if arrays else 0
    return concatenate(arrays, 0 if rank == 1 else 1, dtype)


@structural()
def vstack(tup: ArraysOrKeys, dtype: DTypeLike | None = None) -> Array:
    """Join the arrays along axis 0; vectors become rows.

    >>> vstack([asarray([1, 2]), asarray([3, 4])])
    Array([[1, 2],
           [3, 4]], dtype=int32)
    """
    return concatenate(_each(atleast_2d, tup), 0, dtype)


@structural()
def dstack(tup: ArraysOrKeys, dtype: DTypeLike | None = None) -> Array:
    """Join the arrays along axis 2.

    >>> dstack([asarray([1, 2]), asarray([3, 4])]).shape
    (1, 2, 2)
    """
    return concatenate(_each(atleast_3d, tup), 2, dtype)


@structural()
def column_stack(tup: ArraysOrKeys) -> Array:
    """Join the arrays along axis 1; vectors become columns.

    >>> column_stack([asarray([1, 2]), asarray([3, 4])])
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """

    def columns(x: Any) -> Array:
        array = asarray(x)
        return array if array.ndim > 1 else reshape(array, (-1, 1))

    return concatenate(_each(columns, tup), 1)


@structural()
def block(arrays: ArrayOrKeys | list[Any]) -> Array:
    """Join nested lists of blocks to one array: the innermost lists are along the last axis.

    >>> block([[np.ones((1, 1)), np.zeros((1, 2))]])
    Array([[1., 0., 0.]], dtype=float32)
    """
    if isinstance(arrays, list):
        return _block(arrays)[0]
    check_arrays("block", arrays)
    return asarray(arrays)


def _block(blocks: Any) -> tuple[Array, int]:
    """Return the array of nested lists, and the axis, from the end, that the next level joins."""
    if not isinstance(blocks, list):
        check_arrays("block", blocks)
        return atleast_1d(blocks), 1
    if not blocks:
        raise ShapeError("block needs lists of at least one array, and got an empty list")
    arrays, depths = zip(*map(_block, blocks), strict=True)
    depth = max(depths)
    rank = max(depth, *(x.ndim for x in arrays))
    arrays = tuple(expand_dims(x, tuple(range(rank - x.ndim))) for x in arrays)
    return concatenate(arrays, -depth), depth + 1


@structural(0, 1)
def append(arr: ArrayOrKeys, values: ArrayOrKeys, axis: int | None = None) -> Array:
    """Join `arr` and `values` along an axis; with None, both are flattened.

    >>> append(asarray([1, 2]), 3)
    Array([1, 2, 3], dtype=int32)
    """
    return concatenate([arr, values], axis)
