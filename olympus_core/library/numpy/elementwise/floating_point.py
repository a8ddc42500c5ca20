"""The representation of floats: signs, exponents, neighbours, special values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.control.custom_rules import SymbolicZero
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, unary
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import full_like
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import clip, maximum, minimum, negative
from olympus_core.library.numpy.elementwise.logic import equal, greater, isnan, less
from olympus_core.library.operands import choose, operand, scalar, scalar_beside
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.primitives.elementwise.arithmetic import mul_p, neg_p, nextafter_p
from olympus_core.primitives.elementwise.conversion import bitcast_convert_type_p, complex_p
from olympus_core.primitives.elementwise.logic import is_finite_p, not_p, or_p


def _bits(x: Any) -> Any:
    """Return the bits of a float as a signed integer of its width."""
    width = dtypes.finfo(get_aval(x).dtype).bits
    return bitcast_convert_type_p.bind(asarray(x), new_dtype=np.dtype(f"int{width}"))


signbit = unary(
    "signbit",
    "Whether the sign is minus, which -0.0 has too.",
    {
        "f": lambda x: less(_bits(x), 0),
        "i": lambda x: less(x, scalar(0, get_aval(x).dtype)),
        "bu": lambda x: full_like(x, False, dtype=bool),
    },
    example=("signbit(asarray([-1.0, -0.0, 0.0]))", "Array([ True,  True, False], dtype=bool)"),
)


@composite()
def _copysign(x: Any, y: Any) -> Any:
    size = abs_(x)
    both_weak = get_aval(x).weak_type and get_aval(y).weak_type
    return convert(
        choose("copysign", signbit(y), negative(size), size), get_aval(x).dtype, both_weak
    )


copysign = binary(
    "copysign",
    "The magnitude of x with the sign of y.",
    {"f": _copysign},
    promote_inexact,
    example=(
        "copysign(asarray([1.0, -2.0]), asarray([-0.0, 3.0]))",
        "Array([-1.,  2.], dtype=float32)",
    ),
)
nextafter = binary(
    "nextafter",
    "The float next to x towards y.",
    {"f": nextafter_p.bind},
    promote_inexact,
    example=(
        "nextafter(asarray([1.0, 1000.0]), 0)",
        "Array([  0.99999994, 999.99994   ], dtype=float32)",
    ),
)


@composite()
def _heaviside(x: Any, y: Any) -> Any:
    zero, one = (scalar_beside(x, k) for k in (0, 1))
    step = choose("heaviside", greater(x, 0), one, choose("heaviside", less(x, 0), zero, x))
    return choose("heaviside", equal(x, 0), y, step)


heaviside = binary(
    "heaviside",
    "The step function: 0 below 0, 1 above, and y at 0.",
    {"f": _heaviside},
    promote_inexact,
    example=("heaviside(asarray([-1.0, 0.0, 2.0]), 0.5)", "Array([0. , 0.5, 1. ], dtype=float32)"),
)


@composite()
def _spacing(x: Any) -> Any:
    dtype = get_aval(x).dtype
    x = convert(x, dtype)  # strongly typed, as in JAX
    info = dtypes.finfo(dtype)
    bits, mask = _bits(x), (1 << info.nexp) - 1
    # by integers, as processors flush a subnormal difference to zero
    exponent = (bits >> info.nmant) & mask
    normal = (exponent - info.nmant) << info.nmant
    subnormal = convert(1, get_aval(bits).dtype) << (maximum(exponent, 1) - 1)
    magnitude = choose("spacing", greater(exponent, info.nmant), normal, subnormal)
    distance = bitcast_convert_type_p.bind(magnitude, new_dtype=dtype)
    signed = choose("spacing", less(bits, 0), neg_p.bind(distance), distance)
    return choose("spacing", is_finite_p.bind(x), signed, np.nan)


spacing = unary(
    "spacing",
    "The distance to the next float away from 0.",
    {"f": _spacing},
    promote_inexact,
    example=(
        "spacing(asarray([1.0, 1000.0]))",
        "Array([1.1920929e-07, 6.1035156e-05], dtype=float32)",
    ),
)


@custom_jvp
def _frexp(x: Any) -> tuple[Any, Any]:
    dtype = get_aval(x).dtype
    info = dtypes.finfo(dtype)
    # a subnormal's exponent is not in its bits: scale it into the normal range
    tiny = less(abs_(x), float(info.smallest_normal))
    scaled = choose("frexp", tiny, mul_p.bind(x, convert(2.0**info.nmant, dtype)), x)
    bits, mask = _bits(scaled), (1 << info.nexp) - 1
    biased = convert((bits >> info.nmant) & mask, np.dtype("int32"))
    exponent = biased - (mask // 2 - 1) - choose("frexp", tiny, info.nmant, 0)
    half = (bits & ~(mask << info.nmant)) | ((mask // 2 - 1) << info.nmant)
    mantissa = bitcast_convert_type_p.bind(half, new_dtype=dtype)
    special = or_p.bind(equal(x, 0), not_p.bind(is_finite_p.bind(x)))
    return choose("frexp", special, x, mantissa), choose("frexp", special, 0, exponent)


@_frexp.defjvp
def _frexp_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    mantissa, exponent = _frexp(*primals)
    slope = ldexp(tangents[0], -exponent)
    return (mantissa, exponent), (slope, SymbolicZero(get_aval(exponent)))


@composite()
def frexp(x: ArrayLike, /) -> tuple[Array, Array]:
    """(mantissa, exponent) of each float: x = mantissa * 2**exponent, 0.5 <= |mantissa| < 1.

    The exponent is int32.  Zero, nan and infinities are their own mantissas, with exponent 0.

    >>> frexp(6.0)
    (Array(0.75, dtype=float32), Array(3, dtype=int32))
    """
    check_arrays("frexp", x)
    (x,) = promote_inexact(x)
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) != "f":
        raise DTypeError(f"frexp takes floats, and got {aval.long_name()}")
    mantissa, exponent = _frexp(x)
    return mantissa, exponent


@composite()
def ldexp(x1: ArrayLike, x2: ArrayLike, /) -> Array:
    """Return x1 * 2**x2, for integers x2: the inverse of `frexp`; raise DTypeError for others.

    >>> ldexp(0.75, 3)
    Array(6., dtype=float32)
    """
    check_arrays("ldexp", x1, x2)
    exponent = get_aval(x2)
    if dtypes.kind(exponent.dtype) not in "iub" or dtypes.kind(get_aval(x1).dtype) == "c":
        raise DTypeError(
            "ldexp not supported for input types: it takes an integer exponent, and got "
            f"{exponent.long_name()}"
        )
    (x,) = promote_inexact(x1)
    info = dtypes.finfo(get_aval(x).dtype)
    # 2**x2 may overflow although the result does not: none of up to three factors does
    left = _bounded_exponent(x2, 3 * (info.maxexp - 1))
    for _ in range(3):
        part = clip(left, info.minexp, info.maxexp - 1)
        x, left = x * _power_of_two(part, info), left - part
    result: Array = x
    return result


def _bounded_exponent(x: Any, most: int) -> Any:
    """Return an integer of any dtype, clamped to [-most, most], as int32."""
    dtype = get_aval(x).dtype
    if dtype.itemsize >= 4:
        x = minimum(x, most) if dtypes.kind(dtype) == "u" else clip(x, -most, most)
    return convert(x, np.dtype("int32"))


def _power_of_two(exponent: Any, info: Any) -> Any:
    """Return 2**exponent exactly, in the dtype of `info`: the bits of a normal float."""
    width = np.dtype(f"int{info.bits}")
    biased = convert(exponent, width) - (info.minexp - 1)
    return bitcast_convert_type_p.bind(biased << info.nmant, new_dtype=info.dtype)


def nan_to_num(
    x: ArrayLike,
    copy: bool = True,
    nan: ArrayLike = 0.0,
    posinf: ArrayLike | None = None,
    neginf: ArrayLike | None = None,
) -> Array:
    """Return `x` with nan replaced by 0 and infinities by the largest finite floats, by default.

    >>> nan_to_num(asarray([np.nan, 1.0]))
    Array([0., 1.], dtype=float32)
    """
    x, aval = operand("nan_to_num", x)
    kind = dtypes.kind(aval.dtype)
    if kind not in "fc":
        return asarray(x)
    info = dtypes.finfo(aval.dtype)
    high = float(info.max) if posinf is None else posinf
    low = float(info.min) if neginf is None else neginf
    if kind == "c":
        parts = [_replaced(part, nan, high, low) for part in (x.real, x.imag)]
        return complex_p.bind(*parts)
    return _replaced(x, nan, high, low)


@composite()
def _replaced(x: Any, nan: Any, high: Any, low: Any) -> Array:
    dtype = get_aval(x).dtype
    x = choose("nan_to_num", isnan(x), convert(nan, dtype), x)
    x = choose("nan_to_num", equal(x, np.inf), convert(high, dtype), x)
    result: Array = choose("nan_to_num", equal(x, -np.inf), convert(low, dtype), x)
    return result
