"""`olympus.scipy.stats.cauchy`: the Cauchy distribution.

The formulas are those of SciPy's `scipy.stats.cauchy`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log, log1p
from olympus_core.library.numpy.elementwise.trigonometric import arctan, tan
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("cauchy.logpdf")
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return -(log(np.pi * scale) + log1p(y * y))


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the Cauchy distribution at `x`.

    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]))
    Array([-1.1447299, -1.837877 ], dtype=float32)
    """
    return _logpdf(x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the Cauchy distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]))
    Array([0.3183099 , 0.15915495], dtype=float32)
    """
    return exp(_logpdf(x, loc, scale))


@of_floats("cauchy.cdf")
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return 0.5 + arctan((x - loc) / scale) / np.pi


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.0, 1.0]))
    Array([0.5 , 0.75], dtype=float32)
    """
    return _cdf(x, loc, scale)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([0.0, 1.0]))
    Array([-0.6931472, -0.2876821], dtype=float32)
    """
    return log(cdf(x, loc, scale))


@of_floats("cauchy.sf")
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    return _cdf(-x, -loc, scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([0.0, 1.0]))
    Array([0.5       , 0.25000003], dtype=float32)
    """
    return _sf(x, loc, scale)


@of_floats("cauchy.logsf")
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    return log(_cdf(-x, -loc, scale))


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([0.0, 1.0]))
    Array([-0.6931472, -1.3862942], dtype=float32)
    """
    return _logsf(x, loc, scale)


@of_floats("cauchy.isf")
def _isf(q: Any, loc: Any, scale: Any) -> Any:
    return tan(np.pi / 2 - np.pi * q) * scale + loc


def isf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `sf` is `q`; the arguments are those of `logpdf`.

    >>> isf(array([0.25, 0.75]))
    Array([ 1., -1.], dtype=float32)
    """
    return _isf(q, loc, scale)


@of_floats("cauchy.ppf")
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return tan(np.pi * q - np.pi / 2) * scale + loc


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `q`, its quantile; the arguments are those of `logpdf`.

    >>> ppf(array([0.25, 0.75]))
    Array([-1.,  1.], dtype=float32)
    """
    return _ppf(q, loc, scale)
