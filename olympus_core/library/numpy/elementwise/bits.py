"""Operations on the bits of integers: `bitwise_and` and the like, shifts, `packbits`."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.axes import canonical_axis
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, unary
from olympus_core.library.lax.slicing import pad
from olympus_core.library.numpy.elementwise.logic import not_equal
from olympus_core.library.numpy.manipulation.shapes import expand_dims, ravel, reshape
from olympus_core.library.numpy.manipulation.transposing import moveaxis
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.operands import operand, promote_numeric
from olympus_core.library.promotion import convert
from olympus_core.primitives.elementwise.arithmetic import abs_p
from olympus_core.primitives.elementwise.logic import (
    and_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)

bitwise_and = binary(
    "bitwise_and",
    "x and y, bit by bit.",
    {"bui": and_p.bind},
    example=("bitwise_and(asarray([0b1100, 0b0111]), 0b1010)", "Array([8, 2], dtype=int32)"),
)
bitwise_or = binary(
    "bitwise_or",
    "x or y, bit by bit.",
    {"bui": or_p.bind},
    example=("bitwise_or(asarray([0b1100, 0b0111]), 0b1010)", "Array([14, 15], dtype=int32)"),
)
bitwise_xor = binary(
    "bitwise_xor",
    "x exclusive-or y, bit by bit.",
    {"bui": xor_p.bind},
    example=("bitwise_xor(asarray([0b1100, 0b0111]), 0b1010)", "Array([ 6, 13], dtype=int32)"),
)
bitwise_not = unary(
    "bitwise_not",
    "Each bit of x, inverted.",
    {"bui": not_p.bind},
    example=("bitwise_not(asarray([0, 5, -1]))", "Array([-1, -6,  0], dtype=int32)"),
)
bitwise_invert = invert = bitwise_not
left_shift = binary(
    "left_shift",
    "x with its bits moved left by y.",
    {"ui": shift_left_p.bind},
    promote_numeric,
    example=("left_shift(asarray([1, 3]), asarray([4, 1]))", "Array([16,  6], dtype=int32)"),
)
bitwise_left_shift = left_shift
right_shift = binary(
    "right_shift",
    "x with its bits moved right by y; the sign is kept.",
    {"u": shift_right_logical_p.bind, "i": shift_right_arithmetic_p.bind},
    promote_numeric,
    example=("right_shift(asarray([16, -16]), 2)", "Array([ 4, -4], dtype=int32)"),
)
bitwise_right_shift = right_shift
bitwise_count = unary(
    "bitwise_count",
    "The number of bits of |x| that are 1, as uint8.",
    {"bu": lambda x: _count(x), "i": lambda x: _count(abs_p.bind(x))},
    example=("bitwise_count(asarray([7, -8, 0]))", "Array([3, 1, 0], dtype=uint8)"),
)


def _count(x: Any) -> Any:
    is_bool = get_aval(x).dtype == dtypes.bool_
    return convert(x if is_bool else population_count_p.bind(x), np.dtype("uint8"))


def _bits_order(name: str, bitorder: str) -> np.ndarray[Any, Any]:
    """Return the weight of each of eight bits, in the order `bitorder`."""
    if bitorder not in ("big", "little"):
        raise ArgumentError(f"{name} takes bitorder 'big' or 'little', and got {bitorder!r}")
    shifts = np.arange(8, dtype=np.uint8)
    return shifts[::-1] if bitorder == "big" else shifts


@composite(static_argnames=("axis", "bitorder"))
def packbits(a: ArrayLike, axis: int | None = None, bitorder: str = "big") -> Array:
    """Pack eight elements along an axis (None: of the flattened array) into the bits of a uint8.

    Elements other than 0 become bits that are 1; the last bits are filled with 0.  Raises
    DTypeError for a dtype that is neither bool nor integer.

    >>> packbits(asarray([1, 0, 0, 0, 0, 0, 1, 1]))
    Array([131], dtype=uint8)
    """
    a, aval = operand("packbits", a)
    if dtypes.kind(aval.dtype) not in "bui":
        raise DTypeError(f"packbits takes bools and integers, and got {aval.long_name()}")
    place = 0 if axis is None else canonical_axis(axis, aval.ndim)
    a = moveaxis(ravel(a) if axis is None else a, place, -1)
    *leading, length = a.shape
    zero = convert(0, aval.dtype)
    groups = -(-length // 8)
    padded = pad(a, zero, [(0, 0, 0)] * len(leading) + [(0, groups * 8 - length, 0)])
    ones = convert(not_equal(reshape(padded, (*leading, groups, 8)), 0), np.dtype("uint8"))
    packed = sum_(left_shift(ones, _bits_order("packbits", bitorder)), axis=-1, dtype="uint8")
    return moveaxis(packed, -1, place)


@composite(static_argnames=("axis", "count", "bitorder"))
def unpackbits(
    a: ArrayLike, axis: int | None = None, count: int | None = None, bitorder: str = "big"
) -> Array:
    """Return the bits of uint8 elements, 0 or 1, along an axis (None: of the flattened array).

    `count` selects the first bits or, if negative, all but the last; bits beyond the end are 0.
    Raises DTypeError for another dtype.

    >>> unpackbits(asarray([131], dtype="uint8"))
    Array([1, 0, 0, 0, 0, 0, 1, 1], dtype=uint8)
    """
    a, aval = operand("unpackbits", a)
    if aval.dtype != np.dtype("uint8"):
        raise DTypeError(f"unpackbits takes uint8 arrays, and got {aval.long_name()}")
    place = 0 if axis is None else canonical_axis(axis, aval.ndim)
    a = moveaxis(ravel(a) if axis is None else a, place, -1)
    *leading, length = a.shape
    spread = right_shift(expand_dims(a, -1), _bits_order("unpackbits", bitorder))
    bits = reshape(bitwise_and(spread, 1), (*leading, length * 8))
    if count is not None:
        stop = length * 8 + count if count < 0 else count
        short = [(0, 0, 0)] * len(leading) + [(0, stop - length * 8, 0)]
        bits = pad(bits, np.uint8(0), short)
    return moveaxis(bits, -1, place)
