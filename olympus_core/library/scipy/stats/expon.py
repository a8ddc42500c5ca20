"""`olympus.scipy.stats.expon`: the exponential distribution.

The formulas are those of SciPy's `scipy.stats.expon`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.fills import zeros_like
from olympus_core.library.numpy.elementwise.exponential import exp, expm1, log, log1p
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("expon.logpdf")
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return where(x < loc, -np.inf, -((x - loc) / scale + log(scale)))


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the exponential distribution at `x`.

    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.5, 2.0]))
    Array([-0.5, -2. ], dtype=float32)
    """
    return _logpdf(x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the exponential distribution at `x`.

    The other arguments are those of `logpdf`.

    >>> pdf(array([0.5, 2.0]))
    Array([0.60653067, 0.13533528], dtype=float32)
    """
    return exp(_logpdf(x, loc, scale))


@of_floats("expon.cdf")
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (loc - x) / scale
    return where(x < loc, zeros_like(y), -expm1(y))


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.5, 2.0]))
    Array([0.39346933, 0.86466473], dtype=float32)
    """
    return _cdf(x, loc, scale)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([0.5, 2.0]))
    Array([-0.93275213, -0.14541346], dtype=float32)
    """
    return log1p(-sf(x, loc, scale))


@of_floats("expon.logsf")
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    y = (loc - x) / scale
    return where(x < loc, zeros_like(y), y)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([0.5, 2.0]))
    Array([-0.5, -2. ], dtype=float32)
    """
    return _logsf(x, loc, scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([0.5, 2.0]))
    Array([0.60653067, 0.13533528], dtype=float32)
    """
    return exp(_logsf(x, loc, scale))


@of_floats("expon.ppf")
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return where(isnan(q) | (q < 0) | (q > 1), np.nan, loc - scale * log1p(-q))


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `q`, its quantile; the arguments are those of `logpdf`.

    >>> ppf(array([0.25, 0.75]))
    Array([0.28768206, 1.3862944 ], dtype=float32)
    """
    return _ppf(q, loc, scale)
