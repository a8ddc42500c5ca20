"""`olympus.scipy.stats.pareto`: the Pareto distribution.

The formulas are those of SciPy's `scipy.stats.pareto`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log, log1p
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("pareto.logpdf")
def _logpdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(x < loc + scale, -np.inf, -(log(scale / b) + (b + 1) * log(y)))


def logpdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the Pareto distribution at `x`.

    b: the shape parameter, which is positive.
    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([1.5, 3.0]), 2.0)
    Array([-0.5232481, -2.6026897], dtype=float32)
    """
    return _logpdf(x, b, loc, scale)


def pdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the Pareto distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([1.5, 3.0]), 2.0)
    Array([0.59259266, 0.07407407], dtype=float32)
    """
    return exp(_logpdf(x, b, loc, scale))


@of_floats("pareto.cdf")
def _cdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(x < loc + scale, 0, 1 - y**-b)


def cdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([1.5, 3.0]), 2.0)
    Array([0.5555556, 0.8888889], dtype=float32)
    """
    return _cdf(x, b, loc, scale)


@of_floats("pareto.logcdf")
def _logcdf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(x < loc + scale, -np.inf, log1p(-(y**-b)))


def logcdf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([1.5, 3.0]), 2.0)
    Array([-0.5877866 , -0.11778304], dtype=float32)
    """
    return _logcdf(x, b, loc, scale)


@of_floats("pareto.logsf")
def _logsf(x: Any, b: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(x < loc + scale, 0, -b * log(y))


def logsf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([1.5, 3.0]), 2.0)
    Array([-0.8109302, -2.1972246], dtype=float32)
    """
    return _logsf(x, b, loc, scale)


def sf(x: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([1.5, 3.0]), 2.0)
    Array([0.44444445, 0.1111111 ], dtype=float32)
    """
    return exp(_logsf(x, b, loc, scale))


@of_floats("pareto.ppf")
def _ppf(q: Any, b: Any, loc: Any, scale: Any) -> Any:
    value = loc + scale * (1 - q) ** (-1 / b)
    return where(isnan(q) | (q < 0) | (q > 1), np.nan, value)


def ppf(q: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `q`, its quantile; the arguments are those of `logpdf`.

    >>> ppf(array([0.25, 0.75]), 2.0)
    Array([1.1547005, 2.       ], dtype=float32)
    """
    return _ppf(q, b, loc, scale)
