"""`olympus.scipy.stats.chi2`: the chi-squared distribution.

The formulas are those of SciPy's `scipy.stats.chi2`, with the parameters of its reference.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.gamma import gammaln
from olympus_core.library.scipy.special.incomplete import gammainc, gammaincc
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("chi2.logpdf")
def _logpdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    normalization = -(gammaln(df / 2) + math.log(2) * df / 2) - log(scale)
    return where(x < loc, -np.inf, normalization + (df / 2 - 1) * log(y) - y / 2)


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the chi-squared distribution at `x`.

    df: the degrees of freedom.
    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([1.0, 4.0]), 3.0)
    Array([-1.4189389, -2.2257917], dtype=float32)
    """
    return _logpdf(x, df, loc, scale)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the chi-squared distribution at `x`.

    The other arguments are those of `logpdf`.

    >>> pdf(array([1.0, 4.0]), 3.0)
    Array([0.24197064, 0.1079819 ], dtype=float32)
    """
    return exp(_logpdf(x, df, loc, scale))


@of_floats("chi2.cdf")
def _cdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    return gammainc(df / 2, clip((x - loc) / (2 * scale), 0, np.inf))


def cdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([1.0, 4.0]), 3.0)
    Array([0.19874795, 0.7385359 ], dtype=float32)
    """
    return _cdf(x, df, loc, scale)


def logcdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([1.0, 4.0]), 3.0)
    Array([-1.6157179, -0.3030856], dtype=float32)
    """
    return log(cdf(x, df, loc, scale))


@of_floats("chi2.sf")
def _sf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    return gammaincc(df / 2, clip((x - loc) / (2 * scale), 0, np.inf))


def sf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([1.0, 4.0]), 3.0)
    Array([0.80125207, 0.2614641 ], dtype=float32)
    """
    return _sf(x, df, loc, scale)


def logsf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([1.0, 4.0]), 3.0)
    Array([-0.22157969, -1.3414583 ], dtype=float32)
    """
    return log(sf(x, df, loc, scale))
