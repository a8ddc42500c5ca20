"""`olympus.scipy.stats.gumbel_l`: the Gumbel distribution of the least value.

The formulas are those of SciPy's `scipy.stats.gumbel_l`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, expm1, log, log1p
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("gumbel_l.logpdf")
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(scale > 0, y - exp(y) - log(scale), np.nan)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the left-skewed Gumbel distribution at `x`.

    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]))
    Array([-1.       , -1.7182817], dtype=float32)
    """
    return _logpdf(x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the left-skewed Gumbel distribution at `x`.

    The other arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]))
    Array([0.36787945, 0.1793741 ], dtype=float32)
    """
    return exp(_logpdf(x, loc, scale))


@of_floats("gumbel_l.logcdf")
def _logcdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(scale > 0, log(-expm1(-exp(y))), np.nan)


def logcdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([0.0, 1.0]))
    Array([-0.45867515, -0.06826606], dtype=float32)
    """
    return _logcdf(x, loc, scale)


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.0, 1.0]))
    Array([0.63212055, 0.93401194], dtype=float32)
    """
    return exp(_logcdf(x, loc, scale))


@of_floats("gumbel_l.ppf")
def _ppf(p: Any, loc: Any, scale: Any) -> Any:
    return where((p > 0) & (p < 1), loc + scale * log(-log1p(-p)), np.nan)


def ppf(p: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `p`, its quantile; the arguments are those of `logpdf`.

    >>> ppf(array([0.25, 0.75]))
    Array([-1.2458994 ,  0.32663426], dtype=float32)
    """
    return _ppf(p, loc, scale)


@of_floats("gumbel_l.logsf")
def _logsf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    return where(scale > 0, -exp(y), np.nan)


def logsf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([0.0, 1.0]))
    Array([-1.       , -2.7182817], dtype=float32)
    """
    return _logsf(x, loc, scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([0.0, 1.0]))
    Array([0.36787945, 0.06598804], dtype=float32)
    """
    return exp(_logsf(x, loc, scale))
