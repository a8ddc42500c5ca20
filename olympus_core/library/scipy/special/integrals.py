"""Error functions, exponential, sine and Fresnel integrals, the dilogarithm, and Owen's T.

Integrals without a closed form are Chebyshev series, whose variable maps an interval or a half line
to [-1, 1] (`chebyshev_tables`); the derivatives are closed forms.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.chebyshev import series
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import fori_loop
from olympus_core.library.lax.conversion import reduce_precision
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import maximum, minimum, sign
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.elementwise.trigonometric import cos, sin
from olympus_core.library.numpy.manipulation.shapes import broadcast_arrays
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.operands import scalar
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.library.scipy.special import chebyshev_tables as tables
from olympus_core.library.scipy.special import interval_tables as intervals

_HALF = frozenset({np.dtype("float16"), dtypes.bfloat16})
_F32 = np.dtype("float32")
_ROOT_PI = math.sqrt(math.pi)


def reals(name: str, function: Callable[..., Any], *xs: Any) -> Any:
    """Apply a function of floats to numbers; half floats are computed in float32.

    The results are not weakly typed.

    Raises ArgumentError for complex numbers.
    """
    check_arrays(name, *xs)
    operands = promote_inexact(*xs)
    dtype = get_aval(operands[0]).dtype
    if dtypes.kind(dtype) == "c":
        raise ArgumentError(f"{name} does not support complex-valued inputs, and got {dtype}")
    if dtype in _HALF:
        operands = [convert(x, _F32) for x in operands]
    result = function(*operands)
    if isinstance(result, tuple):
        return tuple([convert(x, dtype) for x in result])
    return convert(result, dtype)


def _with_slope(slope: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    """Give a function of one array its derivative, `slope(x, value)`."""

    def wrap(function: Callable[[Any], Any]) -> Any:
        wrapped = custom_jvp(composite()(function))

        @wrapped.defjvp
        def rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
            (x,), (t,) = primals, tangents
            value = wrapped(x)
            slopes = slope(x, value)
            if isinstance(value, tuple):
                return value, tuple([s * t for s in slopes])
            return value, slopes * t

        return functools.wraps(function)(lambda x: wrapped(x))

    return wrap


@_with_slope(lambda x, value: 2 * x * value - 2 / _ROOT_PI)
def real_erfcx(x: Any) -> Any:
    """Return `erfcx` of floats.  The series is that of (1 + 2x) erfcx(x).

    M. Shepherd and J. Laframboise, "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x", 1981.
    """
    y = abs_(x)
    far = minimum(y, 1e30)
    value = series(tables.ERFCX, (far - 3.75) / (far + 3.75)) / (1 + 2 * far)
    value = where(y > 1e30, 0, value)
    return where(x < 0, 2 * exp(x * x) - value, value)


#: the coefficients of polynomials in intervals, by degree and then by interval
Rows = Sequence[Sequence[float]]


def _of_interval(values: Sequence[float], bounds: Sequence[Any], x: Any) -> Any:
    """Return the value of the interval of each element; `bounds[i]` is True beyond interval i."""
    dtype = get_aval(x).dtype
    chosen = scalar(values[0], dtype)
    for value, is_beyond in zip(values[1:], bounds, strict=True):
        chosen = where(is_beyond, scalar(value, dtype), chosen)
    return chosen


def _polynomial(rows: Rows, x: Any, bounds: Sequence[Any]) -> Any:
    """Return a polynomial with coefficients of intervals, by Horner's rule."""
    value = _of_interval(rows[-1], bounds, x)
    for row in rows[-2::-1]:
        value = value * x + _of_interval(row, bounds, x)
    return value


@_with_slope(lambda x, value: 1 - 2 * x * value)
def _dawsn(x: Any) -> Any:
    """Below 4 polynomials in four intervals; above, a series in 1 / x**2."""
    y = abs_(x)
    is_long = get_aval(x).dtype.itemsize >= 8
    rows: Rows = intervals.DAWSON_LONG if is_long else intervals.DAWSON_SHORT
    bounds = [y >= 1, y >= 2, y >= 3]
    offset = where(bounds[0], y, y * y) - _of_interval(intervals.DAWSON_CENTRES, bounds, y)
    low = where(bounds[0], sign(x), x) * _polynomial(rows, offset, bounds)
    far = maximum(y, 4)
    high = sign(x) * series(tables.DAWSON_HIGH, 2 * (4 / far) ** 2 - 1) / (2 * far)
    return where(y <= 4, low, high)


def dawsn(x: ArrayLike) -> Array:
    """Return Dawson's integral, exp(-x**2) times the integral of exp(t**2) from 0 to x.

    Raises ArgumentError for complex numbers.

    >>> dawsn(asarray([0.0, 1.0]))
    Array([0.        , 0.53807950], dtype=float32)
    """
    result: Array = reals("dawsn", _dawsn, x)
    return result


def _power_sum(x: Any, count: int) -> Any:
    """Return the sum of x**k / (k * k!) for k from 1 to `count`."""
    total: Any = 0.0
    for k in range(count, 0, -1):
        total = (total + 1 / (k * float(math.factorial(k)))) * x
    return total


@_with_slope(lambda x, value: -exp(-x) / x)
def _exp1(x: Any) -> Any:
    near = minimum(x, 1)
    low = -np.euler_gamma - log(near) - _power_sum(-near, 20)
    far = maximum(x, 1)
    y = minimum(far - 1, 1e30)
    high = exp(-far) / far * series(tables.E1, (y - 4) / (y + 4))
    value = where(x <= 1, low, high)
    return where(x < 0, np.nan, where(x == np.inf, 0, value))


def exp1(x: ArrayLike) -> Array:
    """Return the exponential integral E1, the integral of exp(-t) / t from x to infinity; x >= 0.

    Raises ArgumentError for complex numbers.

    >>> exp1(asarray([0.0, 1.0]))
    Array([       inf, 0.21938393], dtype=float32)
    """
    result: Array = reals("exp1", _exp1, x)
    return result


@_with_slope(lambda x, value: exp(x) / x)
def _expi(x: Any) -> Any:
    near = minimum(maximum(x, 1e-300 if get_aval(x).dtype.itemsize >= 8 else 1e-37), 12)
    low = np.euler_gamma + log(near) + _power_sum(near, 55)
    far = maximum(x, 12)
    high = exp(far) / far * series(tables.EI, 2 * (12 / far) - 1)
    high = where(x == np.inf, np.inf, high)
    positive = where(x == 0, -np.inf, where(x <= 12, low, high))
    return where(x < 0, -_exp1(where(x < 0, -x, 1)), where(x != x, np.nan, positive))


def expi(x: ArrayLike) -> Array:
    """Return the exponential integral Ei, the principal value of that of exp(t) / t up to x.

    Raises ArgumentError for complex numbers.

    >>> expi(asarray([-1.0, 1.0]))
    Array([-0.21938393,  1.8951179 ], dtype=float32)
    """
    result: Array = reals("expi", _expi, x)
    return result


@_with_slope(lambda x, value: where(x == 1, -1, log(x) / (1 - where(x == 1, 0, x))))
def _spence(x: Any) -> Any:
    """The dilogarithm of 1 - x in powers of u = -log(x), after it is moved to 1/2 <= x <= 2.

    The coefficients are Bernoulli numbers over factorials; L. Lewin, Polylogarithms, 1981, 1.5.
    """
    is_large = x > 2
    y = where(is_large, 1 / where(is_large, x, 1), x)
    is_small = y < 0.5
    z = where(is_small, 1 - y, y)
    u = -log(z)
    square = u * u
    total: Any = 0.0
    for k in range(11, 0, -1):
        total = (total + _bernoulli(2 * k) / float(math.factorial(2 * k + 1))) * square
    value = u * (1 + total) - square / 4
    safe = where((y > 0) & is_small, y, 0.25)
    reflected = math.pi**2 / 6 - log(safe) * log(1 - safe) - value
    value = where(is_small, where(y == 0, math.pi**2 / 6, reflected), value)
    log_x = log(where(is_large, x, 1))
    value = where(is_large, -0.5 * log_x * log_x - value, value)
    return where(x < 0, np.nan, value)


def spence(x: ArrayLike) -> Array:
    """Return Spence's function, the integral of log(t) / (1 - t) from 1 to x; x >= 0.

    Raises ArgumentError for complex numbers.

    >>> spence(asarray([0.0, 1.0, 3.0]))
    Array([ 1.6449341, -0.       , -1.4367464], dtype=float32)
    """
    result: Array = reals("spence", _spence, asarray(x))
    return result


@functools.cache
def _bernoulli(n: int) -> float:
    return float(_bernoulli_fractions(n)[n])


def _bernoulli_fractions(n: int) -> list[Any]:
    """Return the Bernoulli numbers up to n, exactly, by the recurrence of binomial sums."""
    from fractions import Fraction  # imported here because only these numbers need it

    numbers = [Fraction(1)]
    for m in range(1, n + 1):
        total = sum((math.comb(m + 1, k) * b for k, b in enumerate(numbers)), Fraction(0))
        numbers.append(-total / (m + 1))
    return numbers


def _sine_integral_slopes(x: Any, value: Any) -> tuple[Any, Any]:
    safe = where(x == 0, 1, x)
    return where(x == 0, 1, sin(x) / safe), cos(x) / x


@_with_slope(_sine_integral_slopes)
def _sici(x: Any) -> tuple[Any, Any]:
    """Below 4 series of the integrals; above, of the auxiliary functions (DLMF 6.2.17, 6.2.18)."""
    y = abs_(x)
    near, far = minimum(y, 4), minimum(maximum(y, 4), 1e15)
    t = near * near / 8 - 1
    low_si = near * series(tables.SI, t)
    low_ci = np.euler_gamma + log(near) - near * near * series(tables.CIN, t)
    u = 2 * (4 / far) ** 2 - 1
    f, g = series(tables.SICI_F, u) / far, series(tables.SICI_G, u) / (far * far)
    s, c = sin(far), cos(far)
    high_si, high_ci = math.pi / 2 - f * c - g * s, f * s - g * c
    si = sign(x) * where(y <= 4, low_si, where(y == np.inf, math.pi / 2, high_si))
    ci = where(y <= 4, low_ci, where(y == np.inf, 0, high_ci))
    return where(x == 0, x, si), ci


def sici(x: ArrayLike) -> tuple[Array, Array]:
    """Return the sine integral Si of x and the cosine integral Ci of abs(x).

    Raises ArgumentError for complex numbers.

    >>> sici(asarray([1.0]))
    (Array([0.9460831], dtype=float32), Array([0.33740392], dtype=float32))
    """
    pair: tuple[Array, Array] = reals("sici", _sici, x)
    return pair


def _fresnel_phase(x: Any) -> Any:
    """Return pi x**2 / 2 modulo 2 pi, of magnitude 2 pi at most.

    The square modulo 4 is that of the parts of x, whose products are exact: `high` has half of the
    digits.
    """
    info = dtypes.finfo(get_aval(x).dtype)
    high = reduce_precision(x, int(info.nexp), int(info.nmant) // 2)
    low = x - high
    four = convert(4, get_aval(x).dtype)
    parts = lax.rem(high * high, four) + lax.rem(2 * high * low, four) + low * low
    return math.pi / 2 * lax.rem(parts, four)


@_with_slope(lambda x, value: (sin(_fresnel_phase(x)), cos(_fresnel_phase(x))))
def _fresnel(x: Any) -> tuple[Any, Any]:
    """Below 1.75 polynomials in intervals; above, the auxiliary functions (DLMF 7.5.3, 7.5.4)."""
    y = abs_(x)
    near, far = minimum(y, 1.75), minimum(maximum(y, 1.75), 1e15)
    square = near * near
    fourth = square * square
    bounds = [fourth >= 1.5, fourth >= 5]
    offset = fourth - _of_interval(intervals.FRESNEL_CENTRES, bounds, y)
    is_long = get_aval(x).dtype.itemsize >= 8
    rows_s: Rows = intervals.FRESNEL_S_LONG if is_long else intervals.FRESNEL_S_SHORT
    rows_c: Rows = intervals.FRESNEL_C_LONG if is_long else intervals.FRESNEL_C_SHORT
    low_s = near * square * _polynomial(rows_s, offset, bounds)
    low_c = near * _polynomial(rows_c, offset, bounds)
    u = 2 * (1.75 / far) ** 2 - 1
    f = series(tables.FRESNEL_F, u) / (math.pi * far)
    g = series(tables.FRESNEL_G, u) / (math.pi**2 * far**3)
    phase = _fresnel_phase(far)
    s, c = sin(phase), cos(phase)
    high_s, high_c = 0.5 - f * c - g * s, 0.5 + f * s - g * c
    is_far = y > 1.75
    signs = sign(x)
    return (
        signs * where(y >= 1e15, 0.5, where(is_far, high_s, low_s)),
        signs * where(y >= 1e15, 0.5, where(is_far, high_c, low_c)),
    )


def fresnel(x: ArrayLike) -> tuple[Array, Array]:
    """Return the Fresnel integrals S and C, those of sin and cos of pi t**2 / 2 from 0 to x.

    Raises ArgumentError for complex numbers.

    >>> fresnel(asarray([1.0]))
    (Array([0.43825915], dtype=float32), Array([0.7798934], dtype=float32))
    """
    pair: tuple[Array, Array] = reals("fresnel", _fresnel, x)
    return pair


def bernoulli(n: int) -> Array:
    """Return the Bernoulli numbers B_0 to B_n, with B_1 = -1/2.

    Raises ArgumentError for a negative n.

    >>> bernoulli(4)
    Array([ 1.        , -0.5       ,  0.16666667,  0.        , -0.03333333], dtype=float32)
    """
    count = operator.index(n)
    if count < 0:
        raise ArgumentError(f"bernoulli needs n >= 0, and got {count}")
    values = [_rounded(b) for b in _bernoulli_fractions(count)]
    with np.errstate(over="ignore"):
        return asarray(np.array(values).astype(dtypes.default_dtype("f")))


def _rounded(b: Any) -> float:
    try:
        return float(b)
    except OverflowError:
        return math.inf if b > 0 else -math.inf


#: the terms of the continued fraction, of which the error at x = 1 is exp(-4 sqrt(terms))
_FRACTIONS = 100


@custom_jvp
def _expn(n: Any, x: Any) -> Any:
    """A series below 1 (DLMF 8.19.8), and a continued fraction above (DLMF 8.19.17)."""
    near, far = where((x > 0) & (x <= 1), x, 0.5), maximum(x, 1)
    order = where(n >= 1, n, 1)
    total: Any = 0.0
    for k in range(24, -1, -1):
        difference = k - order + 1
        part = where(difference == 0, 0, 1 / where(difference == 0, 1, difference))
        total = total + part * (-near) ** k / float(math.factorial(k))
    power = exp((order - 1) * log(near) - lax.lgamma(order))
    odd = where(order - 2 * lax.floor(order / 2) == 1, 1, -1)  # (-1)^(n - 1)
    low = odd * power * (lax.digamma(order) - log(near)) - total

    def step(i: Any, t: Any) -> Any:
        k = convert(_FRACTIONS - i, get_aval(far).dtype)
        return k * (order + k - 1) / (far + order + 2 * k - t)

    t = fori_loop(0, _FRACTIONS, step, zeros_like(far))
    high = exp(-far) / (far + order - t)
    value = where(x <= 1, low, high)
    value = where(n == 0, exp(-x) / x, value)
    at_zero = where(n > 1, 1 / where(n > 1, n - 1, 1), np.inf)
    value = where(x == 0, at_zero, value)
    return where((x < 0) | (n < 0), np.nan, where(x == np.inf, 0, value))


@_expn.defjvp
def _expn_rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (n, x), (_, t) = primals, tangents
    return _expn(n, x), -_expn(n - 1, x) * t


def expn(n: ArrayLike, x: ArrayLike) -> Array:
    """Return the exponential integral E_n(x), of exp(-x t) / t**n from 1 to infinity.

    n: whole numbers >= 0, for which there is no derivative.  x: numbers >= 0.

    Raises ArgumentError for complex numbers.

    >>> expn(2, asarray([0.0, 1.0]))
    Array([1.        , 0.14849551], dtype=float32)
    """
    result: Array = reals("expn", _aligned, asarray(n), asarray(x))
    return result


@composite()
def _aligned(n: Any, x: Any) -> Any:
    n, x = broadcast_arrays(n, x)
    return _expn(n, x)
