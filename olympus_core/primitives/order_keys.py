"""Integers in the order of an array's elements, each with the position of its element.

XLA's CPU compiler sorts plain integers several times as fast as values with a comparison program,
and reduces them by vector instructions.  The functions run under `LoweringContext.apply`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, get_aval, shape_of
from olympus_core.base.dimensions.expression import known_at_least
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import (
    elementwise_constant,
    reshape,
    scalar_zero,
    to_dtype,
)

#: size below which one more pass over the elements takes longer than it saves
_FEW = 1024
#: size from which a few calls save the time that keys take to compile: a sort of 2**16 floats takes
#: 1.5 ms instead of 10 ms, and 35 ms longer to compile
MANY_ELEMENTS = 2**16
_FLOATS = ("float16", "bfloat16", "float32")
_WORD = np.int64(0xFFFFFFFF)
INT32, INT64, FLOAT32 = np.dtype("int32"), np.dtype("int64"), np.dtype("float32")


def fits_order_key(x: ShapedArray) -> bool:
    """Return True if keys can hold the elements and positions, and `x` is large enough."""
    kind = dtypes.kind(x.dtype)
    narrow = dtypes.long_name(x.dtype) in _FLOATS or (kind in "biu" and x.dtype.itemsize <= 4)
    return narrow and known_at_least(x.size, _FEW) and not known_at_least(x.size, 2**31)


def key_and_position(x: Any, axis: int, *, rising: bool = True) -> Any:
    """Return an int64 for each element: an ordered key in the high word, the position in the low.

    -0 and 0 have one key, and all NaNs have the greatest key; with `rising` False, the order of the
    keys is reversed.  Positions count along the axis.
    """
    key = _key(x) if rising else op.not_(_key(x))
    return _packed(key, op.iota(shape=shape_of(x), dimension=axis, dtype=INT64))


def key_and_place(x: Any) -> Any:
    """Return the same with the place of the element in row-major order in place of the position.

    Along any axis, places are in the order of positions.
    """
    shape = shape_of(x)
    count = math.prod(shape)
    return _packed(_key(x), reshape(op.iota(shape=(count,), dimension=0, dtype=INT64), shape))


def _packed(key: Any, place: Any) -> Any:
    return op.or_(op.shift_left(to_dtype(key, INT64), np.int64(32)), place)


def place_of(packed: Any) -> Any:
    """Return the places that `key_and_place` put in the low words, as int32."""
    return to_dtype(op.and_(packed, _WORD), INT32)


def position_of(packed: Any) -> Any:
    """Return the positions that `key_and_position` put in the low words, as int64."""
    return op.and_(packed, _WORD)


def _key(x: Any) -> Any:
    """Return an int32 for each element, in the order of the elements."""
    dtype = get_aval(x).dtype
    kind = dtypes.kind(dtype)
    if kind == "f":
        x = to_dtype(x, FLOAT32)
        x = op.select_n(op.eq(x, scalar_zero(x)), x, scalar_zero(x))
        x = op.select_n(op.ne(x, x), x, elementwise_constant(x, np.nan))
        bits = op.bitcast_convert_type(x, new_dtype=INT32)
        # among negative numbers the greater one has the lesser bits
        sign = op.shift_right_arithmetic(bits, np.int32(31))
        return op.xor(bits, op.and_(sign, np.int32(0x7FFFFFFF)))
    if kind == "u" and dtype.itemsize == 4:
        return op.bitcast_convert_type(op.xor(x, np.uint32(1 << 31)), new_dtype=INT32)
    return to_dtype(x, INT32)


def packed_argmax(x: Any, axes: tuple[int, ...], index_dtype: Any) -> Any:
    """Return the position of the first greatest float along one axis; NaN is greater than all."""
    packed = key_and_position(x, axes[0], rising=False)
    return to_dtype(position_of(op.reduce_min(packed, axes=axes)), index_dtype)


def packed_argmin(x: Any, axes: tuple[int, ...], index_dtype: Any) -> Any:
    """Return the position of the first least float along one axis; NaN is less than all."""
    return packed_argmax(op.neg(x), axes, index_dtype)
