"""Array methods that reinterpret the bytes or rearrange the elements: `x.view(...)`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError, DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import DTypeLike, ShapeLike
from olympus_core.library.explicit import OutSharding
from olympus_core.library.numpy.elementwise.logic import not_equal
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.manipulation.shapes import ravel, reshape
from olympus_core.library.numpy.manipulation.transposing import transpose
from olympus_core.library.promotion import convert
from olympus_core.primitives.elementwise.conversion import (
    bit_width,
    bitcast_convert_type_p,
    complex_p,
)


def view(self: Array, dtype: DTypeLike | None = None, type: None = None) -> Array:
    """Return the array's bytes as another dtype; another width changes the last axis's length.

    Raises ShapeError if the last axis is not a whole number of elements, and DTypeError if `dtype`
    is a shape.
    """
    if isinstance(dtype, (int, tuple)):
        raise DTypeError(
            f"view takes a dtype, and got the size or shape {dtype}",
            hint="x.reshape(2, -1) gives the array another shape",
        )
    if type is not None:
        raise ArgumentError("view does not change the class: type must be None")
    if dtype is None or dtypes.dtype(dtype) == self.dtype:
        return self
    target_dtype = dtypes.requested("view", dtype)
    own_bits, target_bits = _stored_bits(self.dtype), _stored_bits(target_dtype)
    if own_bits != target_bits and not self.shape:
        raise ShapeError("view() of a 0d array is only supported if the itemsize is unchanged")
    if self.shape and self.shape[-1] * own_bits % target_bits:
        raise ShapeError(
            "When changing to a larger dtype, its size must be a divisor of the total size in "
            f"bytes of the last axis of the array: {self.aval.long_name()} as {target_dtype}"
        )
    byte = dtypes.dtype("uint8")
    x = convert(self, byte) if self.dtype == dtypes.bool_ else self
    if dtypes.kind(self.dtype) == "c" or dtypes.kind(target_dtype) == "c":
        return _complex_view(x, target_dtype)
    target = byte if target_dtype == dtypes.bool_ else target_dtype
    if own_bits < target_bits:
        x = reshape(
            x, (*x.shape[:-1], x.shape[-1] * own_bits // target_bits, target_bits // own_bits)
        )
    result: Array = bitcast_convert_type_p.bind(x, new_dtype=target)
    if own_bits > target_bits:
        result = reshape(result, (*result.shape[:-2], -1))
    return not_equal(result, 0) if target_dtype == dtypes.bool_ else result


def _stored_bits(dtype: dtypes.DType) -> int:
    return 8 if dtype == dtypes.bool_ else bit_width(dtype)


def _complex_view(x: Array, target_dtype: dtypes.DType) -> Array:
    """Convert a complex array to its parts side by side, or such parts to a complex array."""
    real_dtype = dtypes.to_real(target_dtype if dtypes.kind(target_dtype) == "c" else x.dtype)
    if dtypes.kind(x.dtype) == "c":
        components = stack([x.real, x.imag], axis=-1)
        return view(reshape(components, (*x.shape[:-1], -1)), target_dtype)
    components = reshape(view(x, real_dtype), (*x.shape[:-1], -1, 2))
    result: Array = complex_p.bind(components[..., 0], components[..., 1])
    return result


def flatten(self: Array, order: str = "C") -> Array:
    """Return the elements in one dimension, in row-major order (column-major for "F")."""
    return ravel(self, order)


def reshape_method(
    self: Array,
    *args: ShapeLike,
    order: str = "C",
    copy: bool | None = None,
    out_sharding: OutSharding = None,
) -> Array:
    """Return the elements in a new shape, given as one sequence or as one argument a length."""
    shape: Any = args[0] if len(args) == 1 else args
    return reshape(self, shape, order, out_sharding=out_sharding)


def transpose_method(self: Array, *args: int | Sequence[int] | None) -> Array:
    """Return the array with permuted axes, given as a sequence or one by one, or reversed."""
    if not args or args == (None,):
        return transpose(self)
    axes: Any = args[0] if len(args) == 1 and not hasattr(args[0], "__index__") else args
    return transpose(self, axes)
