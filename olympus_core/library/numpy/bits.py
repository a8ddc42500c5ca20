"""Bits of integers, and the parts of a float's representation, in `olympus.numpy`.

Arrays and scalars enter, and are promoted to one dtype and broadcast; arrays leave.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval
from olympus_core.errors import DTypeError
from olympus_core.library.composite import composite
from olympus_core.library.numpy.elementwise import binary, promote_numeric, unary
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.primitives import elementwise as p
from olympus_core.tracer import Array

__all__ = [
    "bitwise_and",
    "bitwise_count",
    "bitwise_invert",
    "bitwise_left_shift",
    "bitwise_not",
    "bitwise_or",
    "bitwise_right_shift",
    "bitwise_xor",
    "invert",
    "left_shift",
    "right_shift",
]

bitwise_and = binary("bitwise_and", "x and y, bit by bit.", {"bui": p.and_p.bind})
bitwise_or = binary("bitwise_or", "x or y, bit by bit.", {"bui": p.or_p.bind})
bitwise_xor = binary("bitwise_xor", "x exclusive-or y, bit by bit.", {"bui": p.xor_p.bind})
bitwise_not = unary("bitwise_not", "Each bit of x, inverted.", {"bui": p.not_p.bind})
bitwise_invert = invert = bitwise_not
left_shift = binary(
    "left_shift", "x with its bits moved left by y.", {"ui": p.shift_left_p.bind}, promote_numeric
)
bitwise_left_shift = left_shift
right_shift = binary(
    "right_shift",
    "x with its bits moved right by y; the sign is kept.",
    {"u": p.shift_right_logical_p.bind, "i": p.shift_right_arithmetic_p.bind},
    promote_numeric,
)
bitwise_right_shift = right_shift
