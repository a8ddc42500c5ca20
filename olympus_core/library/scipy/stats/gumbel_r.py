"""`olympus.scipy.stats.gumbel_r`: the Gumbel distribution of the greatest value.

The formulas are those of SciPy's `scipy.stats.gumbel_r`, with the parameters of its reference.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, expm1, log, log1p
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("gumbel_r.logpdf")
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(scale > 0, -(y + exp(-y)) - log(scale), np.nan)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the right-skewed Gumbel distribution at `x`.

    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]))
    Array([-1.       , -1.3678794], dtype=float32)
    """
    return _logpdf(x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the right-skewed Gumbel distribution at `x`.

    The other arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]))
    Array([0.36787945, 0.2546464 ], dtype=float32)
    """
    return exp(_logpdf(x, loc, scale))


@of_floats("gumbel_r.logcdf")
def _logcdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(scale > 0, -exp(-y), np.nan)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([0.0, 1.0]))
    Array([-1.        , -0.36787945], dtype=float32)
    """
    return _logcdf(x, loc, scale)


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.0, 1.0]))
    Array([0.36787945, 0.6922006 ], dtype=float32)
    """
    return exp(_logcdf(x, loc, scale))


@of_floats("gumbel_r.ppf")
def _ppf(p: Any, loc: Any, scale: Any) -> Any:
    return where((p > 0) & (p < 1), loc - scale * log(-log(p)), np.nan)


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `p`, its quantile; the arguments are those of `logpdf`.

    >>> ppf(array([0.25, 0.75]))
    Array([-0.32663426,  1.2458993 ], dtype=float32)
    """
    return _ppf(p, loc, scale)


@of_floats("gumbel_r.sf")
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(scale > 0, 1 - exp(-exp(-y)), np.nan)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([0.0, 1.0]))
    Array([0.63212055, 0.3077994 ], dtype=float32)
    """
    return _sf(x, loc, scale)


@of_floats("gumbel_r.logsf")
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    rate = exp(-y)
    value = where(rate < math.log(2), log(-expm1(-rate)), log1p(-exp(-rate)))
    return where(scale > 0, value, np.nan)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([0.0, 1.0]))
    Array([-0.45867515, -1.178307  ], dtype=float32)
    """
    return _logsf(x, loc, scale)
