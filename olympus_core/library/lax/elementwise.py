"""The elementwise functions of `olympus.lax`: each is one primitive, with operands of one dtype.

Unlike the functions of the same names in `olympus.numpy`, they promote no dtypes and broadcast
only scalars.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.primitive import Primitive
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike, ArrayOrKeys, DTypeLike
from olympus_core.library.promotion import (
    check_arrays,
    convert,
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
from olympus_core.primitives.elementwise.base import Elementwise, check_kinds, rejected_dtype
from olympus_core.primitives.precision import checked_accuracy

if TYPE_CHECKING:
    from olympus_core.library.signatures import OfX, OfXAccuracy, OfXY
    from olympus_core.primitives.precision import Accuracy

_F = TypeVar("_F", bound=Callable[..., Any])


class RoundingMethod(enum.IntEnum):
    """The rounding of halves: away from zero, or to the even neighbour."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


def _unary(
    primitive: Elementwise, summary: str, call: str, printed: str, kinds: str = "buifc"
) -> OfX:
    """Return a function of one operand; `kinds` are the kinds of dtypes that it may have."""
    bind = primitive.bind

    def function(x: ArrayLike) -> Array:
        check_arrays(primitive.name, x)
        if kinds != "buifc":
            _check_first_kind(primitive.name, kinds, (x,))
        return bind(x)

    return _named(function, primitive, summary, call, printed)


def _with_accuracy(primitive: Elementwise, summary: str, call: str, printed: str) -> OfXAccuracy:
    bind = primitive.bind

    def function(x: ArrayLike, accuracy: Accuracy | None = None) -> Array:
        check_arrays(primitive.name, x)
        if accuracy is None:
            return bind(x)
        return bind(x, accuracy=checked_accuracy(primitive.name, accuracy))

    return _named(function, primitive, summary, call, printed)


def _binary(
    primitive: Elementwise, summary: str, call: str, printed: str, kinds: str = "buifc"
) -> OfXY:
    """Return a function of two operands; `kinds` are the kinds of dtypes that `x` may have.

    They are fewer than the primitive's, which `olympus.numpy` also uses.
    """
    bind = primitive.bind

    def function(x: ArrayLike, y: ArrayLike) -> Array:
        check_arrays(primitive.name, x, y)
        operands = _of_one_rank(primitive.name, x, y)
        if kinds != "buifc":
            _check_first_kind(primitive.name, kinds, operands)
        return bind(*operands)

    return _named(function, primitive, summary, call, printed)


def _of_two(primitive: Elementwise, x: ArrayLike, y: ArrayLike) -> Array:
    """Apply a primitive to two operands, whose function does not name them x and y."""
    check_arrays(primitive.name, x, y)
    result: Array = primitive.bind(*_of_one_rank(primitive.name, x, y))
    return result


def _check_first_kind(name: str, kinds: str, operands: Sequence[Any]) -> None:
    """Raise DTypeError unless the kind of the dtype of the first operand is in `kinds`."""
    avals = tuple(map(get_aval, operands))
    if dtypes.kind(avals[0].dtype) not in kinds:
        raise DTypeError(rejected_dtype(name, kinds, avals, 0))


def _of_one_rank(name: str, x: ArrayLike, y: ArrayLike) -> list[Any]:
    """Return the operands broadcast to one shape; raise ShapeError if their ranks differ.

    A scalar may have any operand beside it.
    """
    ranks = len(shape_of(x)), len(shape_of(y))
    if ranks[0] != ranks[1] and all(ranks):
        raise ShapeError(
            f"{name}: arrays must have the same number of dimensions, got {set(ranks)}",
            hint="add axes of size 1 with olympus.lax.expand_dims, or use olympus.numpy",
        )
    return promote_shapes(name, x, y)


def _named(function: _F, primitive: Primitive, summary: str, call: str, printed: str) -> _F:
    function.__name__ = function.__qualname__ = primitive.name
    function.__doc__ = f"""{summary}, element by element; raises DTypeError for a dtype it lacks.

    >>> {call}
    {printed}
    """
    return function


neg = _unary(arithmetic.neg_p, "-x", "neg(array([1, -2]))", "Array([-1,  2], dtype=int32)")
sign = _unary(
    arithmetic.sign_p,
    "-1, 0 or 1; for complex x, x / |x|",
    "sign(array([-2.5, 0.0, 3.0]))",
    "Array([-1.,  0.,  1.], dtype=float32)",
)
floor = _unary(
    arithmetic.floor_p,
    "The greatest integer not above x",
    "floor(array([1.7, -1.2]))",
    "Array([ 1., -2.], dtype=float32)",
)
ceil = _unary(
    arithmetic.ceil_p,
    "The least integer not below x",
    "ceil(array([1.7, -1.2]))",
    "Array([ 2., -1.], dtype=float32)",
)
is_finite = _unary(
    logic.is_finite_p,
    "Whether x is neither infinite nor NaN",
    "is_finite(array([1.0, nan, inf]))",
    "Array([ True, False, False], dtype=bool)",
)
exp = _with_accuracy(
    transcendental.exp_p,
    "e ** x",
    "exp(array([0.0, 1.0, 2.0]))",
    "Array([1.       , 2.7182817, 7.389056 ], dtype=float32)",
)
exp2 = _with_accuracy(
    transcendental.exp2_p,
    "2 ** x",
    "exp2(array([-1.0, 0.0, 3.0]))",
    "Array([0.5, 1. , 8. ], dtype=float32)",
)
expm1 = _with_accuracy(
    transcendental.expm1_p,
    "e ** x - 1, exact near 0",
    "expm1(array([1e-10, 1.0]))",
    "Array([1.0000000e-10, 1.7182817e+00], dtype=float32)",
)
log = _with_accuracy(
    transcendental.log_p,
    "The natural logarithm",
    "log(array([0.0, 1.0, 10.0]))",
    "Array([     -inf, 0.       , 2.3025851], dtype=float32)",
)
log1p = _with_accuracy(
    transcendental.log1p_p,
    "log(1 + x), exact near 0",
    "log1p(array([1e-10, 1.0]))",
    "Array([1.000000e-10, 6.931472e-01], dtype=float32)",
)
sin = _with_accuracy(
    transcendental.sin_p,
    "The sine of x radians",
    "sin(array([0.0, 1.0]))",
    "Array([0.        , 0.84147096], dtype=float32)",
)
cos = _with_accuracy(
    transcendental.cos_p,
    "The cosine of x radians",
    "cos(array([0.0, 1.0]))",
    "Array([1.       , 0.5403023], dtype=float32)",
)
tan = _with_accuracy(
    transcendental.tan_p,
    "The tangent of x radians",
    "tan(array([0.0, 1.0]))",
    "Array([0.       , 1.5574077], dtype=float32)",
)
asin = _unary(
    transcendental.asin_p,
    "The inverse sine, in radians",
    "asin(array([0.0, 1.0, 2.0]))",
    "Array([0.       , 1.5707964,       nan], dtype=float32)",
)
acos = _unary(
    transcendental.acos_p,
    "The inverse cosine, in radians",
    "acos(array([1.0, 0.0, -1.0]))",
    "Array([0.       , 1.5707964, 3.1415927], dtype=float32)",
)
atan = _unary(
    transcendental.atan_p,
    "The inverse tangent, in radians",
    "atan(array([0.0, 1.0, inf]))",
    "Array([0.       , 0.7853981, 1.5707964], dtype=float32)",
)
sinh = _unary(
    transcendental.sinh_p,
    "The hyperbolic sine",
    "sinh(array([0.0, 1.0]))",
    "Array([0.       , 1.1752012], dtype=float32)",
)
cosh = _unary(
    transcendental.cosh_p,
    "The hyperbolic cosine",
    "cosh(array([0.0, 1.0]))",
    "Array([1.       , 1.5430806], dtype=float32)",
)
tanh = _with_accuracy(
    transcendental.tanh_p,
    "The hyperbolic tangent",
    "tanh(array([0.0, 1.0, inf]))",
    "Array([0.       , 0.7615942, 1.       ], dtype=float32)",
)
asinh = _unary(
    transcendental.asinh_p,
    "The inverse hyperbolic sine",
    "asinh(array([0.0, 1.0]))",
    "Array([0.        , 0.88137364], dtype=float32)",
)
acosh = _unary(
    transcendental.acosh_p,
    "The inverse hyperbolic cosine",
    "acosh(array([1.0, 2.0, 0.0]))",
    "Array([0.      , 1.316958,      nan], dtype=float32)",
)
atanh = _unary(
    transcendental.atanh_p,
    "The inverse hyperbolic tangent",
    "atanh(array([0.0, 0.5, 1.0]))",
    "Array([0.        , 0.54930615,        inf], dtype=float32)",
)
logistic = _with_accuracy(
    transcendental.logistic_p,
    "1 / (1 + e ** -x)",
    "logistic(array([-inf, 0.0, 1.0]))",
    "Array([0.       , 0.5      , 0.7310586], dtype=float32)",
)
sqrt = _with_accuracy(
    arithmetic.sqrt_p,
    "The square root",
    "sqrt(array([4.0, 2.0, -1.0]))",
    "Array([2.       , 1.4142135,       nan], dtype=float32)",
)
rsqrt = _with_accuracy(
    arithmetic.rsqrt_p,
    "1 / sqrt(x)",
    "rsqrt(array([4.0, 0.25, 0.0]))",
    "Array([0.5, 2. , inf], dtype=float32)",
)
cbrt = _with_accuracy(
    arithmetic.cbrt_p,
    "The cube root",
    "cbrt(array([27.0, -8.0]))",
    "Array([ 3., -2.], dtype=float32)",
)
abs = _unary(
    arithmetic.abs_p,
    "The magnitude",
    "abs(array([-3, 2]))",
    "Array([3, 2], dtype=int32)",
    kinds="ifc",
)
bitwise_not = _unary(
    logic.not_p,
    "All bits flipped; for bool, not x",
    "bitwise_not(array([0, 5, -1]))",
    "Array([-1, -6,  0], dtype=int32)",
)
real = _unary(
    conversion.real_p,
    "The real part of complex x",
    "real(array([1 + 2j, 3j]))",
    "Array([1., 0.], dtype=float32)",
)
imag = _unary(
    conversion.imag_p,
    "The imaginary part of complex x",
    "imag(array([1 + 2j, 3j]))",
    "Array([2., 3.], dtype=float32)",
)
population_count = _unary(
    logic.population_count_p,
    "The number of bits set",
    "population_count(array([7, 8, -1]))",
    "Array([ 3,  1, 32], dtype=int32)",
)
clz = _unary(
    logic.clz_p,
    "The number of leading zero bits",
    "clz(array([1, 16, -1]))",
    "Array([31, 27,  0], dtype=int32)",
)


def polygamma(m: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order `m` of digamma, at `x`; raises DTypeError for a dtype it lacks.

    >>> polygamma(array([1.0, 2.0]), array([1.0, 1.0]))
    Array([ 1.644934 , -2.4041145], dtype=float32)
    """
    return _of_two(transcendental.polygamma_p, m, x)


def zeta(x: ArrayLike, q: ArrayLike) -> Array:
    """The Hurwitz zeta function of `x` and `q`; raises DTypeError for a dtype it lacks.

    >>> zeta(array([2.0, 2.0]), array([1.0, 2.0]))
    Array([1.644934  , 0.64493406], dtype=float32)
    """
    return _of_two(transcendental.zeta_p, x, q)


erf = _unary(
    transcendental.erf_p,
    "The error function",
    "erf(array([0.0, 1.0, inf]))",
    "Array([0.        , 0.84270084, 1.        ], dtype=float32)",
)
erfc = _unary(
    transcendental.erfc_p,
    "1 - erf(x), exact for large x",
    "erfc(array([0.0, 1.0, 5.0]))",
    "Array([1.0000000e+00, 1.5729924e-01, 1.5374597e-12], dtype=float32)",
)
erf_inv = _unary(
    transcendental.erf_inv_p,
    "The inverse of erf",
    "erf_inv(array([0.0, 0.5, 1.0]))",
    "Array([0.        , 0.47693628,        inf], dtype=float32)",
)
lgamma = _unary(
    transcendental.lgamma_p,
    "log |gamma(x)|",
    "lgamma(array([0.5, 3.0, 10.0]))",
    "Array([ 0.5723648,  0.6931474, 12.80183  ], dtype=float32)",
)
digamma = _unary(
    transcendental.digamma_p,
    "The derivative of lgamma",
    "digamma(array([0.5, 1.0]))",
    "Array([-1.96351  , -0.5772154], dtype=float32)",
)

add = _binary(
    arithmetic.add_p,
    "x + y",
    "add(array([1, 2]), array([10, 20]))",
    "Array([11, 22], dtype=int32)",
    "uifc",
)
sub = _binary(
    arithmetic.sub_p, "x - y", "sub(array([5, 3]), array([1, 4]))", "Array([ 4, -1], dtype=int32)"
)


def mul(x: ArrayLike, y: ArrayLike, *, out_dtype: DTypeLike | None = None) -> Array:
    """x * y, element by element; raises DTypeError for a dtype it lacks.

    out_dtype: convert the operands to this dtype first.

    >>> mul(array([1.5, 2.5]), 2.0)
    Array([3., 5.], dtype=float32)
    """
    check_arrays("mul", x, y)
    x, y = _of_one_rank("mul", x, y)
    _check_first_kind("mul", "uifc", (x, y))
    if out_dtype is not None:
        check_kinds("mul", "uifc", get_aval(x), get_aval(y))
        x, y = (convert(v, dtypes.dtype(out_dtype)) for v in (x, y))
    product: Array = arithmetic.mul_p.bind(x, y)
    return product


div = _binary(
    arithmetic.div_p,
    "x / y; for integers, rounded towards zero",
    "div(array([7, -7]), 2)",
    "Array([ 3, -3], dtype=int32)",
)
rem = _binary(
    arithmetic.rem_p,
    "The remainder of x / y, with the sign of x",
    "rem(array([7, -7]), 3)",
    "Array([ 1, -1], dtype=int32)",
)
max = _binary(
    arithmetic.max_p,
    "The greater of x and y; NaN if either is",
    "max(array([1.0, 3.0, nan]), 2.0)",
    "Array([ 2.,  3., nan], dtype=float32)",
)
min = _binary(
    arithmetic.min_p,
    "The lesser of x and y; NaN if either is",
    "min(array([1.0, 3.0, nan]), 2.0)",
    "Array([ 1.,  2., nan], dtype=float32)",
)
pow = _binary(
    arithmetic.pow_p,
    "x ** y",
    "pow(array([2.0, 3.0]), array([-1.0, 2.0]))",
    "Array([0.5, 9. ], dtype=float32)",
    "fc",
)
atan2 = _binary(
    transcendental.atan2_p,
    "The angle of the point (y, x), in radians",
    "atan2(array([1.0, 1.0, -1.0]), array([1.0, -1.0, -1.0]))",
    "Array([ 0.7853982,  2.3561945, -2.3561945], dtype=float32)",
)


def nextafter(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The float next to `x1` on the way to `x2`; raises DTypeError for a dtype it lacks.

    >>> nextafter(array([1.0, 1000.0]), 0.0)
    Array([  0.99999994, 999.99994   ], dtype=float32)
    """
    return _of_two(arithmetic.nextafter_p, x1, x2)


complex = _binary(
    conversion.complex_p,
    "x + iy",
    "complex(array([1.0, 0.0]), array([2.0, 3.0]))",
    "Array([1.+2.j, 0.+3.j], dtype=complex64)",
)
bitwise_and = _binary(
    logic.and_p,
    "x and y, bit by bit",
    "bitwise_and(array([0b1100, 0b0111]), 0b1010)",
    "Array([8, 2], dtype=int32)",
)
bitwise_or = _binary(
    logic.or_p,
    "x or y, bit by bit",
    "bitwise_or(array([0b1100, 0b0111]), 0b1010)",
    "Array([14, 15], dtype=int32)",
)
bitwise_xor = _binary(
    logic.xor_p,
    "x exclusive-or y, bit by bit",
    "bitwise_xor(array([0b1100, 0b0111]), 0b1010)",
    "Array([ 6, 13], dtype=int32)",
)
shift_left = _binary(
    logic.shift_left_p,
    "x moved left by y bits",
    "shift_left(array([1, 3]), array([4, 1]))",
    "Array([16,  6], dtype=int32)",
)
shift_right_arithmetic = _binary(
    logic.shift_right_arithmetic_p,
    "x moved right by y bits, filled with its sign",
    "shift_right_arithmetic(array([16, -16]), 2)",
    "Array([ 4, -4], dtype=int32)",
)
shift_right_logical = _binary(
    logic.shift_right_logical_p,
    "x moved right by y bits, filled with zeros",
    "shift_right_logical(array([16, -16]), 28)",
    "Array([ 0, 15], dtype=int32)",
)
eq = structural(0, 1, every=True)(
    _binary(
        logic.eq_p, "x == y", "eq(array([1, 2, 3]), 2)", "Array([False,  True, False], dtype=bool)"
    )
)
ne = structural(0, 1, some=True)(
    _binary(
        logic.ne_p, "x != y", "ne(array([1, 2, 3]), 2)", "Array([ True, False,  True], dtype=bool)"
    )
)
lt = _binary(
    logic.lt_p, "x < y", "lt(array([1, 2, 3]), 2)", "Array([ True, False, False], dtype=bool)"
)
le = _binary(
    logic.le_p, "x <= y", "le(array([1, 2, 3]), 2)", "Array([ True,  True, False], dtype=bool)"
)
gt = _binary(
    logic.gt_p, "x > y", "gt(array([1, 2, 3]), 2)", "Array([False, False,  True], dtype=bool)"
)
ge = _binary(
    logic.ge_p, "x >= y", "ge(array([1, 2, 3]), 2)", "Array([False,  True,  True], dtype=bool)"
)


def conj(x: ArrayLike) -> Array:
    """Return the complex conjugate; a float32 or float64 x becomes complex.

    >>> conj(array([1 + 2j]))
    Array([1.-2.j], dtype=complex64)
    """
    aval = get_aval(x)
    if dtypes.kind(aval.dtype) != "c":
        return complex(x, convert(0.0, aval.dtype, aval.weak_type))
    return conversion.conj_p.bind(x)


def square(x: ArrayLike) -> Array:
    """x * x, element by element.

    >>> square(array([2, 3]))
    Array([4, 9], dtype=int32)
    """
    return arithmetic.square_p.bind(x)


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
        raise DTypeError(
            f"Integers cannot be raised to negative powers, got integer_pow({get_aval(x)}, {y})"
        )
    check_kinds("integer_pow", "uifc", get_aval(x))
    return x if y == 1 and isinstance(x, Array) else arithmetic.integer_pow_p.bind(x, y=y)


def round(x: ArrayLike, rounding_method: RoundingMethod = RoundingMethod.AWAY_FROM_ZERO) -> Array:
    """Return the nearest integer, element by element; `rounding_method` selects that of halves.

    >>> round(array([0.5, 1.5, 2.4]))
    Array([1., 2., 2.], dtype=float32)
    """
    return arithmetic.round_p.bind(x, rounding_method=int(RoundingMethod(rounding_method)))


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


@structural(1, 2)
def select_n(which: ArrayLike, *cases: ArrayOrKeys) -> Array:
    """`cases[which]`, element by element; `which` is bool (two cases) or int32.

    >>> select_n(array([0, 2, 1]), array([1, 1, 1]), array([2, 2, 2]), array([3, 3, 3]))
    Array([1, 3, 2], dtype=int32)
    """
    if not cases:
        raise ShapeError("select_n() must have at least one case")
    return selection.select_n_p.bind(which, *cases)
