"""Functions of the gamma, error and normal functions' families; integers become floats."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_core import dtypes
from olympus_core.avals import get_aval
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.errors import ArgumentError, DTypeError
from olympus_core.library.composite import composite
from olympus_core.library.elementwise import Rows, binary, by_name, inexact, unary
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise import bessel
from olympus_core.library.numpy.elementwise.arithmetic import maximum, minimum
from olympus_core.library.numpy.elementwise.exponential import exp, expm1, log, log1p
from olympus_core.library.numpy.elementwise.floating_point import signbit
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.elementwise.rounding import floor
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.library.typing import ArrayLike
from olympus_core.primitives.elementwise.base import Elementwise
from olympus_core.primitives.elementwise.transcendental import (
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    lgamma_p,
    logistic_p,
    polygamma_p,
    zeta_p,
)
from olympus_core.tracer import Array

if TYPE_CHECKING:
    from olympus_core.library.signatures import OfAB, OfX, OfXLmbda, OfXQ, OfZM

__all__ = [
    "beta",
    "betaln",
    "boxcox",
    "boxcox1p",
    "comb",
    "digamma",
    "erf",
    "erfc",
    "erfinv",
    "expit",
    "factorial",
    "gamma",
    "gammaln",
    "gammasgn",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log_ndtr",
    "loggamma",
    "logit",
    "multigammaln",
    "ndtr",
    "poch",
    "polygamma",
    "zeta",
]


def _inexact(name: str, summary: str, primitive: Elementwise, kinds: str) -> OfX:
    return by_name(inexact(name, summary, primitive, kinds), "x")


def _unary(name: str, summary: str, rows: Rows) -> OfX:
    return by_name(unary(name, summary, rows, promote_inexact), "x")


def _binary(name: str, summary: str, rows: Rows, *names: str) -> Callable[..., Array]:
    return by_name(binary(name, summary, rows, promote_inexact), *names)


i0, i0e, i1, i1e = (by_name(f, "x") for f in (bessel.i0, bessel.i0e, bessel.i1, bessel.i1e))
gammaln = _inexact(
    "gammaln", "The logarithm of the magnitude of the gamma function.", lgamma_p, "f"
)
digamma = _inexact("digamma", "The derivative of `gammaln`.", digamma_p, "f")
erf = _inexact("erf", "The error function, 2/sqrt(pi) times exp(-t^2) from 0 to x.", erf_p, "f")
erfc = _inexact("erfc", "1 - erf(x), exact for large x.", erfc_p, "f")
erfinv = _inexact("erfinv", "The inverse of `erf`, on [-1, 1].", erf_inv_p, "f")
expit = _inexact("expit", "The logistic function, 1 / (1 + exp(-x)).", logistic_p, "fc")


@composite()
def _logit(x: Any) -> Any:
    return log(x) - log1p(-x)


logit = _unary("logit", "The inverse of `expit`, log(x / (1 - x)).", {"fc": _logit})


@composite()
def _gammasgn(x: Any) -> Any:
    low = floor(x)
    below = x < 0
    undefined = isnan(x) | (below & (x == low))
    negative = (below & (low % 2 != 0)) | ((x == 0) & signbit(x))
    return where(undefined, np.nan, where(negative, -1.0, 1.0)).astype(get_aval(x).dtype)


@composite()
def _gamma(x: Any) -> Any:
    return _gammasgn(x) * exp(gammaln(x))


@composite()
def _loggamma(x: Any) -> Any:
    return where(x > 0, gammaln(x), np.nan)


gammasgn = _unary("gammasgn", "The sign of the gamma function.", {"f": _gammasgn})
gamma = _unary("gamma", "The gamma function, (x - 1)! for integers.", {"f": _gamma})
loggamma = _unary("loggamma", "The logarithm of `gamma`; NaN for x <= 0.", {"f": _loggamma})


#: of 1 / x, 1 / x^3, ... in what Stirling's formula for log gamma(x) leaves out
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
    both = a + b
    rest = _stirling_rest(b) - _stirling_rest(both)
    return rest - (both - 0.5) * log1p(a / b) - a * (log(b) - 1)


@composite()
def _betaln(a: Any, b: Any) -> Any:
    a, b = minimum(a, b), maximum(a, b)
    large = (b >= _LARGE) & (a + b >= _LARGE) & (b < np.inf)
    ratio = _log_of_ratio(where(large, a, 1), where(large, b, _LARGE))
    return gammaln(a) + where(large, ratio, gammaln(b) - gammaln(a + b))


@composite()
def _beta(a: Any, b: Any) -> Any:
    return gammasgn(a) * gammasgn(b) * gammasgn(a + b) * exp(_betaln(a, b))


@composite()
def _poch(z: Any, m: Any) -> Any:
    return where(m == 0, 1.0, gamma(z + m) / gamma(z))


betaln: OfAB = _binary("betaln", "The logarithm of |beta(a, b)|.", {"f": _betaln}, "a", "b")
beta: OfAB = _binary(
    "beta", "The beta function, gamma(a) gamma(b) / gamma(a + b).", {"f": _beta}, "a", "b"
)
poch: OfZM = _binary("poch", "Pochhammer's gamma(z + m) / gamma(z).", {"f": _poch}, "z", "m")
zeta: OfXQ = _binary(
    "zeta", "Hurwitz's sum of 1 / (k + q)^x over k >= 0.", {"f": zeta_p.bind}, "x", "q"
)


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """The derivative of order `n` + 1, an integer or an array of them, of `gammaln`.

    Raises DTypeError for an order that is not an integer.
    """
    check_arrays("polygamma", n, x)
    if dtypes.kind(get_aval(n).dtype) not in "iu":
        raise DTypeError(f"polygamma needs an integer order, and got {get_aval(n).long_name()}")
    return _polygamma(n, x)


_polygamma = binary(
    "polygamma", "The polygamma function.", {"f": polygamma_p.bind}, promote_inexact
)


def factorial(n: ArrayLike, exact: bool = False) -> Array:
    """n!, as gamma(n + 1); 0 for negative n.  Raises ArgumentError if `exact` is asked for."""
    if exact:
        raise ArgumentError("factorial computes in floats: exact=True is for Python's integers")
    return _factorial(n)


@composite()
def _factorial(n: Any) -> Array:
    check_arrays("factorial", n)
    (n,) = promote_inexact(n)
    return where(n < 0, 0, exp(gammaln(n + 1)))


@composite(static_argnames=("repetition",))
def comb(N: ArrayLike, k: ArrayLike, *, repetition: bool = False) -> Array:
    """How many ways there are to choose `k` of `N`; with `repetition`, each any number of times."""
    check_arrays("comb", N, k)
    n, m = promote_inexact(N, k)
    if repetition:
        return where((m == 0) & (n >= 0), 1.0, comb(n + m - 1, m))
    defined = (m <= n) & (n >= 0) & (m >= 0)
    n, m = where(defined, n, 0), where(defined, m, 0)
    return where(defined, exp(gammaln(n + 1) - gammaln(m + 1) - gammaln(n + 1 - m)), 0)


@composite(static_argnames=("d",))
def multigammaln(a: ArrayLike, d: int) -> Array:
    """The logarithm of the multivariate gamma function of dimension `d`."""
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


boxcox: OfXLmbda = _binary(
    "boxcox",
    "(x^lmbda - 1) / lmbda, or log(x) where lmbda is 0.",
    {"fc": _power_transform(log)},
    *("x", "lmbda"),
)
boxcox1p: OfXLmbda = _binary(
    "boxcox1p",
    "((1 + x)^lmbda - 1) / lmbda, or log(1 + x) where lmbda is 0.",
    {"fc": _power_transform(log1p)},
    *("x", "lmbda"),
)


@composite()
def _ndtr(x: Any) -> Any:
    w = convert(x, get_aval(x).dtype) * math.sqrt(0.5)
    size = abs(w)
    tail = erfc(size)
    far = where(w > 0, 2 - tail, tail)
    return 0.5 * where(size < math.sqrt(0.5), 1 + erf(w), far)


ndtr = _unary("ndtr", "The normal distribution function.", {"f": _ndtr})

#: where the lower tail's series, and the upper tail's -ndtr(-x), are exact to rounding
_SEGMENTS = {"float32": (-10.0, 5.0), "float64": (-20.0, 8.0)}


def log_ndtr(x: ArrayLike, series_order: int = 3) -> Array:
    """The logarithm of the normal distribution function, exact in both tails.

    series_order: how many terms, to 30, the series of the lower tail has.

    Raises ArgumentError for another order, DTypeError for dtypes but float32 and float64.
    """
    if not isinstance(series_order, int) or not 0 <= series_order <= 30:
        raise ArgumentError(f"log_ndtr needs an order from 0 to 30, and got {series_order!r}")
    check_arrays("log_ndtr", x)
    (x,) = promote_inexact(x)
    if dtypes.long_name(get_aval(x).dtype) not in _SEGMENTS:
        raise DTypeError(f"log_ndtr takes float32 and float64, and got {get_aval(x).long_name()}")
    return _log_ndtr(convert(x, get_aval(x).dtype), series_order=series_order)


@composite(static_argnames=("series_order",))
def _log_ndtr(x: Any, *, series_order: int) -> Array:
    value: Array = _log_of_normal(x, series_order)
    return value


def _tail_series(x: Any, order: int) -> Any:
    """log ndtr(x) far below 0: the density over -x, times 1 - 1/x^2 + 3/x^4 - 15/x^6 + ..."""
    over, term, total = 1 / (x * x), 1.0, 1.0
    for n in range(1, order + 1):
        term = term * over * -(2 * n - 1)
        total = total + term
    return -0.5 * x * x - log(-x) - 0.5 * math.log(2 * math.pi) + log(total)


def _log_of_normal_value(x: Any, order: int) -> Array:
    low, high = _SEGMENTS[dtypes.long_name(get_aval(x).dtype)]
    upper, lower = x > high, x <= low
    near = ndtr(where(upper, -x, where(lower, low, x)))
    far = _tail_series(where(lower, x, low), order)
    return where(upper, -near, where(lower, far, log(near)))


_log_of_normal = custom_jvp(_log_of_normal_value, nondiff_argnums=(1,))


@_log_of_normal.defjvp
def _log_of_normal_jvp(
    order: int, primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[Any, Any]:
    """d log ndtr = density / ndtr dx, with both as logarithms."""
    (x,), (t,) = primals, tangents
    out = _log_of_normal(x, order)
    density = -0.5 * x * x - 0.5 * math.log(2 * math.pi)
    return out, t * exp(density - out)
