"""The functions of `olympus.lax` that split and join arrays.

Static bounds are Python ints; dynamic ones may be traced, and are clamped so that the slice is
within the array.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, dimension, get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import IndexingError, RangeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, ArraysOrKeys
from olympus_core.library.axes import canonical_axis
from olympus_core.library.lax.shape import expand_dims, squeeze
from olympus_core.library.promotion import convert
from olympus_core.library.structural import structural
from olympus_core.primitives import joining, slicing
from olympus_core.primitives.elementwise.arithmetic import add_p, max_p, min_p
from olympus_core.primitives.elementwise.logic import lt_p
from olympus_core.primitives.elementwise.selection import select_n_p
from olympus_core.primitives.slicing import index_dtypes_error


@structural()
def concatenate(operands: ArraysOrKeys, dimension: int) -> Array:
    """Join the operands, of one dtype, along axis `dimension`.

    Raises ShapeError without an operand or if they differ along other axes, DTypeError if dtypes
    differ.

    >>> concatenate([array([1, 2]), array([3])], 0)
    Array([1, 2, 3], dtype=int32)
    """
    arrays = _sequence("concatenate", operands)
    if len(arrays) == 1 and isinstance(arrays[0], Array):
        return arrays[0]
    return joining.concatenate_p.bind(*arrays, dimension=dimension)


@structural()
def stack(operands: ArraysOrKeys, axis: int = 0) -> Array:
    """Stack the operands, of one dtype and shape, along a new axis of the result.

    Raises ShapeError without an operand or if their shapes differ, DTypeError if dtypes do.

    >>> stack([array([1, 2]), array([3, 4])], axis=1)
    Array([[1, 3],
           [2, 4]], dtype=int32)
    """
    arrays = _sequence("stack", operands)
    position = canonical_axis(axis, len(shape_of(arrays[0])) + 1)
    return joining.stack_p.bind(*arrays, axis=position)


def _sequence(name: str, operands: Any) -> list[Any]:
    arrays = list(operands)
    if not arrays:
        raise ShapeError(f"{name} requires a non-empty sequences of arrays, and got none")
    return arrays


@structural()
def split(operand: ArrayOrKeys, sizes: Sequence[int], axis: int = 0) -> list[Array]:
    """Split into parts of the lengths `sizes`, whose sum is the axis's length (else ShapeError).

    >>> split(array([5, 6, 7]), (2, 1))
    [Array([5, 6], dtype=int32), Array([7], dtype=int32)]
    """
    position = canonical_axis(axis, len(shape_of(operand)))
    if any(isinstance(n, int) and n < 0 for n in sizes):
        raise ShapeError(f"Sizes passed to split must be nonnegative, got {list(sizes)}")
    return joining.split_p.bind(operand, sizes=canonical_shape(sizes, "sizes"), axis=position)


@structural()
def unstack(x: ArrayOrKeys, axis: int = 0) -> tuple[Array, ...]:
    """Return the slices of `x` at each index of an axis, without that axis.

    >>> unstack(array([[1, 2], [3, 4]]))
    (Array([1, 2], dtype=int32), Array([3, 4], dtype=int32))
    """
    position = canonical_axis(axis, len(shape_of(x)))
    return tuple(joining.unstack_p.bind(x, axis=position))


@structural(0, 1)
def pad(
    operand: ArrayOrKeys, padding_value: ArrayOrKeys, padding_config: Sequence[Sequence[int]]
) -> Array:
    """Return the array with `padding_config[i]` = (low, high, interior) scalars added along axis i.

    `low` and `high` are added before and after, and crop if negative; `interior` are added between
    elements.  Raises ShapeError if the configuration does not match, DTypeError if the scalar's
    dtype is not the operand's.

    >>> pad(array([1, 2, 3]), 0, [(1, 2, 1)])
    Array([0, 1, 0, 2, 0, 3, 0, 0], dtype=int32)
    """
    config = tuple([tuple([dimension(n) for n in c]) for c in padding_config])
    if isinstance(operand, Array) and not shape_of(padding_value):
        nothing = config == ((0, 0, 0),) * operand.aval.ndim
        if nothing and get_aval(padding_value).dtype == operand.dtype:
            return operand
    return slicing.pad_p.bind(operand, padding_value, padding_config=config)


@structural()
def slice(
    operand: ArrayOrKeys,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None = None,
) -> Array:
    """Return the elements `start_indices[i]` to before `limit_indices[i]` of each axis, by strides.

    Raises ShapeError unless 0 <= start <= limit <= length and the stride is positive.

    >>> slice(array([5, 6, 7, 8]), (1,), (4,), (2,))
    Array([6, 8], dtype=int32)
    """
    return slicing.slice_p.bind(
        operand,
        start_indices=tuple([dimension(i) for i in start_indices]),
        limit_indices=tuple([dimension(i) for i in limit_indices]),
        strides=None if strides is None else tuple([dimension(i) for i in strides]),
    )


@structural()
def slice_in_dim(
    operand: ArrayOrKeys,
    start_index: int | None,
    limit_index: int | None,
    stride: int = 1,
    axis: int = 0,
) -> Array:
    """Return `operand[start:limit:stride]` along one axis; negative bounds count from the end.

    >>> slice_in_dim(array([5, 6, 7]), 0, 3, 2)
    Array([5, 7], dtype=int32)
    """
    shape = shape_of(operand)
    position = canonical_axis(axis, len(shape))
    start, limit = [0] * len(shape), list(shape)
    start[position] = _bound(start_index, shape[position], 0)
    limit[position] = _bound(limit_index, shape[position], shape[position])
    if stride == 1:
        return slice(operand, start, limit)
    strides = [1] * len(shape)
    strides[position] = stride
    return slice(operand, start, limit, strides)


def _bound(index: int | None, length: int, default: int) -> int:
    bound = default if index is None else dimension(index)
    return bound + length if bound < 0 else bound


@structural()
def index_in_dim(operand: ArrayOrKeys, index: int, axis: int = 0, keepdims: bool = True) -> Array:
    """Return the slice at a static index of one axis, with that axis (of length 1) or without.

    Raises IndexingError for an index out of bounds.

    >>> index_in_dim(array([5, 6, 7]), -1)
    Array([7], dtype=int32)
    """
    shape = shape_of(operand)
    position, place = canonical_axis(axis, len(shape)), dimension(index)
    length = shape[position]
    if not -length <= place < length:
        raise IndexingError(
            f"index {place} is out of bounds for axis {position} with size {length}"
        )
    place %= length
    result = slice_in_dim(operand, place, place + 1, 1, position)
    return result if keepdims else squeeze(result, (position,))


def _starts(name: str, operand: Any, start_indices: Any, wrap: bool | Sequence[bool]) -> list[Any]:
    """Return start indices in one dtype, with negative ones wrapped on axes whose `wrap` is on."""
    shape = shape_of(operand)
    if isinstance(start_indices, (tuple, list)):
        starts = list(start_indices)
    elif len(shape_of(start_indices)) != 1:
        raise ShapeError(f"Slice indices must be a 1D sequence, got {shape_of(start_indices)}")
    else:
        starts = list(unstack(start_indices))
    flags = [wrap] * len(shape) if isinstance(wrap, bool) else list(wrap)
    if not len(starts) == len(shape) == len(flags):
        raise ShapeError(
            "Length of slice indices must match number of operand dimensions "
            f"({len(starts)} vs {shape}), as that of allow_negative_indices, {len(flags)}"
        )
    for index, length, flag in zip(starts, shape, flags, strict=True) if wrap is not True else ():
        if not flag and isinstance(index, (int, np.integer)) and index < 0:
            raise RangeError(
                f"Index {index} is out of bounds for dimension {length} if "
                f"allow_negative_indices=False, in {name}"
            )
    given = [dtypes.canonicalize(i.dtype) for i in starts if hasattr(i, "dtype")]
    if len({*given}) > 1:
        raise index_dtypes_error(name, given)
    dtype = index_dtype(starts)
    return [wrapped(i, n, dtype, f) for i, n, f in zip(starts, shape, flags, strict=True)]


def index_dtype(indices: Sequence[Any]) -> dtypes.DType:
    """Return one dtype for indices: that of the arrays among them if it is the same and wide."""
    index_dtypes = {i.dtype for i in indices if hasattr(i, "dtype")}
    if len(index_dtypes) == 1:
        (only,) = index_dtypes
        if only.itemsize >= 4 or dtypes.kind(only) not in "iu":
            return dtypes.canonicalize(only)
    return dtypes.canonicalize("int64" if any(d.itemsize > 4 for d in index_dtypes) else "int32")


def wrapped(index: Any, length: int, dtype: dtypes.DType, wrap: bool = True) -> Any:
    """Return an index in `dtype`, plus `length` if it is negative; a static one stays static.

    An index out of range of `dtype` is out of bounds of the axis in `dtype` too.
    """
    if is_symbolic_dim(index):
        return convert(index + length if wrap and index < 0 else index, dtype)
    if isinstance(index, (int, np.integer)) and not isinstance(index, bool):
        position = int(index) + (length if wrap and index < 0 else 0)
        if is_symbolic_dim(position):
            return convert(position, dtype)
        if dtypes.kind(dtype) in "iu":
            limits = dtypes.iinfo(dtype)
            if not limits.min <= position <= limits.max:
                raise RangeError(f"index {index} is out of bounds for {dtype}")
        return dtype.type(position)
    have = get_aval(index).dtype
    if dtypes.kind(have) not in "iu":
        return index  # the primitive raises an error with a message
    if have != dtype:
        index = _narrowed(index, dtype)
    if not wrap or dtypes.kind(dtype) == "u":
        return index
    zero = dtype.type(0)
    size = convert(length, dtype) if is_symbolic_dim(length) else dtype.type(length)
    return select_n_p.bind(lt_p.bind(index, zero), index, add_p.bind(index, size))


def host_indices(x: Any) -> Any:
    """Return `x`, with a NumPy array of integers in the dtype that it has on a device.

    An index out of range of that dtype remains out of bounds of any axis.
    """
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "iu":
        return x
    return narrowed_on_host(x, dtypes.canonicalize(x.dtype))


def narrowed_on_host(x: np.ndarray[Any, Any], dtype: dtypes.DType) -> np.ndarray[Any, Any]:
    """Return a NumPy array of integers in `dtype`; values out of range become the nearest limit."""
    if x.dtype == dtype:
        return x
    narrow: np.ndarray[Any, Any] = x.astype(dtype)
    if x.dtype.kind == np.dtype(dtype).kind and (narrow == x).all():  # true for nearly all indices
        return narrow
    source, target = dtypes.iinfo(x.dtype), dtypes.iinfo(dtype)
    low, high = max(source.min, target.min), min(source.max, target.max)
    clipped: np.ndarray[Any, Any] = np.clip(x, low, high).astype(dtype)
    return clipped


def _narrowed(index: Any, dtype: dtypes.DType) -> Any:
    """Return integers in `dtype`, with values out of its range replaced by the nearest limit."""
    have = get_aval(index).dtype
    source, target = dtypes.iinfo(have), dtypes.iinfo(dtype)
    if source.max > target.max:
        index = min_p.bind(index, have.type(target.max))
    if source.min < target.min:
        index = max_p.bind(index, have.type(target.min))
    return convert(index, dtype)


@structural()
def dynamic_slice(
    operand: ArrayOrKeys,
    start_indices: ArrayLike | Sequence[ArrayLike],
    slice_sizes: Sequence[int],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Return `slice_sizes` elements of each axis from `start_indices`, integer scalars, on.

    Starts are clamped so that the slice is within the array; negative ones count from the end
    unless that is turned off.  Raises ShapeError if the sizes exceed the array.

    >>> dynamic_slice(iota("int32", 5), (3,), (2,))
    Array([3, 4], dtype=int32)
    """
    starts = _starts("dynamic_slice", operand, start_indices, allow_negative_indices)
    sizes = canonical_shape(slice_sizes, "slice_sizes")
    return slicing.dynamic_slice_p.bind(operand, *starts, slice_sizes=sizes)


def _along(shape: Shape, index: Any, axis: int) -> list[Any]:
    starts: list[Any] = [0] * len(shape)
    starts[axis] = index
    return starts


def _unchecked(index: Any, allow_negative: bool) -> Any:
    """Return an index that is clamped if it is negative and may not be, also if it is static.

    JAX stages the functions of one index, so an index is never static in them.
    """
    is_static = isinstance(index, (int, np.integer))
    return index if allow_negative or not is_static else max(index, 0)


@structural()
def dynamic_slice_in_dim(
    operand: ArrayOrKeys,
    start_index: ArrayLike,
    slice_size: int,
    axis: int = 0,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return `slice_size` elements of one axis from a dynamic index on; see `dynamic_slice`.

    >>> dynamic_slice_in_dim(array([5, 6, 7]), 1, 2)
    Array([6, 7], dtype=int32)
    """
    shape = shape_of(operand)
    position = canonical_axis(axis, len(shape))
    sizes = list(shape)
    sizes[position] = dimension(slice_size)
    starts = _along(shape, start_index, position)
    return dynamic_slice(operand, starts, sizes, allow_negative_indices=allow_negative_indices)


@structural()
def dynamic_index_in_dim(
    operand: ArrayOrKeys,
    index: ArrayLike,
    axis: int = 0,
    keepdims: bool = True,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return the slice at a dynamic index of one axis, with that axis (of length 1) or without.

    >>> dynamic_index_in_dim(array([5, 6, 7]), 1, keepdims=False)
    Array(6, dtype=int32)
    """
    result = dynamic_slice_in_dim(
        operand,
        _unchecked(index, allow_negative_indices),
        1,
        axis,
        allow_negative_indices=allow_negative_indices,
    )
    return result if keepdims else squeeze(result, (axis,))


@structural(0, 1)
def dynamic_update_slice(
    operand: ArrayOrKeys,
    update: ArrayOrKeys,
    start_indices: ArrayLike | Sequence[ArrayLike],
    *,
    allow_negative_indices: bool | Sequence[bool] = True,
) -> Array:
    """Return the array with `update` written at `start_indices`, clamped so that it is within.

    Raises ShapeError if the update has another rank or exceeds the array, DTypeError if dtypes
    differ.

    >>> dynamic_update_slice(array([5, 6, 7]), array([0, 0]), (1,))
    Array([5, 0, 0], dtype=int32)
    """
    starts = _starts("dynamic_update_slice", operand, start_indices, allow_negative_indices)
    return slicing.dynamic_update_slice_p.bind(operand, update, *starts)


@structural(0, 1)
def dynamic_update_slice_in_dim(
    operand: ArrayOrKeys,
    update: ArrayOrKeys,
    start_index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return the array with `update` written along one axis from a dynamic index on.

    >>> dynamic_update_slice_in_dim(array([5, 6, 7]), array([0, 0]), 1, axis=0)
    Array([5, 0, 0], dtype=int32)
    """
    shape = shape_of(operand)
    starts = _along(shape, start_index, canonical_axis(axis, len(shape)))
    return dynamic_update_slice(
        operand, update, starts, allow_negative_indices=allow_negative_indices
    )


@structural(0, 1)
def dynamic_update_index_in_dim(
    operand: ArrayOrKeys,
    update: ArrayOrKeys,
    index: ArrayLike,
    axis: int,
    *,
    allow_negative_indices: bool = True,
) -> Array:
    """Return the array with one slice of an axis, at a dynamic index, replaced by `update`.

    The update may come without that axis.

    >>> dynamic_update_index_in_dim(array([5, 6, 7]), 0, 1, axis=0)
    Array([5, 0, 7], dtype=int32)
    """
    rank = len(shape_of(operand))
    position = canonical_axis(axis, rank)
    if len(shape_of(update)) != rank:
        update = expand_dims(update, (position,))
    return dynamic_update_slice_in_dim(
        operand,
        update,
        _unchecked(index, allow_negative_indices),
        position,
        allow_negative_indices=allow_negative_indices,
    )
