"""Quotients and remainders of `olympus.numpy`, with NumPy's signs.

Arrays and scalars enter, and are promoted to one dtype and broadcast to one shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval
from olympus_core.library.composite import composite
from olympus_core.library.numpy.arithmetic import add, divide, sign, subtract
from olympus_core.library.numpy.elementwise import binary
from olympus_core.library.numpy.logic import (
    equal,
    less,
    logical_and,
    not_equal,
)
from olympus_core.library.numpy.operands import align, choose, promote_numeric
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.elementwise.arithmetic import div_p, rem_p, round_p
from olympus_core.tracer import Array

__all__ = [
    "divmod",
    "floor_divide",
    "fmod",
    "mod",
    "remainder",
]


@composite()
def _floor_quotient(x: Any, y: Any) -> Any:
    """The quotient of signed integers rounded down, from the one rounded to zero."""
    quotient = div_p.bind(x, y)
    inexact = not_equal(rem_p.bind(x, y), 0)
    below = logical_and(not_equal(sign(x), sign(y)), inexact)
    return choose("floor_divide", below, subtract(quotient, 1), quotient)


def _never_zero(y: Any) -> bool:
    return not isinstance(y, Array) and bool(np.all(y))


def _divisor(y: Any) -> Any:
    """The divisor of integers with 1 for 0: like NumPy's, the remainder is 0 there."""
    if _never_zero(y):
        return y
    return choose("remainder", equal(y, 0), 1, y)


def _integer_remainder(x: Any, y: Any) -> Any:
    return rem_p.bind(x, _divisor(y))


@composite()
def _floor_remainder(x: Any, y: Any) -> Any:
    """The remainder with the sign of the divisor, from the one with that of the dividend."""
    left = rem_p.bind(x, y)
    apart = logical_and(not_equal(less(left, 0), less(y, 0)), not_equal(left, 0))
    return choose("remainder", apart, add(left, y), left)


@composite()
def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    left = rem_p.bind(x, y)
    whole = subtract(x, left)
    if not _never_zero(y):
        whole = choose("divmod", equal(y, 0), x, whole)
    quotient = divide(whole, y)
    apart = logical_and(not_equal(left, 0), not_equal(sign(y), sign(left)))
    left = choose("divmod", apart, add(left, y), left)
    quotient = choose("divmod", apart, subtract(quotient, 1), quotient)
    return round_p.bind(quotient, rounding_method=0), left


floor_divide = binary(
    "floor_divide",
    "x / y rounded down.",
    {
        "u": div_p.bind,
        "i": _floor_quotient,
        "f": lambda x, y: _float_divmod(x, y)[0],
    },
    promote_numeric,
)


remainder = binary(
    "remainder",
    "x - y * floor(x / y): the remainder, of the sign of `y`.",
    {
        "u": _integer_remainder,
        "i": lambda x, y: _floor_remainder(x, _divisor(y)),
        "f": _floor_remainder,
    },
    promote_numeric,
)


mod = remainder


fmod = binary(
    "fmod",
    "x - y * trunc(x / y): the remainder, of the sign of `x`.",
    {"ui": _integer_remainder, "f": rem_p.bind},
    promote_numeric,
)


def divmod(x: Any, y: Any, /) -> tuple[Array, Array]:
    """(floor_divide(x, y), remainder(x, y)).

    >>> divmod(7, -2)
    (Array(-4, dtype=int32, weak_type=True), Array(-1, dtype=int32, weak_type=True))
    """
    check_arrays("divmod", x, y)
    a, b = align("divmod", *promote_numeric(x, y))
    if dtypes.kind(get_aval(a).dtype) == "f":
        return _float_divmod(a, b)
    return floor_divide(a, b), remainder(a, b)
