"""`olympus.scipy.stats.truncnorm`: the normal distribution between two limits.

The logarithm of the probability between the limits is computed in the lower tail if both have one
sign, so that no digits cancel, as SciPy's `scipy.stats.truncnorm` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.fills import ones_like
from olympus_core.library.numpy.elementwise.exponential import exp, log1p
from olympus_core.library.numpy.manipulation.joining import stack
from olympus_core.library.numpy.manipulation.shapes import broadcast_arrays
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.gamma import log_ndtr, ndtr
from olympus_core.library.scipy.stats.formula import of_floats
from olympus_core.library.scipy.stats.normal import logpdf as normal_logpdf
from olympus_core.library.softmax import logsumexp


def _log_difference(x: Any, y: Any) -> Any:
    """Return log(exp(x) - exp(y))."""
    x, y = broadcast_arrays(x, y)
    return logsumexp(stack([x, y]), b=stack([ones_like(x), -ones_like(y)]), axis=0)


def _log_mass(a: Any, b: Any) -> Any:
    """Return the logarithm of the standard normal probability between `a` and `b`."""
    a, b = broadcast_arrays(a, b)
    right = a > 0
    in_tail = right | (b <= 0)
    low, high = where(right, -b, a), where(right, -a, b)
    tail = _log_difference(log_ndtr(high), log_ndtr(low))
    return where(in_tail, tail, log1p(-ndtr(a) - ndtr(-b)))


@of_floats("truncnorm.logpdf")
def _logpdf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    value = normal_logpdf(x, loc, scale) - _log_mass(a, b)
    value = where((y < a) | (y > b), -np.inf, value)
    return where(a >= b, np.nan, value)


def logpdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of the density of the truncated normal distribution at `x`.

    a, b: the limits, in units of `scale` from `loc`. The result is nan unless a < b.
    loc, scale: the mean and the standard deviation without the limits.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.5, 3.0]), -1.0, 2.0)
    Array([-0.8437722,       -inf], dtype=float32)
    """
    return _logpdf(x, a, b, loc, scale)


def pdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the density at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.5, 3.0]), -1.0, 2.0)
    Array([0.43008512, 0.        ], dtype=float32)
    """
    return exp(_logpdf(x, a, b, loc, scale))


def _log_below(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    """Return the logarithm of the probability of a value of at most `x`."""
    x, a, b = broadcast_arrays(x, a, b)
    y = (x - loc) / scale
    total = _log_mass(a, b)
    below, above = _log_mass(a, y) - total, _log_mass(y, b) - total
    value = where(below > -0.1, log1p(-exp(above)), where(y > a, below, 0))
    value = where(y >= b, 0, where(y <= a, -np.inf, value))
    return where(a >= b, np.nan, value)


_logcdf = of_floats("truncnorm.logcdf")(_log_below)


def logcdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `cdf`; the arguments are those of `logpdf`.

    >>> logcdf(array([0.5, 3.0]), -1.0, 2.0)
    Array([-0.42942935,  0.        ], dtype=float32)
    """
    return _logcdf(x, a, b, loc, scale)


def cdf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.5, 3.0]), -1.0, 2.0)
    Array([0.6508804, 1.       ], dtype=float32)
    """
    return exp(_logcdf(x, a, b, loc, scale))


@of_floats("truncnorm.logsf")
def _logsf(x: Any, a: Any, b: Any, loc: Any, scale: Any) -> Any:
    return _log_below(-x, -b, -a, -loc, scale)


def logsf(
    x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1
) -> Array:
    """Return the logarithm of `sf`; the arguments are those of `logpdf`.

    >>> logsf(array([0.5, 3.0]), -1.0, 2.0)
    Array([-1.0523407,       -inf], dtype=float32)
    """
    return _logsf(x, a, b, loc, scale)


def sf(x: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`; the arguments are those of `logpdf`.

    >>> sf(array([0.5, 3.0]), -1.0, 2.0)
    Array([0.3491196, 0.       ], dtype=float32)
    """
    return exp(_logsf(x, a, b, loc, scale))
