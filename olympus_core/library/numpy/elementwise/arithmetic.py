"""Arithmetic of elements: sums, products, quotients, remainders, powers, signs, bounds.

Operands are promoted to one dtype and broadcast to one shape.  Remainders have NumPy's signs.
"""

from __future__ import annotations

import operator
from functools import partial
from typing import Any, Final

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, self_converted
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.ir.trace import at_base
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, unary
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.logic import (
    equal,
    greater,
    less,
    logical_and,
    logical_or,
    not_equal,
)
from olympus_core.library.operands import align, choose, promote_numeric
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
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
    rem_p,
    round_p,
    sign_p,
    square_p,
    sub_p,
)
from olympus_core.primitives.elementwise.logic import and_p, or_p

_numbers: Final = "uifc"


add = binary(
    "add",
    "x + y.",
    {_numbers: add_p.bind, "b": or_p.bind},
    example=("add(asarray([1, 2, 3]), asarray([0.5]))", "Array([1.5, 2.5, 3.5], dtype=float32)"),
)


subtract = binary(
    "subtract",
    "x - y.",
    {_numbers: sub_p.bind},
    example=("subtract(asarray([5, 3]), asarray([1, 4]))", "Array([ 4, -1], dtype=int32)"),
)


multiply = binary(
    "multiply",
    "x * y.",
    {_numbers: mul_p.bind, "b": and_p.bind},
    example=(
        "multiply(asarray([1.5, 2.5]), asarray([True, False]))",
        "Array([1.5, 0. ], dtype=float32)",
    ),
)


divide = binary(
    "divide",
    "x / y.",
    {"fc": div_p.bind},
    promote_inexact,
    example=("divide(asarray([7, -7]), 2)", "Array([ 3.5, -3.5], dtype=float32)"),
)


true_divide = divide


maximum = binary(
    "maximum",
    "The larger of each pair; nan where either is.",
    {"buifc": max_p.bind},
    example=("maximum(asarray([1.0, 3.0, nan]), 2)", "Array([ 2.,  3., nan], dtype=float32)"),
)


minimum = binary(
    "minimum",
    "The smaller of each pair; nan where either is.",
    {"buifc": min_p.bind},
    example=("minimum(asarray([1.0, 3.0, nan]), 2)", "Array([ 1.,  2., nan], dtype=float32)"),
)


negative = unary(
    "negative",
    "-x.",
    {_numbers: neg_p.bind},
    example=("negative(asarray([1, -2]))", "Array([-1,  2], dtype=int32)"),
)


positive = unary(
    "positive",
    "+x: the same values.",
    {"buifc": asarray},
    example=("positive(asarray([1, -2]))", "Array([ 1, -2], dtype=int32)"),
)


abs = unary(
    "abs",
    "The magnitude of each element.",
    {"uifc": abs_p.bind, "b": asarray},
    example=("abs(asarray([3 + 4j, -2]))", "Array([5., 2.], dtype=float32)"),
)


absolute = abs


fabs = unary(
    "fabs",
    "The magnitude of each element.",
    {"f": abs_p.bind},
    promote_inexact,
    example=("fabs(asarray([-3, 2]))", "Array([3., 2.], dtype=float32)"),
)


sign = unary(
    "sign",
    "-1, 0 or 1; of a complex value, the value of magnitude 1.",
    {_numbers: sign_p.bind},
    example=("sign(asarray([-2.5, 0.0, 3.0]))", "Array([-1.,  0.,  1.], dtype=float32)"),
)


square = unary(
    "square",
    "x * x.",
    {_numbers: square_p.bind},
    promote_numeric,
    example=("square(asarray([-2, 3]))", "Array([4, 9], dtype=int32)"),
)


reciprocal = unary(
    "reciprocal",
    "1 / x.",
    {"fc": partial(integer_pow_p.bind, y=-1)},
    promote_inexact,
    example=("reciprocal(asarray([2, -4]))", "Array([ 0.5 , -0.25], dtype=float32)"),
)


float_power = binary(
    "float_power",
    "x ** y in floats.",
    {"fc": pow_p.bind},
    promote_inexact,
    example=("float_power(asarray([2, 4]), -1)", "Array([0.5 , 0.25], dtype=float32)"),
)


def _static_int(y: Any) -> int | None:
    """Return an exponent as a Python int, or None if it is not one."""
    if y.__class__ is int:
        return y
    if y.__class__ is float or isinstance(y, Array):
        return None
    try:
        return operator.index(y)
    except TypeError:
        return None


def power(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return `x1 ** x2`, by repeated squaring if `x2` is a Python int.

    A float or complex base keeps its dtype with an integer exponent.  Raises DTypeError for an
    integer raised to a negative integer (a Python int, or an array without dimensions that has a
    value), and for operands that are not arrays or scalars.

    >>> power(asarray([1.0, 2.0, 3.0]), 2)
    Array([1., 4., 9.], dtype=float32)
    """
    exponent = _static_int(x2)
    if exponent is not None:
        return _integer_power(x1, exponent)
    check_arrays("power", x1, x2)
    known = x2 if at_base() and isinstance(x2, Array) and not x2.shape else None
    if known is not None and _are_integers(x1, known) and int(known) < 0:
        return _integer_power(x1, int(known))
    result = _power(x1, x2)
    dtype = result.aval.dtype
    # integers are strong, as in JAX, which also takes the value of an exponent that has one
    return result if known is not None or dtypes.kind(dtype) not in "iu" else convert(result, dtype)


def _are_integers(base: Any, exponent: Any) -> bool:
    kinds = [dtypes.kind(get_aval(x).dtype) for x in (base, exponent)]
    return kinds[0] in "biu" and kinds[1] == "i"


@composite()
def _power(x1: Any, x2: Any) -> Array:
    base, exponent = get_aval(x1), get_aval(x2)
    if dtypes.kind(exponent.dtype) in "iu" and dtypes.kind(base.dtype) in "fc":
        operands = [x1, x2]
    else:
        operands = promote_numeric(x1, x2)
    result: Array = pow_p.bind(*align("power", *operands))
    return result


def _integer_power(x: Any, y: int) -> Array:
    check_arrays("power", x)
    (x,) = promote_numeric(x)
    aval = get_aval(x)
    if y < 0 and dtypes.kind(aval.dtype) in "iu":
        raise DTypeError(
            "Integers cannot be raised to negative powers, got "
            f"integer_pow({aval.long_name()}, {y})",
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
    example=(
        "fmax(asarray([1.0, nan, nan]), asarray([2.0, 3.0, nan]))",
        "Array([ 2.,  3., nan], dtype=float32)",
    ),
)


fmin = binary(
    "fmin",
    "The smaller of each pair; of a nan and a number, the number.",
    {"buifc": _or_other(less)},
    example=(
        "fmin(asarray([1.0, nan, nan]), asarray([2.0, 3.0, nan]))",
        "Array([ 1.,  3., nan], dtype=float32)",
    ),
)


def clip(
    arr: ArrayLike | None = None, /, min: ArrayLike | None = None, max: ArrayLike | None = None
) -> Array:
    """Return `arr` limited to at least `min` and at most `max`, if given; they broadcast.

    Raises ArgumentError for complex values, which have no order.

    >>> clip(asarray([-1.0, 0.5, 2.0]), 0, 1)
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    arr, min, max = map(self_converted, (arr, min, max))
    operands = [x for x in (arr, min, max) if x is not None]
    check_arrays("clip", arr, *operands)
    if any(dtypes.kind(get_aval(x).dtype) == "c" for x in operands):
        raise ArgumentError(
            "Clip received a complex value, and complex values have no order",
            hint="clip the parts, x.real and x.imag",
        )
    assert arr is not None  # check_arrays raises for None
    bounded = arr
    if min is not None:
        bounded = maximum(min, bounded)
    if max is not None:
        bounded = minimum(max, bounded)
    return asarray(bounded)


@composite()
def _floor_quotient(x: Any, y: Any) -> Any:
    """Return the quotient of signed integers rounded down, from the one rounded to zero."""
    quotient = div_p.bind(x, y)
    inexact = not_equal(rem_p.bind(x, y), 0)
    below = logical_and(not_equal(sign(x), sign(y)), inexact)
    return choose("floor_divide", below, subtract(quotient, 1), quotient)


def _never_zero(y: Any) -> bool:
    return not isinstance(y, Array) and bool(np.all(y))


def _divisor(y: Any) -> Any:
    """Return the divisor of integers with 1 for 0: as in NumPy, the remainder is then 0."""
    if _never_zero(y):
        return y
    return choose("remainder", equal(y, 0), 1, y)


def _integer_remainder(x: Any, y: Any) -> Any:
    return rem_p.bind(x, _divisor(y))


@composite()
def _floor_remainder(x: Any, y: Any) -> Any:
    """Return the remainder with the divisor's sign, from the one with the dividend's sign."""
    remainder = rem_p.bind(x, y)
    has_other_sign = logical_and(not_equal(less(remainder, 0), less(y, 0)), not_equal(remainder, 0))
    return choose("remainder", has_other_sign, add(remainder, y), remainder)


@composite()
def _float_divmod(x: Any, y: Any) -> tuple[Any, Any]:
    remainder = rem_p.bind(x, y)
    multiple = subtract(x, remainder)
    if not _never_zero(y):
        multiple = choose("divmod", equal(y, 0), x, multiple)
    quotient = divide(multiple, y)
    has_other_sign = logical_and(not_equal(remainder, 0), not_equal(sign(y), sign(remainder)))
    remainder = choose("divmod", has_other_sign, add(remainder, y), remainder)
    quotient = choose("divmod", has_other_sign, subtract(quotient, 1), quotient)
    return round_p.bind(quotient, rounding_method=0), remainder


floor_divide = binary(
    "floor_divide",
    "x / y rounded down.",
    {
        "u": div_p.bind,
        "i": _floor_quotient,
        "f": lambda x, y: _float_divmod(x, y)[0],
    },
    promote_numeric,
    example=("floor_divide(asarray([7, -7]), 2)", "Array([ 3, -4], dtype=int32)"),
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
    example=("remainder(asarray([7, -7]), 3)", "Array([1, 2], dtype=int32)"),
)


mod = remainder


fmod = binary(
    "fmod",
    "x - y * trunc(x / y): the remainder, of the sign of `x`.",
    {"ui": _integer_remainder, "f": rem_p.bind},
    promote_numeric,
    example=("fmod(asarray([7, -7]), 3)", "Array([ 1, -1], dtype=int32)"),
)


def divmod(x: ArrayLike, y: ArrayLike, /) -> tuple[Array, Array]:
    """Return (floor_divide(x, y), remainder(x, y)).

    >>> divmod(7, -2)
    (Array(-4, dtype=int32, weak_type=True), Array(-1, dtype=int32, weak_type=True))
    """
    check_arrays("divmod", x, y)
    a, b = align("divmod", *promote_numeric(x, y))
    if dtypes.kind(get_aval(a).dtype) == "f":
        return _float_divmod(a, b)
    return floor_divide(a, b), remainder(a, b)
