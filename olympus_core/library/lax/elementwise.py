"""The elementwise functions of `olympus.lax`: each is one primitive, with operands of one dtype.

Unlike the functions of the same names in `olympus.numpy`, they promote no dtypes and broadcast
only scalars.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, DTypeLike
from olympus_core.library.promotion import (
    check_arrays,
    convert,
    convert_array,
    promote_shapes,
)
from olympus_core.library.structural import structural
from olympus_core.primitives.elementwise.arithmetic import (
    abs_p,
    add_p,
    cbrt_p,
    ceil_p,
    div_p,
    floor_p,
    integer_pow_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    nextafter_p,
    pow_p,
    rem_p,
    round_p,
    rsqrt_p,
    sign_p,
    sqrt_p,
    sub_p,
)
from olympus_core.primitives.elementwise.base import Elementwise, check_kinds
from olympus_core.primitives.elementwise.conversion import (
    bitcast_convert_type_p,
    complex_p,
    conj_p,
    imag_p,
    real_p,
    reduce_precision_p,
)
from olympus_core.primitives.elementwise.logic import (
    and_p,
    clz_p,
    eq_p,
    ge_p,
    gt_p,
    is_finite_p,
    le_p,
    lt_p,
    ne_p,
    not_p,
    or_p,
    population_count_p,
    shift_left_p,
    shift_right_arithmetic_p,
    shift_right_logical_p,
    xor_p,
)
from olympus_core.primitives.elementwise.selection import clamp_p, select_n_p
from olympus_core.primitives.elementwise.transcendental import (
    acos_p,
    acosh_p,
    asin_p,
    asinh_p,
    atan2_p,
    atan_p,
    atanh_p,
    cos_p,
    cosh_p,
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    exp2_p,
    exp_p,
    expm1_p,
    lgamma_p,
    log1p_p,
    log_p,
    logistic_p,
    polygamma_p,
    sin_p,
    sinh_p,
    tan_p,
    tanh_p,
    zeta_p,
)

if TYPE_CHECKING:
    from olympus_core.library.signatures import OfX, OfXY

_F = TypeVar("_F", bound=Callable[..., Any])


class RoundingMethod(enum.IntEnum):
    """The rounding of halves: away from zero, or to the even neighbour."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.IntEnum):
    """The accuracy of transcendental functions: the platform's default, or its best."""

    HIGHEST = 1
    DEFAULT = 2


def _unary(primitive: Elementwise, summary: str) -> OfX:
    bind = primitive.bind

    def function(x: ArrayLike) -> Array:
        check_arrays(primitive.name, x)
        return bind(x)

    return _named(function, primitive, summary)


def _binary(primitive: Elementwise, summary: str) -> OfXY:
    bind = primitive.bind

    def function(x: ArrayLike, y: ArrayLike) -> Array:
        check_arrays(primitive.name, x, y)
        return bind(*promote_shapes(primitive.name, x, y))

    return _named(function, primitive, summary)


def _named(function: _F, primitive: Primitive, summary: str) -> _F:
    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = f"{summary}, element by element; raises DTypeError for a dtype it lacks."
    return function


neg = _unary(neg_p, "-x")
sign = _unary(sign_p, "-1, 0 or 1; for complex x, x / |x|")
floor = _unary(floor_p, "The greatest integer not above x")
ceil = _unary(ceil_p, "The least integer not below x")
is_finite = _unary(is_finite_p, "Whether x is neither infinite nor NaN")
exp = _unary(exp_p, "e ** x")
exp2 = _unary(exp2_p, "2 ** x")
expm1 = _unary(expm1_p, "e ** x - 1, exact near 0")
log = _unary(log_p, "The natural logarithm")
log1p = _unary(log1p_p, "log(1 + x), exact near 0")
sin = _unary(sin_p, "The sine of x radians")
cos = _unary(cos_p, "The cosine of x radians")
tan = _unary(tan_p, "The tangent of x radians")
asin = _unary(asin_p, "The inverse sine, in radians")
acos = _unary(acos_p, "The inverse cosine, in radians")
atan = _unary(atan_p, "The inverse tangent, in radians")
sinh = _unary(sinh_p, "The hyperbolic sine")
cosh = _unary(cosh_p, "The hyperbolic cosine")
tanh = _unary(tanh_p, "The hyperbolic tangent")
asinh = _unary(asinh_p, "The inverse hyperbolic sine")
acosh = _unary(acosh_p, "The inverse hyperbolic cosine")
atanh = _unary(atanh_p, "The inverse hyperbolic tangent")
logistic = _unary(logistic_p, "1 / (1 + e ** -x)")
sqrt = _unary(sqrt_p, "The square root")
rsqrt = _unary(rsqrt_p, "1 / sqrt(x)")
cbrt = _unary(cbrt_p, "The cube root")
abs = _unary(abs_p, "The magnitude")
bitwise_not = _unary(not_p, "All bits flipped; for bool, not x")
real = _unary(real_p, "The real part of complex x")
imag = _unary(imag_p, "The imaginary part of complex x")
population_count = _unary(population_count_p, "The number of bits set")
clz = _unary(clz_p, "The number of leading zero bits")
polygamma = _binary(polygamma_p, "The derivative of order m of digamma, at x")
zeta = _binary(zeta_p, "The Hurwitz zeta function of s and q")
erf = _unary(erf_p, "The error function")
erfc = _unary(erfc_p, "1 - erf(x), exact for large x")
erf_inv = _unary(erf_inv_p, "The inverse of erf")
lgamma = _unary(lgamma_p, "log |gamma(x)|")
digamma = _unary(digamma_p, "The derivative of lgamma")

add = _binary(add_p, "x + y")
sub = _binary(sub_p, "x - y")
mul = _binary(mul_p, "x * y")
div = _binary(div_p, "x / y; for integers, rounded towards zero")
rem = _binary(rem_p, "The remainder of x / y, with the sign of x")
max = _binary(max_p, "The greater of x and y; NaN if either is")
min = _binary(min_p, "The lesser of x and y; NaN if either is")
pow = _binary(pow_p, "x ** y")
atan2 = _binary(atan2_p, "The angle of the point (y, x), in radians")
nextafter = _binary(nextafter_p, "The float next to x on the way to y")
complex = _binary(complex_p, "x + iy")
bitwise_and = _binary(and_p, "x and y, bit by bit")
bitwise_or = _binary(or_p, "x or y, bit by bit")
bitwise_xor = _binary(xor_p, "x exclusive-or y, bit by bit")
shift_left = _binary(shift_left_p, "x moved left by y bits")
shift_right_arithmetic = _binary(
    shift_right_arithmetic_p, "x moved right by y bits, filled with its sign"
)
shift_right_logical = _binary(shift_right_logical_p, "x moved right by y bits, filled with zeros")
eq = _binary(eq_p, "x == y")
ne = _binary(ne_p, "x != y")
lt = _binary(lt_p, "x < y")
le = _binary(le_p, "x <= y")
gt = _binary(gt_p, "x > y")
ge = _binary(ge_p, "x >= y")


def conj(x: ArrayLike) -> Array:
    """Return the complex conjugate; a float32 or float64 x becomes complex."""
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) != "c":
        x = complex(x, convert(0.0, aval.dtype, aval.weak_type))
    return conj_p.bind(x)


def square(x: ArrayLike) -> Array:
    """x * x, element by element."""
    return integer_pow_p.bind(x, y=2)


def reciprocal(x: ArrayLike) -> Array:
    """1 / x of floats or complex numbers, element by element; raises DTypeError for others."""
    check_kinds("reciprocal", "fc", get_aval(x))
    return integer_pow_p.bind(x, y=-1)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """x ** y for a Python int y, element by element.

    Raises DTypeError for an integer x and a negative y.
    """
    if y < 0 and dtypes.kind(get_aval(x).dtype) in "iu":
        raise DTypeError(f"an integer array cannot be raised to the negative power {y}")
    check_kinds("integer_pow", "uifc", get_aval(x))
    return x if y == 1 and isinstance(x, Array) else integer_pow_p.bind(x, y=y)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Return the nearest integer, element by element; `rounding_method` selects that of halves."""
    return round_p.bind(x, rounding_method=int(rounding_method))


def reduce_precision(x: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Return x rounded to a float of `exponent_bits` and `mantissa_bits`, in the dtype of x.

    Raises ArgumentError if `exponent_bits` is less than 1 or `mantissa_bits` less than 0.
    """
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ArgumentError(
            f"reduce_precision needs at least 1 exponent bit and 0 mantissa bits, and got "
            f"{exponent_bits} and {mantissa_bits}"
        )
    return reduce_precision_p.bind(
        x, exponent_bits=int(exponent_bits), mantissa_bits=int(mantissa_bits)
    )


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """`operand` as `new_dtype` (complex to real drops the imaginary part)."""
    python: dict[Any, str] = {bool: "b", int: "i", float: "f"}
    if new_dtype in python:
        dtype, weak = dtypes.default_dtype(python[new_dtype]), new_dtype is not bool
    else:
        dtype, weak = dtypes.canonicalize(new_dtype), False
    return convert_array(operand, dtype, weak)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Return the bits of `operand` as `new_dtype`; another width adds or removes the last axis."""
    return bitcast_convert_type_p.bind(operand, new_dtype=dtypes.canonicalize(new_dtype))


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """x, not below `min` and not above `max`; the bounds are scalars or have x's shape."""
    return clamp_p.bind(min, x, max)


@structural(1, 2)
def select(pred: ArrayLike, on_true: ArrayOrKeys, on_false: ArrayOrKeys) -> Array:
    """`on_true` where `pred`, else `on_false`; `pred` is a scalar or has their shape."""
    return select_n_p.bind(pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """`cases[which]`, element by element; `which` is bool (two cases) or int32."""
    return select_n_p.bind(which, *cases)
