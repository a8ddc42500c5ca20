"""The normal distribution: its quantiles, and the functions of `olympus.scipy.stats.norm`.

The quantiles are those of algorithm AS 241, rational approximations in three ranges: M. Wichura,
"The percentage points of the normal distribution", Applied Statistics 37 (1988).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.elementwise.arithmetic import divide, minimum, subtract
from olympus_core.library.numpy.elementwise.exponential import exp, log, sqrt
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import check_arrays, convert, promote_inexact
from olympus_core.library.scipy.special.gamma import log_ndtr, ndtr

#: the numerator and the denominator of each range of AS 241, from the coefficient of degree 0
_MIDDLE = (
    (
        3.3871328727963666080,
        133.14166789178437745,
        1971.5909503065514427,
        13731.693765509461125,
        45921.953931549871457,
        67265.770927008700853,
        33430.575583588128105,
        2509.0809287301226727,
    ),
    (
        1.0,
        42.313330701600911252,
        687.18700749205790830,
        5394.1960214247511077,
        21213.794301586595867,
        39307.895800092710610,
        28729.085735721942674,
        5226.4952788528545610,
    ),
)
#: the slope of the quantile at 1/2; the middle range is more exact as a sum that begins with it
_SLOPE = math.sqrt(2 * math.pi)
_MIDDLE_EXCESS = (
    tuple(a - _SLOPE * b for a, b in zip(*_MIDDLE, strict=True)),
    _MIDDLE[1],
)
_TAIL = (
    (
        1.42343711074968357734,
        4.63033784615654529590,
        5.76949722146069140550,
        3.64784832476320460504,
        1.27045825245236838258,
        0.241780725177450611770,
        0.0227238449892691845833,
        7.74545014278341407640e-4,
    ),
    (
        1.0,
        2.05319162663775882187,
        1.67638483018380384940,
        0.689767334985100004550,
        0.148103976427480074590,
        0.0151986665636164571966,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ),
)
_FAR_TAIL = (
    (
        6.65790464350110377720,
        5.46378491116411436990,
        1.78482653991729133580,
        0.296560571828504891230,
        0.0265321895265761230930,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ),
    (
        1.0,
        0.599832206555887937690,
        0.136929880922735805310,
        0.0148753612908506148525,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ),
)
_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def _log_density(x: Array) -> Array:
    return -0.5 * x * x - _LOG_SQRT_2PI


def _quantile_value(p: Any) -> Any:
    inside = (p > 0) & (p < 1)
    offset = where(inside, p, 0.5) - 0.5
    is_middle = (offset >= -0.425) & (offset <= 0.425)
    excess = _ratio(_MIDDLE_EXCESS, 0.180625 - offset * offset)
    middle = _SLOPE * offset + excess * offset
    root = sqrt(-log(where(is_middle, 0.05, where(inside, minimum(p, 1 - p), 0.05))))
    tail = where(root <= 5, _ratio(_TAIL, root - 1.6), _ratio(_FAR_TAIL, root - 5))
    edge = where(p == 0, -np.inf, where(p == 1, np.inf, np.nan))
    return where(inside, where(is_middle, middle, where(offset < 0, -tail, tail)), edge)


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    """Return a rational function, by Horner's rule."""
    values = []
    for polynomial in coefficients:
        value: Any = polynomial[-1]
        for c in polynomial[-2::-1]:
            value = value * x + c
        values.append(value)
    return values[0] / values[1]


_quantile = custom_jvp(_quantile_value)


@_quantile.defjvp
def _quantile_rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    x = _quantile(*primals)
    return x, tangents[0] * exp(-_log_density(x))


@composite()
def ndtri(p: ArrayLike) -> Array:
    """Return the quantile of the standard normal distribution: the x whose `ndtr` is `p`.

    It is infinite for 0 and 1, and nan outside of [0, 1].  Raises DTypeError for dtypes other than
    float32 and float64.

    >>> ndtri(0.975)
    Array(1.959964, dtype=float32)
    """
    check_arrays("ndtri", p)
    (p,) = promote_inexact(p)
    aval = get_aval(p)
    if dtypes.long_name(aval.dtype) not in ("float32", "float64"):
        raise DTypeError(f"ndtri takes float32 and float64, and got {aval.long_name()}")
    value: Array = _quantile(convert(p, aval.dtype))
    return value


def _standardized(name: str, x: Any, loc: Any, scale: Any) -> tuple[Any, Any]:
    """(x - loc) / scale, and the scale, as floats."""
    check_arrays(f"norm.{name}", x, loc, scale)
    x, loc, scale = promote_inexact(x, loc, scale)
    # not x - loc / scale: Python would raise ZeroDivisionError of its scalars
    return divide(subtract(x, loc), scale), scale


@composite()
def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the normal distribution at `x`.

    loc, scale: the mean and the standard deviation, of shapes that broadcast with `x`.

    Raises DTypeError for complex arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(0.0)
    Array(-0.9189385, dtype=float32, weak_type=True)
    """
    z, scale = _standardized("logpdf", x, loc, scale)
    return _log_density(z) - log(scale)


@composite()
def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the normal distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.0, 100.0]))
    Array([0.3989423, 0.       ], dtype=float32)
    """
    return exp(logpdf(x, loc, scale))


@composite()
def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([-40.0, 0.0, 40.0]))
    Array([0. , 0.5, 1. ], dtype=float32)
    """
    return ndtr(_standardized("cdf", x, loc, scale)[0])


@composite()
def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`, exact in both tails; the arguments are those of `logpdf`.

    >>> logcdf(array([0.0, 40.0]))
    Array([-0.6931472, -0.       ], dtype=float32)
    """
    return log_ndtr(_standardized("logcdf", x, loc, scale)[0])


@composite()
def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`, exact where it is small.

    >>> sf(array([-40.0, 0.0, 40.0]))
    Array([1. , 0.5, 0. ], dtype=float32)
    """
    return ndtr(-_standardized("sf", x, loc, scale)[0])


@composite()
def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`, exact in both tails; the arguments are those of `logpdf`.

    >>> logsf(array([-40.0, 0.0]))
    Array([-0.       , -0.6931472], dtype=float32)
    """
    return log_ndtr(-_standardized("logsf", x, loc, scale)[0])


@composite()
def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `q`; the other arguments are those of `logpdf`.

    >>> ppf(0.5, 3.0)
    Array(3., dtype=float32)
    """
    check_arrays("norm.ppf", q, loc, scale)
    q, loc, scale = promote_inexact(q, loc, scale)
    return ndtri(q) * scale + loc


@composite()
def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `sf` is `q`; the other arguments are those of `logpdf`.

    >>> isf(array([0.0, 0.5, 1.0]))
    Array([ inf,   0., -inf], dtype=float32)
    """
    check_arrays("norm.isf", q, loc, scale)
    q, loc, scale = promote_inexact(q, loc, scale)
    return subtract(loc, ndtri(q) * scale)
