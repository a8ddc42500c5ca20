"""The elementwise functions of `olympus.lax`: operands of one dtype in, the primitive's result out.

Unlike their namesakes in `olympus.numpy`, they promote no dtypes and broadcast only scalars.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any, TypeVar

from olympus_core import dtypes
from olympus_core.avals import get_aval
from olympus_core.errors import ArgumentError, DTypeError
from olympus_core.library.promotion import check_arrays, convert, promote_shapes
from olympus_core.library.structural import structural
from olympus_core.primitive import Primitive
from olympus_core.primitives import elementwise as p
from olympus_core.primitives.elementwise import check_kinds

__all__ = [
    "AccuracyMode",
    "RoundingMethod",
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "bitcast_convert_type",
    "bitwise_and",
    "bitwise_not",
    "bitwise_or",
    "bitwise_xor",
    "cbrt",
    "ceil",
    "clamp",
    "clz",
    "complex",
    "conj",
    "convert_element_type",
    "cos",
    "cosh",
    "digamma",
    "div",
    "eq",
    "erf",
    "erf_inv",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "ge",
    "gt",
    "imag",
    "integer_pow",
    "is_finite",
    "le",
    "lgamma",
    "log",
    "log1p",
    "logistic",
    "lt",
    "max",
    "min",
    "mul",
    "ne",
    "neg",
    "nextafter",
    "polygamma",
    "population_count",
    "pow",
    "real",
    "reciprocal",
    "reduce_precision",
    "rem",
    "round",
    "rsqrt",
    "select",
    "select_n",
    "shift_left",
    "shift_right_arithmetic",
    "shift_right_logical",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
    "zeta",
]


_F = TypeVar("_F", bound=Callable[..., Any])


class RoundingMethod(enum.IntEnum):
    """Where halves go: away from zero, or to the even neighbour."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.IntEnum):
    """How exact a transcendental function's result is: as the platform has it, or at its best."""

    HIGHEST = 1
    DEFAULT = 2


def _unary(primitive: Primitive, summary: str) -> Callable[[Any], Any]:
    bind = primitive.bind

    def function(x: Any) -> Any:
        check_arrays(primitive.name, x)
        return bind(x)

    return _named(function, primitive, summary)


def _binary(primitive: Primitive, summary: str) -> Callable[[Any, Any], Any]:
    bind = primitive.bind

    def function(x: Any, y: Any) -> Any:
        check_arrays(primitive.name, x, y)
        return bind(*promote_shapes(primitive.name, x, y))

    return _named(function, primitive, summary)


def _named(function: _F, primitive: Primitive, summary: str) -> _F:
    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = f"{summary}, element by element; raises DTypeError for a dtype it lacks."
    return function


neg = _unary(p.neg_p, "-x")
sign = _unary(p.sign_p, "-1, 0 or 1; for complex x, x / |x|")
floor = _unary(p.floor_p, "The greatest integer not above x")
ceil = _unary(p.ceil_p, "The least integer not below x")
is_finite = _unary(p.is_finite_p, "Whether x is neither infinite nor NaN")
exp = _unary(p.exp_p, "e ** x")
exp2 = _unary(p.exp2_p, "2 ** x")
expm1 = _unary(p.expm1_p, "e ** x - 1, exact near 0")
log = _unary(p.log_p, "The natural logarithm")
log1p = _unary(p.log1p_p, "log(1 + x), exact near 0")
sin = _unary(p.sin_p, "The sine of x radians")
cos = _unary(p.cos_p, "The cosine of x radians")
tan = _unary(p.tan_p, "The tangent of x radians")
asin = _unary(p.asin_p, "The inverse sine, in radians")
acos = _unary(p.acos_p, "The inverse cosine, in radians")
atan = _unary(p.atan_p, "The inverse tangent, in radians")
sinh = _unary(p.sinh_p, "The hyperbolic sine")
cosh = _unary(p.cosh_p, "The hyperbolic cosine")
tanh = _unary(p.tanh_p, "The hyperbolic tangent")
asinh = _unary(p.asinh_p, "The inverse hyperbolic sine")
acosh = _unary(p.acosh_p, "The inverse hyperbolic cosine")
atanh = _unary(p.atanh_p, "The inverse hyperbolic tangent")
logistic = _unary(p.logistic_p, "1 / (1 + e ** -x)")
sqrt = _unary(p.sqrt_p, "The square root")
rsqrt = _unary(p.rsqrt_p, "1 / sqrt(x)")
cbrt = _unary(p.cbrt_p, "The cube root")
abs = _unary(p.abs_p, "The magnitude")
bitwise_not = _unary(p.not_p, "All bits flipped; for bool, not x")
real = _unary(p.real_p, "The real part of complex x")
imag = _unary(p.imag_p, "The imaginary part of complex x")
population_count = _unary(p.population_count_p, "The number of bits set")
clz = _unary(p.clz_p, "The number of leading zero bits")
polygamma = _binary(p.polygamma_p, "The derivative of order m of digamma, at x")
zeta = _binary(p.zeta_p, "The Hurwitz zeta function of s and q")
erf = _unary(p.erf_p, "The error function")
erfc = _unary(p.erfc_p, "1 - erf(x), exact for large x")
erf_inv = _unary(p.erf_inv_p, "The inverse of erf")
lgamma = _unary(p.lgamma_p, "log |gamma(x)|")
digamma = _unary(p.digamma_p, "The derivative of lgamma")

add = _binary(p.add_p, "x + y")
sub = _binary(p.sub_p, "x - y")
mul = _binary(p.mul_p, "x * y")
div = _binary(p.div_p, "x / y; for integers, rounded towards zero")
rem = _binary(p.rem_p, "The remainder of x / y, with the sign of x")
max = _binary(p.max_p, "The greater of x and y; NaN if either is")
min = _binary(p.min_p, "The lesser of x and y; NaN if either is")
pow = _binary(p.pow_p, "x ** y")
atan2 = _binary(p.atan2_p, "The angle of the point (y, x), in radians")
nextafter = _binary(p.nextafter_p, "The float next to x on the way to y")
complex = _binary(p.complex_p, "x + iy")
bitwise_and = _binary(p.and_p, "x and y, bit by bit")
bitwise_or = _binary(p.or_p, "x or y, bit by bit")
bitwise_xor = _binary(p.xor_p, "x exclusive-or y, bit by bit")
shift_left = _binary(p.shift_left_p, "x moved left by y bits")
shift_right_arithmetic = _binary(
    p.shift_right_arithmetic_p, "x moved right by y bits, filled with its sign"
)
shift_right_logical = _binary(p.shift_right_logical_p, "x moved right by y bits, filled with zeros")
eq = _binary(p.eq_p, "x == y")
ne = _binary(p.ne_p, "x != y")
lt = _binary(p.lt_p, "x < y")
le = _binary(p.le_p, "x <= y")
gt = _binary(p.gt_p, "x > y")
ge = _binary(p.ge_p, "x >= y")


def conj(x: Any) -> Any:
    """The complex conjugate; a float32 or float64 x becomes complex."""
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) != "c":
        x = complex(x, convert(0.0, aval.dtype, aval.weak_type))
    return p.conj_p.bind(x)


def square(x: Any) -> Any:
    """x * x, element by element."""
    return p.integer_pow_p.bind(x, y=2)


def reciprocal(x: Any) -> Any:
    """1 / x of floats or complex numbers, element by element; raises DTypeError for others."""
    check_kinds("reciprocal", "fc", get_aval(x))
    return p.integer_pow_p.bind(x, y=-1)


def integer_pow(x: Any, y: int) -> Any:
    """x ** y for a Python int y, element by element.

    Raises DTypeError for an integer x and a negative y.
    """
    if y < 0 and dtypes.kind(get_aval(x).dtype) in "iu":
        raise DTypeError(f"an integer array cannot be raised to the negative power {y}")
    check_kinds("integer_pow", "uifc", get_aval(x))
    return x if y == 1 else p.integer_pow_p.bind(x, y=y)


def round(x: Any, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Any:
    """The nearest integer, element by element; `rounding_method` says where halves go."""
    return p.round_p.bind(x, rounding_method=int(rounding_method))


def reduce_precision(x: Any, exponent_bits: int, mantissa_bits: int) -> Any:
    """x rounded to a float of the given bits, in its own dtype.

    Raises ArgumentError where `exponent_bits` is less than 1 or `mantissa_bits` less than 0.
    """
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ArgumentError(
            f"reduce_precision needs at least 1 exponent bit and 0 mantissa bits, and got "
            f"{exponent_bits} and {mantissa_bits}"
        )
    return p.reduce_precision_p.bind(
        x, exponent_bits=int(exponent_bits), mantissa_bits=int(mantissa_bits)
    )


def convert_element_type(operand: Any, new_dtype: Any) -> Any:
    """`operand` as `new_dtype` (complex to real drops the imaginary part)."""
    python = {bool: "b", int: "i", float: "f"}
    if new_dtype in python:
        return convert(operand, dtypes.default_dtype(python[new_dtype]), new_dtype is not bool)
    return convert(operand, dtypes.canonicalize(new_dtype))


def bitcast_convert_type(operand: Any, new_dtype: Any) -> Any:
    """The bits of `operand` read as `new_dtype`; another width adds or takes the last axis."""
    return p.bitcast_convert_type_p.bind(operand, new_dtype=dtypes.canonicalize(new_dtype))


def clamp(min: Any, x: Any, max: Any) -> Any:
    """x, not below `min` and not above `max`; the bounds are scalars or have x's shape."""
    return p.clamp_p.bind(min, x, max)


@structural(1, 2)
def select(pred: Any, on_true: Any, on_false: Any) -> Any:
    """`on_true` where `pred`, else `on_false`; `pred` is a scalar or has their shape."""
    return p.select_n_p.bind(pred, on_false, on_true)


def select_n(which: Any, *cases: Any) -> Any:
    """`cases[which]`, element by element; `which` is bool (two cases) or int32."""
    return p.select_n_p.bind(which, *cases)
