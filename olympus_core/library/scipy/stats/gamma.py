"""`olympus.scipy.stats.gamma`: the gamma distribution.

The formulas are those of SciPy's `scipy.stats.gamma`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.entropy import xlogy
from olympus_core.library.scipy.special.gamma import gammaln
from olympus_core.library.scipy.special.incomplete import gammainc, gammaincc
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("gamma.logpdf")
def _logpdf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    inside = x >= loc
    y = where(inside, (x - loc) / scale, 1)
    value = xlogy(a - 1, y) - y - (gammaln(a) + log(scale))
    return where(inside, value, -np.inf)


def logpdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the gamma distribution at `x`.

    a: the shape parameter, which is positive.
    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([1.0, 4.0]), 2.0)
    Array([-1.       , -2.6137056], dtype=float32)
    """
    return _logpdf(x, a, loc, scale)


def pdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the gamma distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([1.0, 4.0]), 2.0)
    Array([0.36787945, 0.07326256], dtype=float32)
    """
    return exp(_logpdf(x, a, loc, scale))


@of_floats("gamma.cdf")
def _cdf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    return gammainc(a, clip((x - loc) / scale, 0, np.inf))


def cdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([1.0, 4.0]), 2.0)
    Array([0.26424116, 0.9084218 ], dtype=float32)
    """
    return _cdf(x, a, loc, scale)


def logcdf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([1.0, 4.0]), 2.0)
    Array([-1.3308932 , -0.09604646], dtype=float32)
    """
    return log(cdf(x, a, loc, scale))


@of_floats("gamma.sf")
def _sf(x: Any, a: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(y < 0, 1, gammaincc(a, y))


def sf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([1.0, 4.0]), 2.0)
    Array([0.73575884, 0.09157819], dtype=float32)
    """
    return _sf(x, a, loc, scale)


def logsf(x: ArrayLike, a: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([1.0, 4.0]), 2.0)
    Array([-0.30685288, -2.3905623 ], dtype=float32)
    """
    return log(sf(x, a, loc, scale))
