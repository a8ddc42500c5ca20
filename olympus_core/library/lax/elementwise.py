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
from olympus_core.primitives.elementwise import (
    arithmetic,
    conversion,
    logic,
    selection,
    transcendental,
)
from olympus_core.primitives.elementwise.base import Elementwise, check_kinds

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


neg = _unary(arithmetic.neg_p, "-x")
sign = _unary(arithmetic.sign_p, "-1, 0 or 1; for complex x, x / |x|")
floor = _unary(arithmetic.floor_p, "The greatest integer not above x")
ceil = _unary(arithmetic.ceil_p, "The least integer not below x")
is_finite = _unary(logic.is_finite_p, "Whether x is neither infinite nor NaN")
exp = _unary(transcendental.exp_p, "e ** x")
exp2 = _unary(transcendental.exp2_p, "2 ** x")
expm1 = _unary(transcendental.expm1_p, "e ** x - 1, exact near 0")
log = _unary(transcendental.log_p, "The natural logarithm")
log1p = _unary(transcendental.log1p_p, "log(1 + x), exact near 0")
sin = _unary(transcendental.sin_p, "The sine of x radians")
cos = _unary(transcendental.cos_p, "The cosine of x radians")
tan = _unary(transcendental.tan_p, "The tangent of x radians")
asin = _unary(transcendental.asin_p, "The inverse sine, in radians")
acos = _unary(transcendental.acos_p, "The inverse cosine, in radians")
atan = _unary(transcendental.atan_p, "The inverse tangent, in radians")
sinh = _unary(transcendental.sinh_p, "The hyperbolic sine")
cosh = _unary(transcendental.cosh_p, "The hyperbolic cosine")
tanh = _unary(transcendental.tanh_p, "The hyperbolic tangent")
asinh = _unary(transcendental.asinh_p, "The inverse hyperbolic sine")
acosh = _unary(transcendental.acosh_p, "The inverse hyperbolic cosine")
atanh = _unary(transcendental.atanh_p, "The inverse hyperbolic tangent")
logistic = _unary(transcendental.logistic_p, "1 / (1 + e ** -x)")
sqrt = _unary(arithmetic.sqrt_p, "The square root")
rsqrt = _unary(arithmetic.rsqrt_p, "1 / sqrt(x)")
cbrt = _unary(arithmetic.cbrt_p, "The cube root")
abs = _unary(arithmetic.abs_p, "The magnitude")
bitwise_not = _unary(logic.not_p, "All bits flipped; for bool, not x")
real = _unary(conversion.real_p, "The real part of complex x")
imag = _unary(conversion.imag_p, "The imaginary part of complex x")
population_count = _unary(logic.population_count_p, "The number of bits set")
clz = _unary(logic.clz_p, "The number of leading zero bits")
polygamma = _binary(transcendental.polygamma_p, "The derivative of order m of digamma, at x")
zeta = _binary(transcendental.zeta_p, "The Hurwitz zeta function of s and q")
erf = _unary(transcendental.erf_p, "The error function")
erfc = _unary(transcendental.erfc_p, "1 - erf(x), exact for large x")
erf_inv = _unary(transcendental.erf_inv_p, "The inverse of erf")
lgamma = _unary(transcendental.lgamma_p, "log |gamma(x)|")
digamma = _unary(transcendental.digamma_p, "The derivative of lgamma")

add = _binary(arithmetic.add_p, "x + y")
sub = _binary(arithmetic.sub_p, "x - y")
mul = _binary(arithmetic.mul_p, "x * y")
div = _binary(arithmetic.div_p, "x / y; for integers, rounded towards zero")
rem = _binary(arithmetic.rem_p, "The remainder of x / y, with the sign of x")
max = _binary(arithmetic.max_p, "The greater of x and y; NaN if either is")
min = _binary(arithmetic.min_p, "The lesser of x and y; NaN if either is")
pow = _binary(arithmetic.pow_p, "x ** y")
atan2 = _binary(transcendental.atan2_p, "The angle of the point (y, x), in radians")
nextafter = _binary(arithmetic.nextafter_p, "The float next to x on the way to y")
complex = _binary(conversion.complex_p, "x + iy")
bitwise_and = _binary(logic.and_p, "x and y, bit by bit")
bitwise_or = _binary(logic.or_p, "x or y, bit by bit")
bitwise_xor = _binary(logic.xor_p, "x exclusive-or y, bit by bit")
shift_left = _binary(logic.shift_left_p, "x moved left by y bits")
shift_right_arithmetic = _binary(
    logic.shift_right_arithmetic_p, "x moved right by y bits, filled with its sign"
)
shift_right_logical = _binary(
    logic.shift_right_logical_p, "x moved right by y bits, filled with zeros"
)
eq = _binary(logic.eq_p, "x == y")
ne = _binary(logic.ne_p, "x != y")
lt = _binary(logic.lt_p, "x < y")
le = _binary(logic.le_p, "x <= y")
gt = _binary(logic.gt_p, "x > y")
ge = _binary(logic.ge_p, "x >= y")


def conj(x: ArrayLike) -> Array:
    """Return the complex conjugate; a float32 or float64 x becomes complex.

    >>> conj(array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) != "c":
        x = complex(x, convert(0.0, aval.dtype, aval.weak_type))
    return conversion.conj_p.bind(x)


def square(x: ArrayLike) -> Array:
    """x * x, element by element.

    >>> square(array([2, 3]))
    Array([4, 9], dtype=int32)
    """
    return arithmetic.integer_pow_p.bind(x, y=2)


def reciprocal(x: ArrayLike) -> Array:
    """1 / x of floats or complex numbers, element by element; raises DTypeError for others.

    >>> reciprocal(array([2.0, 4.0]))
    Array([0.5 , 0.25], dtype=float32)
    """
    check_kinds("reciprocal", "fc", get_aval(x))
    return arithmetic.integer_pow_p.bind(x, y=-1)


def integer_pow(x: ArrayLike, y: int) -> Array:
    """x ** y for a Python int y, element by element.

    Raises DTypeError for an integer x and a negative y.

    >>> integer_pow(array([2, 3]), 3)
    Array([ 8, 27], dtype=int32)
    """
    if y < 0 and dtypes.kind(get_aval(x).dtype) in "iu":
        raise DTypeError(f"an integer array cannot be raised to the negative power {y}")
    check_kinds("integer_pow", "uifc", get_aval(x))
    return x if y == 1 and isinstance(x, Array) else arithmetic.integer_pow_p.bind(x, y=y)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Return the nearest integer, element by element; `rounding_method` selects that of halves.

    >>> round(array([0.5, 1.5, 2.4]))
    Array([1., 2., 2.], dtype=float32)
    """
    return arithmetic.round_p.bind(x, rounding_method=int(rounding_method))


def reduce_precision(x: ArrayLike, exponent_bits: int, mantissa_bits: int) -> Array:
    """Return x rounded to a float of `exponent_bits` and `mantissa_bits`, in the dtype of x.

    Raises ArgumentError if `exponent_bits` is less than 1 or `mantissa_bits` less than 0.

    >>> reduce_precision(array([1.0, 3.1415927]), 8, 7)
    Array([1.      , 3.140625], dtype=float32)
    """
    if exponent_bits < 1 or mantissa_bits < 0:
        raise ArgumentError(
            f"reduce_precision needs at least 1 exponent bit and 0 mantissa bits, and got "
            f"{exponent_bits} and {mantissa_bits}"
        )
    return conversion.reduce_precision_p.bind(
        x, exponent_bits=int(exponent_bits), mantissa_bits=int(mantissa_bits)
    )


def convert_element_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """`operand` as `new_dtype` (complex to real drops the imaginary part).

    >>> convert_element_type(array([1.5, -1.5]), "int32")
    Array([ 1, -1], dtype=int32)
    """
    python: dict[Any, str] = {bool: "b", int: "i", float: "f"}
    if new_dtype in python:
        dtype, weak = dtypes.default_dtype(python[new_dtype]), new_dtype is not bool
    else:
        dtype, weak = dtypes.canonicalize(new_dtype), False
    return convert_array(operand, dtype, weak)


def bitcast_convert_type(operand: ArrayLike, new_dtype: DTypeLike) -> Array:
    """Return the bits of `operand` as `new_dtype`; another width adds or removes the last axis.

    >>> bitcast_convert_type(array([1.0, -1.0]), "int32")
    Array([ 1065353216, -1082130432], dtype=int32)
    """
    return conversion.bitcast_convert_type_p.bind(operand, new_dtype=dtypes.canonicalize(new_dtype))


def clamp(min: ArrayLike, x: ArrayLike, max: ArrayLike) -> Array:
    """x, not below `min` and not above `max`; the bounds are scalars or have x's shape.

    >>> clamp(0, array([-1, 1, 5]), 3)
    Array([0, 1, 3], dtype=int32)
    """
    return selection.clamp_p.bind(min, x, max)


@structural(1, 2)
def select(pred: ArrayLike, on_true: ArrayOrKeys, on_false: ArrayOrKeys) -> Array:
    """`on_true` where `pred`, else `on_false`; `pred` is a scalar or has their shape.

    >>> select(array([True, False]), array([1, 2]), array([3, 4]))
    Array([1, 4], dtype=int32)
    """
    return selection.select_n_p.bind(pred, on_false, on_true)


def select_n(which: ArrayLike, *cases: ArrayLike) -> Array:
    """`cases[which]`, element by element; `which` is bool (two cases) or int32.

    >>> select_n(array([0, 2, 1]), array([1, 1, 1]), array([2, 2, 2]), array([3, 3, 3]))
    Array([1, 3, 2], dtype=int32)
    """
    return selection.select_n_p.bind(which, *cases)
