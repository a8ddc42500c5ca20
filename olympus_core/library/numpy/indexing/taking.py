"""Elements at positions: `take`, `take_along_axis`, `put_along_axis`, `compress`."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, get_aval, self_converted, shape_of
from olympus_core.base.errors import (
    ArgumentError,
    ShapeError,
    TraceError,
    UnsupportedError,
)
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.lax.indexing import Mode, gather
from olympus_core.library.lax.shape import broadcasted_iota, full, reshape
from olympus_core.library.lax.slicing import host_indices, wrapped
from olympus_core.library.numpy.elementwise.arithmetic import remainder
from olympus_core.library.numpy.indexing.at import IndexUpdateRef
from olympus_core.library.numpy.indexing.reading import getitem, read
from olympus_core.library.numpy.manipulation.shapes import ravel
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.sorting.searching import nonzero
from olympus_core.library.operands import operand, reject_out
from olympus_core.library.promotion import broadcast_shapes, broadcast_to, check_arrays, convert
from olympus_core.library.structural import structural
from olympus_core.primitives.gather import GatherDimensionNumbers, GatherScatterMode


def _check_positions(name: str, a: Any, indices: Any, kinds: str = "iu") -> None:
    check_arrays(name, a, indices)
    aval = get_aval(indices)
    if dtypes.kind(aval.dtype) not in kinds:
        raise ArgumentError(
            f"{name} indices must have an integer type, and have the type {aval.long_name()}"
        )


def _flat(a: Any) -> Array:
    array = self_converted(a)
    return reshape(array, (get_aval(array).size,))


@structural()
def take(
    a: ArrayOrKeys,
    indices: ArrayLike,
    axis: int | None = None,
    out: None = None,
    mode: str | None = None,
    unique_indices: bool = False,
    indices_are_sorted: bool = False,
    fill_value: ArrayLike | None = None,
) -> Array:
    """Return the slices of `a` at the indices along an axis (None: of the flattened array).

    `mode` selects the handling of indices out of bounds: "fill" (the default) reads `fill_value`
    (NaN, the least integer, ...: see `lax.gather`), "clip" the nearest element, "wrap" wraps
    around.  With "fill", negative indices count from the end.

    Raises ArgumentError for indices that are neither integers nor bools, ShapeError for an axis out
    of range or an unknown mode, and UnsupportedError for the mode "raise".

    >>> take(array([5.0, 6.0, 7.0]), array([2, 0]))
    Array([7., 5.], dtype=float32)
    """
    if out is not None:
        raise TraceError("take does not write to an 'out' array: arrays are immutable")
    _check_positions("take", a, indices, "iub")
    if get_aval(indices).dtype == dtypes.bool_:  # False and True are the positions 0 and 1
        indices = convert(indices, dtypes.default_dtype("i"))
    position = 0 if axis is None else canonical_axis(axis, len(shape_of(a)))
    x: Any = _flat(a) if axis is None else a
    read_mode: Mode = "fill" if mode is None else mode
    if mode == "wrap":
        indices, read_mode = remainder(indices, shape_of(x)[position]), "promise_in_bounds"
    elif read_mode not in ("fill", "clip"):
        if mode == "raise":
            raise UnsupportedError("The 'raise' mode to take is not supported")
        raise ShapeError(f"the mode of take is 'fill', 'clip' or 'wrap', and not {mode!r}")
    index: tuple[Any, ...] = (*[slice(None)] * position, indices)
    return read(
        x,
        index,
        unique_indices=unique_indices,
        indices_are_sorted=indices_are_sorted,
        mode=read_mode,
        fill_value=fill_value,
        wrap_negative_indices=read_mode == "fill",
    )


@structural()
def take_along_axis(
    arr: ArrayOrKeys,
    indices: ArrayLike,
    axis: int | None = -1,
    mode: Mode = None,
    fill_value: ArrayLike | None = None,
    *,
    wrap_negative_indices: bool | None = None,
) -> Array:
    """Return, for each index in `indices`, the element of `arr` at it along the axis.

    The other axes of both broadcast together.  `mode` is as in `take` ("fill" by default);
    negative indices count from the end, unless `wrap_negative_indices` is False.  Raises
    DTypeError for indices that are not integers, ShapeError if the ranks differ or the shapes do
    not broadcast.

    >>> take_along_axis(array([[1, 3], [4, 2]]), array([[1], [0]]), axis=1)
    Array([[3],
           [4]], dtype=int32)
    """
    _check_positions("take_along_axis", arr, indices)
    if axis is None:
        if len(shape_of(indices)) != 1:
            raise ShapeError(f"without an axis, indices have rank 1, not {shape_of(indices)}")
        arr, axis = _flat(arr), 0
    rank = len(shape_of(arr))
    if rank != len(shape_of(indices)):
        raise ShapeError(
            f"take_along_axis needs indices of the array's rank: their shapes are "
            f"{shape_of(indices)} and {shape_of(arr)}"
        )
    return _along_axis(
        arr,
        host_indices(indices),
        axis=canonical_axis(axis, rank),
        mode=GatherScatterMode.from_any(mode),
        fill_value=fill_value,
        wrap=wrap_negative_indices is not False,
    )


@composite(static_argnames=("axis", "mode", "fill_value", "wrap"))
def _along_axis(
    arr: Any, indices: Any, *, axis: int, mode: Mode, fill_value: Any, wrap: bool
) -> Array:
    array_shape, at = shape_of(arr), shape_of(indices)
    shape = broadcast_shapes(at, (*array_shape[:axis], 1, *array_shape[axis + 1 :]))
    if 0 in shape or not array_shape[axis]:
        return full(shape, 0, get_aval(arr).dtype)
    windows, batching, collapsed = [], [], []
    for i, (n, m) in enumerate(zip(array_shape, at, strict=True)):
        if i != axis and m == 1:
            windows.append(i)
        elif i != axis and n == m:
            batching.append(i)
        else:
            collapsed.append(i)  # the axis itself, or one of length 1: its only element
    remaining_axes = [i for i in range(len(array_shape)) if i not in windows]
    numbers = GatherDimensionNumbers(
        offset_dims=tuple(windows),
        collapsed_slice_dims=tuple(collapsed),
        start_index_map=(axis,),
        operand_batching_dims=tuple(batching),
        start_indices_batching_dims=tuple([remaining_axes.index(i) for i in batching]),
    )
    positions = wrapped(indices, array_shape[axis], np.dtype("int32"), wrap)
    return gather(
        arr,
        reshape(positions, (*[at[i] for i in remaining_axes], 1)),
        numbers,
        [n if i in windows else 1 for i, n in enumerate(array_shape)],
        mode=mode,
        fill_value=fill_value,
    )


def put_along_axis(
    arr: ArrayLike,
    indices: ArrayLike,
    values: ArrayLike,
    axis: int | None,
    inplace: bool = True,
    *,
    mode: str | None = None,
) -> Array:
    """Return the array with the element at each index in `indices` along the axis replaced.

    `values` broadcast to the indices; `inplace` must be False, and the new array is returned.
    Raises ShapeError if `inplace` is True, or if shapes do not match.

    >>> put_along_axis(asarray([[1, 3], [4, 2]]), asarray([[1], [0]]), 0, 1, inplace=False)
    Array([[1, 0],
           [0, 2]], dtype=int32)
    """
    if inplace:
        raise ShapeError(
            "put_along_axis cannot change an array in place: arrays are immutable",
            hint="pass inplace=False, and use the array that is returned",
        )
    _check_positions("put_along_axis", arr, indices)
    shape, at = shape_of(arr), shape_of(indices)
    if axis is None:
        return reshape(put_along_axis(_flat(arr), indices, values, 0, False, mode=mode), shape)
    if len(shape) != len(at):
        raise ShapeError(
            f"put_along_axis needs indices of the array's rank: their shapes are {at} and {shape}"
        )
    position = canonical_axis(axis, len(shape))
    mesh: list[Any] = [_range_along(shape, i) for i in range(len(shape))]
    mesh[position] = indices
    ref = IndexUpdateRef(arr, tuple(mesh))
    return ref.set(broadcast_to(values, at), mode=mode)


def _range_along(shape: Shape, axis: int) -> Array:
    range_shape = [1] * len(shape)
    range_shape[axis] = shape[axis]
    return broadcasted_iota("int32", range_shape, axis)


def extract(
    condition: ArrayLike, arr: ArrayLike, *, size: int | None = None, fill_value: ArrayLike = 0
) -> Array:
    """Return the elements of the flattened `arr` where `condition` is True; see `nonzero`.

    >>> extract(asarray([True, False, True]), asarray([1, 2, 3]))
    Array([1, 3], dtype=int32)
    """
    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


@structural(1)
def compress(
    condition: ArrayLike,
    a: ArrayOrKeys,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: ArrayLike = 0,
    out: None = None,
) -> Array:
    """Return the slices of `a` along an axis (None: of the flattened array) where True.

    With `size`, the result has that many: missing slices are filled with `fill_value`.

    >>> compress(asarray([True, False, True]), asarray([1, 2, 3]))
    Array([1, 3], dtype=int32)
    """
    reject_out("compress", out)
    a, aval = operand("compress", a)
    condition, cond = operand("compress", condition)
    if cond.ndim != 1:
        raise ShapeError(f"compress needs a condition in one dimension, and got {cond.long_name()}")
    if axis is None:
        a, place = ravel(a), 0
    else:
        place = canonical_axis(axis, aval.ndim)
    a = moveaxis(a, place, 0)
    length = min(a.shape[0], cond.shape[0])
    condition = getitem(condition, slice(length))
    (index,) = nonzero(condition, size=size, fill_value=a.shape[0])
    selected = a.at[index].get(mode="fill", fill_value=fill_value)
    return moveaxis(selected, 0, place)
