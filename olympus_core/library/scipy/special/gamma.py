"""The gamma, error and normal functions and related ones; integers become floats."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import ArgumentError, DTypeError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import binary, inexact, unary
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise import bessel
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import maximum, minimum
from olympus_core.library.numpy.elementwise.exponential import exp, expm1, log, log1p
from olympus_core.library.numpy.elementwise.floating_point import signbit
from olympus_core.library.numpy.elementwise.logic import isfinite, isnan
from olympus_core.library.numpy.elementwise.rounding import floor
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.operands import scalar_beside
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.library.scipy.special.integrals import real_erfcx
from olympus_core.primitives.elementwise.transcendental import (
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    lgamma_p,
    logistic_p,
)

_gammaln = inexact("gammaln", "log |gamma(x)|.", lgamma_p, "f")
_digamma = inexact("digamma", "The derivative of `gammaln`.", digamma_p, "f")
_erf = inexact("erf", "The error function.", erf_p, "f")
_erfc = inexact("erfc", "1 - erf(x).", erfc_p, "f")
_erfinv = inexact("erfinv", "The inverse of `erf`.", erf_inv_p, "f")
_expit = inexact("expit", "The logistic function.", logistic_p, "fc")


def gammaln(x: ArrayLike) -> Array:
    """Return the logarithm of the magnitude of the gamma function.

    Raises DTypeError for complex values.

    >>> gammaln(array([1.0, 3.0])).round(4)
    Array([0.    , 0.6931], dtype=float32)
    """
    return _gammaln(x)


def digamma(x: ArrayLike) -> Array:
    """Return the derivative of `gammaln`; raise DTypeError for complex values.

    >>> digamma(array([1.0, 2.0]))
    Array([-0.5772154 ,  0.42278463], dtype=float32)
    """
    return _digamma(x)


def erf(x: ArrayLike) -> Array:
    """Return the error function, 2/sqrt(pi) times exp(-t^2) from 0 to x.

    Raises DTypeError for complex values.

    >>> erf(array([-10.0, 0.0, 10.0]))
    Array([-1.,  0.,  1.], dtype=float32)
    """
    return _erf(x)


def erfc(x: ArrayLike) -> Array:
    """1 - `erf(x)`, exact for large x.  Raises DTypeError for complex values.

    >>> erfc(array([-10.0, 0.0, 10.0]))
    Array([2., 1., 0.], dtype=float32)
    """
    return _erfc(x)


def erfinv(x: ArrayLike) -> Array:
    """Return the inverse of `erf`, on [-1, 1]; raise DTypeError for complex values.

    >>> erfinv(array([0.0, 0.5, 1.0]))
    Array([0.        , 0.47693628,        inf], dtype=float32)
    """
    return _erfinv(x)


def expit(x: ArrayLike) -> Array:
    """Return the logistic function, 1 / (1 + exp(-x)).

    >>> expit(array([-100.0, 0.0, 100.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return _expit(x)


def i0(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 0; raise DTypeError for complex values.

    >>> i0(array([0.0, 1.0]))
    Array([1.       , 1.2660658], dtype=float32)
    """
    return bessel.i0(x)


def i0e(x: ArrayLike) -> Array:
    """exp(-|x|) `i0(x)`.  Raises DTypeError for complex values.

    >>> i0e(array([0.0, 1.0]))
    Array([1.       , 0.4657596], dtype=float32)
    """
    return bessel.i0e(x)


def i1(x: ArrayLike) -> Array:
    """Return the modified Bessel function of order 1; raise DTypeError for complex values.

    >>> i1(array([0.0, 1.0]))
    Array([0.       , 0.5651591], dtype=float32)
    """
    return bessel.i1(x)


def i1e(x: ArrayLike) -> Array:
    """exp(-|x|) `i1(x)`.  Raises DTypeError for complex values.

    >>> i1e(array([0.0, 1.0]))
    Array([0.       , 0.2079104], dtype=float32)
    """
    return bessel.i1e(x)


@custom_jvp
@composite()
def _logit_of_inexact(x: Any) -> Any:
    """Near 1/2 the logarithms cancel, and 2 x - 1 is exact."""
    if get_aval(x).dtype.kind == "c":
        return log(x) - log1p(-x)
    is_near = (x > 0.4) & (x < 0.6)
    near = where(is_near, x, 0.5)
    far = log(x / (scalar_beside(x, 1) - x))
    return where(is_near, log1p((2 * near - 1) / (1 - near)), far)


@_logit_of_inexact.defjvp
def _logit_rule(primals: Any, tangents: Any) -> tuple[Any, Any]:
    (x,), (t,) = primals, tangents
    return _logit_of_inexact(x), t / (x * (1 - x))


_logit = unary("logit", "The inverse of `expit`.", {"fc": _logit_of_inexact}, promote_inexact)


def logit(x: ArrayLike) -> Array:
    """Return the inverse of `expit`, log(x / (1 - x)).

    >>> logit(array([0.0, 0.5, 1.0]))
    Array([-inf,   0.,  inf], dtype=float32)
    """
    return _logit(x)


@composite()
def _gammasgn_of_floats(x: Any) -> Any:
    low = floor(x)
    below = x < 0
    undefined = isnan(x) | (below & (x == low))
    negative = (below & (low % 2 != 0)) | ((x == 0) & signbit(x))
    return where(undefined, np.nan, where(negative, -1.0, 1.0)).astype(get_aval(x).dtype)


@composite()
def _gamma_of_floats(x: Any) -> Any:
    return _gammasgn_of_floats(x) * exp(gammaln(x))


@composite()
def _loggamma_of_complex(z: Any) -> Any:
    """Left of 1/2, reflection: gamma(z) gamma(1 - z) sin(pi z) = pi.

    In the upper half plane the logarithm of sin(pi z) = exp(-pi i z) (i / 2) (1 - exp(2 pi i z)) is
    continuous as the sum of logarithms of its factors; the lower half plane mirrors the upper one.
    NaN at the poles, at infinity and for NaN.
    """
    x, y = lax.real(z), lax.imag(z)
    is_undefined = ~isfinite(z) | ((y == 0) & (x <= 0) & (x == floor(x)))
    is_lower, y = y < 0, abs_(y)
    upper = where(is_undefined, 1, lax.complex(x, y))
    is_left = x < 0.5
    right = where(is_left, 1 - upper, upper)
    value = _lanczos(right)
    left = where(is_left & ~is_undefined, upper, 0.5)
    turn = 2j * math.pi * lax.complex(lax.real(left) - lax.round(lax.real(left)), lax.imag(left))
    sine = 1j * math.pi * (0.5 - left) - math.log(2) + log(-expm1(turn))
    value = where(is_left, math.log(math.pi) - sine - value, value)
    value = where(is_lower, lax.conj(value), value)
    return where(is_undefined, np.nan * (1 + 1j), value).astype(get_aval(z).dtype)


#: Lanczos's coefficients of the gamma function, for g = 7
_LANCZOS = (
    0.99999999999980993,
    676.5203681218851,
    -1259.1392167224028,
    771.32342877765313,
    -176.61502916214059,
    12.507343278686905,
    -0.13857109526572012,
    9.9843695780195716e-6,
    1.5056327351493116e-7,
)


def _lanczos(z: Any) -> Any:
    """Return log gamma for complex numbers with a real part from 1/2."""
    total: Any = _LANCZOS[0]
    for k, coefficient in enumerate(_LANCZOS[1:]):
        total = total + coefficient / (z + k)
    t = z + 6.5
    return math.log(2 * math.pi) / 2 + (z - 0.5) * log(t) - t + log(total)


@composite()
def _gamma_of_complex(z: Any) -> Any:
    return exp(_loggamma_of_complex(z))


@composite()
def _loggamma_of_floats(x: Any) -> Any:
    return where(x > 0, gammaln(x), np.nan)


_gammasgn = unary("gammasgn", "The sign of gamma.", {"f": _gammasgn_of_floats}, promote_inexact)
_gamma = unary(
    "gamma", "The gamma function.", {"f": _gamma_of_floats, "c": _gamma_of_complex}, promote_inexact
)
_loggamma = unary(
    "loggamma",
    "The logarithm of gamma.",
    {"f": _loggamma_of_floats, "c": _loggamma_of_complex},
    promote_inexact,
)


def gammasgn(x: ArrayLike) -> Array:
    """Return the sign of the gamma function; NaN at its poles below 0.

    Raises DTypeError for complex values.

    >>> gammasgn(array([2.5, -0.5, -1.5]))
    Array([ 1., -1.,  1.], dtype=float32)
    """
    return _gammasgn(x)


def gamma(x: ArrayLike) -> Array:
    """Return the gamma function, (x - 1)! for integers; a complex pole is NaN.

    >>> gamma(array([1.0, 2.0, 4.0])).round()
    Array([1., 1., 6.], dtype=float32)
    """
    return _gamma(x)


def loggamma(x: ArrayLike) -> Array:
    """Return the logarithm of `gamma`; NaN for real x <= 0.

    Of complex x it is continuous but across the negative real axis; a pole is NaN.

    >>> loggamma(array([1.0, 3.0])).round(4)
    Array([0.    , 0.6931], dtype=float32)
    """
    return _loggamma(x)


#: coefficients of 1 / x, 1 / x^3, ... in the remainder of Stirling's formula for log gamma(x)
_STIRLING = (
    1 / 12,
    -1 / 360,
    1 / 1260,
    -1 / 1680,
    1 / 1188,
    -691 / 360360,
    1 / 156,
    -3617 / 122400,
)
_LARGE = 8.0  # from here on the series is exact to rounding


def _stirling_rest(x: Any) -> Any:
    over, total = 1 / (x * x), 0.0
    for c in reversed(_STIRLING):
        total = total * over + c
    return total / x


def _log_of_ratio(a: Any, b: Any) -> Any:
    """log(gamma(b) / gamma(a + b)) for b and a + b >= 8: the large terms of both are subtracted."""
    total = a + b
    correction = _stirling_rest(b) - _stirling_rest(total)
    return correction - (total - 0.5) * log1p(a / b) - a * (log(b) - 1)


@composite()
def _betaln_of_floats(a: Any, b: Any) -> Any:
    a, b = minimum(a, b), maximum(a, b)
    large = (b >= _LARGE) & (a + b >= _LARGE) & (b < np.inf)
    ratio = _log_of_ratio(where(large, a, 1), where(large, b, _LARGE))
    return gammaln(a) + where(large, ratio, gammaln(b) - gammaln(a + b))


@composite()
def _beta_of_floats(a: Any, b: Any) -> Any:
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * exp(_betaln_of_floats(a, b))


@composite()
def _poch_of_floats(z: Any, m: Any) -> Any:
    return where(m == 0, 1.0, gamma(z + m) / gamma(z))


_betaln = binary("betaln", "log |beta(a, b)|.", {"f": _betaln_of_floats}, promote_inexact)
_beta = binary("beta", "The beta function.", {"f": _beta_of_floats}, promote_inexact)
_poch = binary("poch", "Pochhammer's symbol.", {"f": _poch_of_floats}, promote_inexact)


def betaln(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the logarithm of |`beta(a, b)`|; raise DTypeError for complex values.

    >>> betaln(array([1.0, 2.0]), array([1.0, 1.0])).round(4)
    Array([ 0.    , -0.6931], dtype=float32)
    """
    return _betaln(a, b)


def beta(a: ArrayLike, b: ArrayLike) -> Array:
    """Return the beta function, gamma(a) gamma(b) / gamma(a + b).

    Raises DTypeError for complex values.

    >>> beta(array([1.0, 1.0]), array([1.0, 2.0])).round(3)
    Array([1. , 0.5], dtype=float32)
    """
    return _beta(a, b)


def poch(z: ArrayLike, m: ArrayLike) -> Array:
    """Pochhammer's gamma(z + m) / gamma(z).  Raises DTypeError for complex values.

    >>> poch(array([1.0, 2.0]), 3.0).round()
    Array([ 6., 24.], dtype=float32)
    """
    return _poch(z, m)


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """n!, as gamma(n + 1); 0 for negative n.  Raises ArgumentError for `exact`.

    >>> factorial(array([0, 1, 3])).round()
    Array([1., 1., 6.], dtype=float32)
    """
    if exact:
        raise ArgumentError("factorial computes in floats, and takes no exact=True")
    return _factorial(n)


@composite()
def _factorial(n: Any) -> Array:
    check_arrays("factorial", n)
    (n,) = promote_inexact(n)
    return where(n < 0, 0, exp(gammaln(n + 1)))


@composite(static_argnames=("repetition",))
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """Return the number of ways to choose `k` of `N`, with `repetition` also repeatedly.

    >>> comb(5, array([1, 2])).round()
    Array([ 5., 10.], dtype=float32)
    """
    check_arrays("comb", N, k)
    n, m = promote_inexact(N, k)
    if repetition:
        return where((m == 0) & (n >= 0), 1.0, comb(n + m - 1, m))
    defined = (m <= n) & (n >= 0) & (m >= 0)
    n, m = where(defined, n, 0), where(defined, m, 0)
    return where(defined, exp(gammaln(n + 1) - gammaln(m + 1) - gammaln(n + 1 - m)), 0)


@composite(static_argnames=("d",))
def multigammaln(a: ArrayLike, d: int) -> Array:
    """Return the logarithm of the multivariate gamma function of dimension `d`.

    >>> multigammaln(array([2.0, 3.0]), 2).round(4)
    Array([0.4516, 1.5502], dtype=float32)
    """
    check_arrays("multigammaln", a)
    count = operator.index(d)
    a = asarray(promote_inexact(a)[0])
    halves = arange(count, dtype=get_aval(a).dtype) / 2
    constant = count * (count - 1) / 4 * math.log(math.pi)
    return sum_(gammaln(a[..., None] - halves), axis=-1) + constant


def _power_transform(logarithm: Any) -> Any:
    @composite()
    def transform(x: Any, power: Any) -> Any:
        scale, logs = where(power == 0, 1, power), logarithm(x)
        return where(power == 0, logs, expm1(scale * logs) / scale)

    return transform


_boxcox = binary(
    "boxcox", "The Box-Cox transformation.", {"fc": _power_transform(log)}, promote_inexact
)
_boxcox1p = binary(
    "boxcox1p",
    "The Box-Cox transformation of 1 + x.",
    {"fc": _power_transform(log1p)},
    promote_inexact,
)


def boxcox(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """(x^lmbda - 1) / lmbda, or log(x) where lmbda is 0.

    >>> boxcox(array([1.0, 3.0]), 2.0)
    Array([0., 4.], dtype=float32)
    """
    return _boxcox(x, lmbda)


def boxcox1p(x: ArrayLike, lmbda: ArrayLike) -> Array:
    """((1 + x)^lmbda - 1) / lmbda, or log(1 + x) where lmbda is 0.

    >>> boxcox1p(array([0.0, 2.0]), 2.0)
    Array([0., 4.], dtype=float32)
    """
    return _boxcox1p(x, lmbda)


@composite()
def _ndtr_of_floats(x: Any) -> Any:
    w = convert(x, get_aval(x).dtype) * math.sqrt(0.5)
    size = abs(w)
    tail = erfc(size)
    far = where(w > 0, 2 - tail, tail)
    return 0.5 * where(size < math.sqrt(0.5), 1 + erf(w), far)


_ndtr = unary("ndtr", "The normal distribution.", {"f": _ndtr_of_floats}, promote_inexact)


def ndtr(x: ArrayLike) -> Array:
    """Return the normal distribution function; raise DTypeError for integers and complex values.

    >>> ndtr(array([-40.0, 0.0, 40.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    x = asarray(x)
    if dtypes.kind(get_aval(x).dtype) != "f":
        raise DTypeError(
            f"x.dtype={dtypes.long_name(get_aval(x).dtype)} is not supported: ndtr takes floats"
        )
    return _ndtr(x)


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """Return the logarithm of the normal distribution function, exact in both tails.

    series_order: an int from 0 to 30, the number of terms of JAX's series of the lower tail, which
    is not used here.

    Raises ArgumentError for another order, DTypeError for dtypes but float32 and float64.

    >>> log_ndtr(array([0.0, 40.0]))
    Array([-0.6931472, -0.       ], dtype=float32)
    """
    if not isinstance(series_order, int) or not 0 <= series_order <= 30:
        raise ArgumentError(f"log_ndtr needs an order from 0 to 30, and got {series_order!r}")
    (x,) = promote_inexact(asarray(x))
    if dtypes.long_name(get_aval(x).dtype) not in ("float32", "float64"):
        raise DTypeError(f"log_ndtr takes float32 and float64, and got {get_aval(x).long_name()}")
    return _log_ndtr(convert(x, get_aval(x).dtype))


@composite()
def _log_ndtr(x: Any) -> Array:
    value: Array = _log_of_normal(x)
    return value


@custom_jvp
def _log_of_normal(x: Any) -> Any:
    """Up to 0 it is log(exp(-x^2 / 2) erfcx(-x / sqrt 2) / 2), and above log(1 - ndtr(-x))."""
    is_upper = x > 0
    low = where(is_upper, 0, x)
    lower = log(real_erfcx(low * -math.sqrt(0.5)) / 2) - 0.5 * low * low
    return where(is_upper, log1p(-ndtr(where(is_upper, -x, 0))), lower)


@_log_of_normal.defjvp
def _log_of_normal_jvp(primals: Any, tangents: Any) -> tuple[Any, Any]:
    """The density over ndtr, which are both multiples of exp(-x^2 / 2) below 0."""
    (x,), (t,) = primals, tangents
    out = _log_of_normal(x)
    is_upper = x > 0
    low, high = where(is_upper, 0, x), where(is_upper, x, 0)
    below = math.sqrt(2 / math.pi) / real_erfcx(low * -math.sqrt(0.5))
    density = -0.5 * high * high - 0.5 * math.log(2 * math.pi)
    return out, t * where(is_upper, exp(density - where(is_upper, out, 0)), below)
