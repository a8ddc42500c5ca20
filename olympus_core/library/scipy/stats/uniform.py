"""`olympus.scipy.stats.uniform`: the uniform distribution.

The formulas are those of SciPy's `scipy.stats.uniform`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.fills import ones_like
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("uniform.logpdf")
def _logpdf(x: Any, loc: Any, scale: Any) -> Any:
    return where((x > loc + scale) | (x < loc), -np.inf, -log(scale))


def logpdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of the uniform distribution on [loc, loc + scale] at `x`.

    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.5, 2.0]))
    Array([ -0., -inf], dtype=float32)
    """
    return _logpdf(x, loc, scale)


def pdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of the uniform distribution on [loc, loc + scale] at `x`.

    The other arguments are those of `logpdf`.

    >>> pdf(array([0.5, 2.0]))
    Array([1., 0.], dtype=float32)
    """
    return exp(_logpdf(x, loc, scale))


@of_floats("uniform.cdf")
def _cdf(x: Any, loc: Any, scale: Any) -> Any:
    inside = (x >= loc) & (x <= loc + scale)
    value = where(inside, (x - loc) / scale, 0)
    return where(x > loc + scale, ones_like(x), value)


def cdf(x: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the probability of a value of at most `x`; the arguments are those of `logpdf`.

    >>> cdf(array([0.5, 2.0]))
    Array([0.5, 1. ], dtype=float32)
    """
    return _cdf(x, loc, scale)


@of_floats("uniform.ppf")
def _ppf(q: Any, loc: Any, scale: Any) -> Any:
    return where(isnan(q) | (q < 0) | (q > 1), np.nan, loc + scale * q)


def ppf(q: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the value whose `cdf` is `q`, its quantile; the arguments are those of `logpdf`.

    >>> ppf(array([0.25, 0.75]))
    Array([0.25, 0.75], dtype=float32)
    """
    return _ppf(q, loc, scale)
