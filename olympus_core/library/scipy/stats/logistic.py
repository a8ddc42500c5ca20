"""`olympus.scipy.stats.logistic`: the logistic distribution.

The formulas are those of SciPy's `scipy.stats.logistic`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log, logaddexp
from olympus_core.library.scipy.special.gamma import expit, logit
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("logistic.logpdf")
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale / 2
    return -2 * logaddexp(y, -y) - log(scale)


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the logistic distribution at `x`.

    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]))
    Array([-1.3862944, -1.6265234], dtype=float32)
    """
    return _logpdf(x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the logistic distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]))
    Array([0.25      , 0.19661194], dtype=float32)
    """
    return exp(_logpdf(x, loc, scale))


@of_floats("logistic.ppf")
def _ppf(x: Any, loc: Any, scale: Any) -> Any:
    return logit(x) * scale + loc


def ppf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `x`, its quantile; the arguments are those of `logpdf`.

    >>> ppf(array([0.25, 0.75]))
    Array([-1.0986123,  1.0986123], dtype=float32)
    """
    return _ppf(x, loc, scale)


@of_floats("logistic.sf")
def _sf(x: Any, loc: Any, scale: Any) -> Any:
    return expit(-(x - loc) / scale)


def sf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value above `x`, 1 - `cdf`; the arguments are those of `logpdf`.

    >>> sf(array([0.0, 1.0]))
    Array([0.5       , 0.26894143], dtype=float32)
    """
    return _sf(x, loc, scale)


@of_floats("logistic.isf")
def _isf(x: Any, loc: Any, scale: Any) -> Any:
    return -logit(x) * scale + loc


def isf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `sf` is `x`; the arguments are those of `logpdf`.

    >>> isf(array([0.25, 0.75]))
    Array([ 1.0986123, -1.0986123], dtype=float32)
    """
    return _isf(x, loc, scale)


@of_floats("logistic.cdf")
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    return expit((x - loc) / scale)


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.0, 1.0]))
    Array([0.5      , 0.7310586], dtype=float32)
    """
    return _cdf(x, loc, scale)
