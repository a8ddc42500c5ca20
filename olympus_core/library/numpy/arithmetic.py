"""Arithmetic of `olympus.numpy`: sums, products, quotients, powers, signs, bounds.

Arrays and scalars enter, and are promoted to one dtype and broadcast to one shape.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, Final

from olympus_core import dtypes
from olympus_core.avals import get_aval
from olympus_core.errors import DTypeError
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.elementwise import binary, unary
from olympus_core.library.numpy.logic import (
    greater,
    less,
    logical_or,
    not_equal,
)
from olympus_core.library.numpy.operands import align, choose, promote_numeric
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import (
    abs_p,
    add_p,
    div_p,
    integer_pow_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    pow_p,
    sign_p,
    sub_p,
)
from olympus_core.primitives.elementwise.logic import and_p, or_p
from olympus_core.tracer import Array

__all__ = [
    "abs",
    "absolute",
    "add",
    "clip",
    "divide",
    "fabs",
    "float_power",
    "fmax",
    "fmin",
    "maximum",
    "minimum",
    "multiply",
    "negative",
    "positive",
    "pow",
    "power",
    "reciprocal",
    "sign",
    "square",
    "subtract",
    "true_divide",
]

_numbers: Final = "uifc"


add = binary("add", "x + y.", {_numbers: add_p.bind, "b": or_p.bind})


subtract = binary("subtract", "x - y.", {_numbers: sub_p.bind})


multiply = binary("multiply", "x * y.", {_numbers: mul_p.bind, "b": and_p.bind})


divide = binary("divide", "x / y.", {"fc": div_p.bind}, promote_inexact)


true_divide = divide


maximum = binary("maximum", "The larger of each pair; nan where either is.", {"buifc": max_p.bind})


minimum = binary("minimum", "The smaller of each pair; nan where either is.", {"buifc": min_p.bind})


negative = unary("negative", "-x.", {_numbers: neg_p.bind})


positive = unary("positive", "+x: the same values.", {"buifc": asarray})


abs = unary("abs", "The magnitude of each element.", {"uifc": abs_p.bind, "b": asarray})


absolute = abs


fabs = unary("fabs", "The magnitude of each element.", {"f": abs_p.bind}, promote_inexact)


sign = unary(
    "sign", "-1, 0 or 1; of a complex value, the value of magnitude 1.", {_numbers: sign_p.bind}
)


square = unary("square", "x * x.", {_numbers: partial(integer_pow_p.bind, y=2)}, promote_numeric)


reciprocal = unary(
    "reciprocal", "1 / x.", {"fc": partial(integer_pow_p.bind, y=-1)}, promote_inexact
)


float_power = binary("float_power", "x ** y in floats.", {"fc": pow_p.bind}, promote_inexact)


def _static_int(y: Any) -> int | None:
    """The Python int that an exponent is, or None where it is not one."""
    if y.__class__ is int:
        return y
    if y.__class__ is float or isinstance(y, Array):
        return None
    try:
        return operator.index(y)
    except TypeError:
        return None


def power(x1: Any, x2: Any, /) -> Array:
    """`x1 ** x2`, by repeated squaring where `x2` is a Python int.

    A float or complex base keeps its dtype with an integer exponent.  Raises DTypeError where an
    integer is raised to a negative Python int, and for what is not an array or scalar.

    >>> power(asarray([1.0, 2.0, 3.0]), 2)
    Array([1., 4., 9.], dtype=float32)
    """
    exponent = _static_int(x2)
    if exponent is not None:
        return _integer_power(x1, exponent)
    check_arrays("power", x1, x2)
    return _power(x1, x2)  # type: ignore[no-any-return]


@composite()
def _power(x1: Any, x2: Any) -> Any:
    base, other = get_aval(x1), get_aval(x2)
    if dtypes.kind(other.dtype) in "iu" and dtypes.kind(base.dtype) in "fc":
        operands = [x1, x2]
    else:
        operands = promote_numeric(x1, x2)
    return pow_p.bind(*align("power", *operands))


def _integer_power(x: Any, y: int) -> Array:
    check_arrays("power", x)
    (x,) = promote_numeric(x)
    aval = get_aval(x)
    if y < 0 and dtypes.kind(aval.dtype) in "iu":
        raise DTypeError(
            f"power cannot raise {aval.long_name()} to {y}: integers have no negative powers",
            hint="make the base a float: x.astype('float32') ** n",
        )
    result: Array = integer_pow_p.bind(x, y=y)
    return result


pow = power


def _or_other(better: Any) -> Any:
    @composite()
    def operation(x: Any, y: Any) -> Any:
        return choose("fmax or fmin", logical_or(better(x, y), not_equal(y, y)), x, y)

    return operation


fmax = binary(
    "fmax",
    "The larger of each pair; of a nan and a number, the number.",
    {"buifc": _or_other(greater)},
)


fmin = binary(
    "fmin",
    "The smaller of each pair; of a nan and a number, the number.",
    {"buifc": _or_other(less)},
)


def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Array:
    """`arr`, raised to `min` and lowered to `max` where they are given; they broadcast.

    Raises DTypeError for complex values, which have no order.

    >>> clip(asarray([-1.0, 0.5, 2.0]), 0, 1)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    given = [x for x in (arr, min, max) if x is not None]
    check_arrays("clip", arr, *given)
    if any(dtypes.kind(get_aval(x).dtype) == "c" for x in given):
        raise DTypeError("clip needs ordered values, and got complex ones: clip .real and .imag")
    if min is not None:
        arr = maximum(min, arr)
    if max is not None:
        arr = minimum(max, arr)
    return asarray(arr)
