"""`olympus.scipy.stats.beta`: the beta distribution.

The formulas are those of SciPy's `scipy.stats.beta`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.arithmetic import clip
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.entropy import xlog1py, xlogy
from olympus_core.library.scipy.special.gamma import betaln
from olympus_core.library.scipy.special.incomplete import betainc
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("beta.logpdf")
def _logpdf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    value = xlogy(a - 1, y) + xlog1py(b - 1, -y) - betaln(a, b) - log(scale)
    value = where((x > loc + scale) | (x < loc), -np.inf, value)
    return where((a <= 0) | (b <= 0) | (scale <= 0), np.nan, value)


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the density of the beta distribution at `x`.

    a, b: the two shape parameters, which are positive.
    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.25, 0.5]), 2.0, 3.0)
    Array([0.5232489 , 0.40546584], dtype=float32)
    """
    return _logpdf(x, a, b, loc, scale)


def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the density of the beta distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.25, 0.5]), 2.0, 3.0)
    Array([1.6875013, 1.5000011], dtype=float32)
    """
    return exp(_logpdf(x, a, b, loc, scale))


@of_floats("beta.cdf")
def _cdf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return betainc(a, b, clip((x - loc) / scale, 0, 1))


def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.25, 0.5]), 2.0, 3.0)
    Array([0.26171893, 0.68749976], dtype=float32)
    """
    return _cdf(x, a, b, loc, scale)


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([0.25, 0.5]), 2.0, 3.0)
    Array([-1.3404841, -0.3746938], dtype=float32)
    """
    return log(cdf(x, a, b, loc, scale))


@of_floats("beta.sf")
def _sf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return betainc(b, a, 1 - clip((x - loc) / scale, 0, 1))


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([0.25, 0.5]), 2.0, 3.0)
    Array([0.7382811 , 0.31250024], dtype=float32)
    """
    return _sf(x, a, b, loc, scale)


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([0.25, 0.5]), 2.0, 3.0)
    Array([-0.30343068, -1.1631501 ], dtype=float32)
    """
    return log(sf(x, a, b, loc, scale))
