"""The normal distribution: its quantiles, and the functions of `olympus.scipy.stats.norm`.

The quantile of p <= 1/2 is computed from the approximation 26.2.23 of Abramowitz and Stegun,
"Handbook of Mathematical Functions" (1964), by Newton's method on the logarithm of the
distribution function, and so is as exact in the tail as in the middle.
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

_LOG_SQRT_2PI = 0.5 * math.log(2 * math.pi)


def _log_density(x: Array) -> Array:
    return -0.5 * x * x - _LOG_SQRT_2PI


def _quantile_value(p: Any) -> Any:
    inside = (p > 0) & (p < 1)
    tail = where(inside, minimum(p, 1 - p), 0.5)
    logs = log(tail)
    t = sqrt(-2 * logs)
    x = -t + (2.515517 + t * (0.802853 + t * 0.010328)) / (
        1 + t * (1.432788 + t * (0.189269 + t * 0.001308))
    )
    for _ in range(3):
        value = log_ndtr(x, 10)
        x = x - (value - logs) * exp(value - _log_density(x))
    edge = where(p == 0, -np.inf, where(p == 1, np.inf, np.nan))
    return where(inside, where(p > 0.5, -x, x), edge)


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
