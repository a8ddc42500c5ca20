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
    reshape,
    scalar_zero,
    to_dtype,
)

#: size below which one more pass over the elements takes longer than it saves
_FEW = 1024
#: sizes from which several calls save the time that keys take to compile: a sort of 2**16 floats
#: takes 1.5 ms instead of 10 ms, and 35 ms longer to compile; an argmin of 2**20 floats takes
#: 0.6 ms instead of 2.6 ms, and 14 to 45 ms longer to compile
MANY_SORTED, MANY_SEARCHED = 2**16, 2**20
_FLOATS = ("float16", "bfloat16", "float32")
_WORD = np.int64(0xFFFFFFFF)
_LEAST, _GREATEST = np.int32(-(2**31)), np.int32(2**31 - 1)
INT32, INT64, FLOAT32 = np.dtype("int32"), np.dtype("int64"), np.dtype("float32")


def fits_order_key(x: ShapedArray) -> bool:
    """Return True if keys can hold the elements and positions, and `x` is large enough."""
    kind = dtypes.kind(x.dtype)
    narrow = dtypes.long_name(x.dtype) in _FLOATS or (kind in "biu" and x.dtype.itemsize <= 4)
    return narrow and known_at_least(x.size, _FEW) and not known_at_least(x.size, 2**31)


def key_and_place(x: Any) -> Any:
    """Return an int64 for each element: an ordered key in the high word, the place in the low.

    -0 and 0 have one key, and all NaNs have the greatest key.  A place is the index of the element
    in row-major order; along any axis, places are in the order of positions.
    """
    shape = shape_of(x)
    count = math.prod(shape)
    place = reshape(op.iota(shape=(count,), dimension=0, dtype=INT64), shape)
    return _packed(_key(x, _GREATEST), place)


def _packed(key: Any, place: Any) -> Any:
    return op.or_(op.shift_left(to_dtype(key, INT64), np.int64(32)), place)


def place_of(packed: Any) -> Any:
    """Return the places that `key_and_place` put in the low words, as int32."""
    return to_dtype(op.and_(packed, _WORD), INT32)


def _key(x: Any, nan: np.int32) -> Any:
    """Return an int32 for each element, in the order of the elements; `nan` is the key of NaN."""
    dtype = get_aval(x).dtype
    kind = dtypes.kind(dtype)
    if kind == "f":
        x = to_dtype(x, FLOAT32)
        zero = op.select_n(op.eq(x, scalar_zero(x)), x, scalar_zero(x))
        bits = op.bitcast_convert_type(zero, new_dtype=INT32)
        # among negative numbers the greater one has the lesser bits
        sign = op.shift_right_arithmetic(bits, np.int32(31))
        key = op.xor(bits, op.and_(sign, _GREATEST))
        return op.select_n(op.ne(x, x), key, nan)
    if kind == "u" and dtype.itemsize == 4:
        return op.bitcast_convert_type(op.xor(x, np.uint32(1 << 31)), new_dtype=INT32)
    return to_dtype(x, INT32)


def packed_argmax(x: Any, axes: tuple[int, ...], index_dtype: Any) -> Any:
    """Return the position of the first greatest float along one axis; NaN is greater than all."""
    return _first_of_least(op.not_(_key(x, _GREATEST)), axes, index_dtype)


def packed_argmin(x: Any, axes: tuple[int, ...], index_dtype: Any) -> Any:
    """Return the position of the first least float along one axis; NaN is less than all."""
    return _first_of_least(_key(x, _LEAST), axes, index_dtype)


def _first_of_least(key: Any, axes: tuple[int, ...], index_dtype: Any) -> Any:
    position = op.iota(shape=shape_of(key), dimension=axes[0], dtype=INT64)
    least = op.reduce_min(_packed(key, position), axes=axes)
    return to_dtype(op.and_(least, _WORD), index_dtype)
