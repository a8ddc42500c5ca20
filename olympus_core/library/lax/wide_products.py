"""`mulhi`, the upper half of the bits of the product of two integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.operands import align, scalar
from olympus_core.library.promotion import check_arrays, convert
from olympus_core.primitives.elementwise.arithmetic import add_p, mul_p, sub_p
from olympus_core.primitives.elementwise.conversion import bitcast_convert_type_p
from olympus_core.primitives.elementwise.logic import (
    and_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
)


def mulhi(x: ArrayLike, y: ArrayLike, /) -> Array:
    """Return the upper N bits of the product of integers of N bits, which has 2 N bits.

    Operands: integers of one dtype, of equal shapes, or of which one is a scalar.

    Raises DTypeError for other dtypes, and ShapeError for other shapes.

    >>> mulhi(asarray([2**30, -1]), asarray([8, 3]))
    Array([ 2, -1], dtype=int32)
    """
    check_arrays("mulhi", x, y)
    for operand in (x, y):
        if dtypes.kind(get_aval(operand).dtype) not in "iu":
            raise DTypeError(f"mulhi takes integers, and got {get_aval(operand).long_name()}")
    return _upper(x, y)


@composite()
def _upper(x: Any, y: Any) -> Array:
    x, y = align("mulhi", x, y)
    a, b = get_aval(x), get_aval(y)
    if a.dtype != b.dtype:
        weak = [v.weak_type for v in (a, b)]
        if not any(weak):
            raise DTypeError(f"mulhi needs integers of one dtype, and got {a.dtype} and {b.dtype}")
        x, y = (convert(x, b.dtype), y) if weak[0] else (x, convert(y, a.dtype))
    dtype = get_aval(x).dtype
    bits, signed = dtypes.itemsize_bits(dtype), dtypes.kind(dtype) == "i"
    if bits == 64 or (bits == 32 and dtypes.canonicalize("int64") != np.dtype("int64")):
        by_halves: Array = _by_halves(x, y, bits, signed)
        return by_halves
    wide = np.dtype(f"{'int' if signed else 'uint'}{max(2 * bits, 8)}")
    product = mul_p.bind(convert(x, wide), convert(y, wide))
    shift = shift_right_arithmetic_p if signed else shift_right_logical_p
    upper: Array = convert(shift.bind(product, scalar(bits, wide)), dtype)
    return upper


def _by_halves(x: Any, y: Any, bits: int, signed: bool) -> Any:
    """Return the upper half from four products of half words, which do not overflow.

    The signed product differs from that of the same bits without a sign by `y` where x < 0, and by
    `x` where y < 0 (H. S. Warren, Hacker's Delight, 2nd ed., section 8-3).
    """
    dtype, word = get_aval(x).dtype, np.dtype(f"uint{bits}")
    half, low_mask = scalar(bits // 2, word), scalar(2 ** (bits // 2) - 1, word)

    def upper(v: Any) -> Any:
        return shift_right_logical_p.bind(v, half)

    def lower(v: Any) -> Any:
        return and_p.bind(v, low_mask)

    a, b = (bitcast_convert_type_p.bind(v, new_dtype=word) if signed else v for v in (x, y))
    middle = add_p.bind(mul_p.bind(upper(a), lower(b)), upper(mul_p.bind(lower(a), lower(b))))
    other = add_p.bind(mul_p.bind(lower(a), upper(b)), lower(middle))
    high = add_p.bind(mul_p.bind(upper(a), upper(b)), add_p.bind(upper(middle), upper(other)))
    if not signed:
        return high
    result = bitcast_convert_type_p.bind(high, new_dtype=dtype)
    sign = scalar(bits - 1, dtype)
    for v, w in ((x, y), (y, x)):
        correction = and_p.bind(shift_right_arithmetic_p.bind(v, sign), w)
        result = sub_p.bind(result, correction)
    return result
