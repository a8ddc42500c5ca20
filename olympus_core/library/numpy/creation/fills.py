"""Arrays of one value: `zeros`, `ones`, `full`, `empty`, and their `_like` forms."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.arrays.device_array import put_array
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base import dtypes
from olympus_core.base.avals import Shape, canonical_shape, get_aval, self_converted, shape_of
from olympus_core.base.dtypes import DType
from olympus_core.execution.eager import EagerTrace
from olympus_core.ir import trace
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayOrKeys, DTypeLike, ShapeLike
from olympus_core.library.device import check_device, like, on_context_mesh, placed
from olympus_core.library.explicit import OutSharding, out_sharded
from olympus_core.library.promotion import (
    broadcast_to,
    check_arrays,
    convert,
    convert_to_requested,
    strong,
    vary_together,
)
from olympus_core.library.structural import structural
from olympus_core.primitives.shape import broadcast_in_dim_p
from olympus_core.primitives.sharding import retyped
from olympus_core.xla import Device


def _number(value: Any, dtype: DType) -> Any:
    """Return a scalar of a dtype; that of float0 has no value."""
    return np.zeros((), dtype)[()] if dtype == dtypes.float0 else dtype.type(value)


def _filled(shape: Shape, value: Any, device: Device | None = None) -> Any:
    """Return an array of one value; a float0 array, the tangent of integers, has no data."""
    if getattr(value, "dtype", None) == dtypes.float0:
        return np.zeros(shape, dtypes.float0)
    sharding = check_device(device)
    if sharding is not None and trace.is_eager():
        value = strong(value)
    if isinstance(value, Array) or trace.current_trace().__class__ is not EagerTrace:
        if shape_of(value):
            return placed(broadcast_to(value, shape), device)
        filled = broadcast_in_dim_p.bind(value, shape=shape, broadcast_dimensions=())
        return placed(filled, device)
    aval = get_aval(value).update(shape=shape)  # needs no compiled program
    full = np.broadcast_to(np.asarray(value, aval.dtype), shape)
    if sharding is not None:
        return put_on(full, sharding, aval)
    return on_context_mesh(put_array(full, aval), (None,) * len(shape))


@out_sharded
@structural(1)
def full(
    shape: ShapeLike,
    fill_value: ArrayOrKeys,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array of `shape` (an int or a sequence of ints) filled with `fill_value`.

    `fill_value` is a scalar or an array that broadcasts to `shape`; `dtype` converts it.  Raises
    ShapeError for an invalid shape.

    >>> full((2,), 7)
    Array([7, 7], dtype=int32, weak_type=True)
    """
    check_arrays("full", fill_value)
    fill_value = self_converted(fill_value)
    if dtype is not None:
        requested = dtypes.requested("full", dtype)
        is_number = requested != dtypes.float0
        fill_value = (
            convert_to_requested(fill_value, requested) if is_number else _number(0, requested)
        )
    created: Array = _filled(canonical_shape(shape), fill_value, device)
    return created


@out_sharded
def zeros(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array of `shape` (an int or a sequence of ints) of zeros; default dtype: float.

    >>> zeros((2,))
    Array([0., 0.], dtype=float32)
    """
    if hasattr(dtype, "words"):  # random keys
        keys: Any = dtype
        words = zeros((*canonical_shape(shape), keys.words), "uint32", device=device)
        created: Array = keys.holding(words)
        return created
    zero = _number(0, dtypes.requested("zeros", dtype))
    created = _filled(canonical_shape(shape), zero, device)
    return created


@out_sharded
def ones(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array of `shape` (an int or a sequence of ints) of ones; default dtype: float.

    >>> ones((2,), "int8")
    Array([1, 1], dtype=int8)
    """
    one = _number(1, dtypes.requested("ones", dtype))
    created: Array = _filled(canonical_shape(shape), one, device)
    return created


@out_sharded
def empty(
    shape: ShapeLike,
    dtype: DTypeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array of `shape` and `dtype` with unspecified elements (they are 0).

    >>> empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype, device=device)


@out_sharded
@structural(0, 1)
def full_like(
    a: ArrayOrKeys,
    fill_value: ArrayOrKeys,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array filled with a value, by default of the shape, dtype and device of `a`.

    >>> full_like(asarray([1.5, 2.5]), 3)
    Array([3., 3.], dtype=float32)
    """
    check_arrays("full_like", fill_value)
    a = self_converted(a)
    aval = get_aval(a)
    target_dtype = dtypes.requested("full_like", dtype, aval.dtype)
    size = aval.shape if shape is None else canonical_shape(shape)
    if target_dtype == dtypes.float0:
        without_data: Array = _filled(size, _number(0, target_dtype))
        return without_data
    value = convert_to_requested(fill_value, target_dtype)
    value = convert(value, target_dtype, dtype is None and aval.weak_type)
    filled = vary_together(_filled(size, value), a)
    if shape is None and aval.explicit is not None:
        filled = retyped(filled, aval)
    return like(filled, a if size == aval.shape else None, device)


@out_sharded
@structural()
def zeros_like(
    a: ArrayOrKeys,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array of zeros, by default of the shape, dtype and device of `a`.

    >>> zeros_like(asarray([1.5, 2.5]))
    Array([0., 0.], dtype=float32)
    """
    return full_like(a, 0, dtype, shape, device=device)


@out_sharded
@structural()
def ones_like(
    a: ArrayOrKeys,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return an array of ones, by default of the shape, dtype and device of `a`.

    >>> ones_like(asarray([1, 2]))
    Array([1, 1], dtype=int32)
    """
    return full_like(a, 1, dtype, shape, device=device)


@structural()
def empty_like(
    prototype: ArrayOrKeys,
    dtype: DTypeLike | None = None,
    shape: ShapeLike | None = None,
    *,
    device: Device | None = None,
) -> Array:
    """Return an array of the shape and dtype of `prototype` with unspecified elements (0).

    >>> empty_like(asarray([1, 2])).dtype
    dtype('int32')
    """
    return full_like(prototype, 0, dtype, shape, device=device)
