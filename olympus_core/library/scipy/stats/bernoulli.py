"""`olympus.scipy.stats.bernoulli`: the Bernoulli distribution.

The formulas are those of SciPy's `scipy.stats.bernoulli`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.entropy import xlog1py, xlogy
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("bernoulli.logpmf")
def _logpmf(k: Any, p: Any, loc: Any) -> Any:
    y = k - loc
    return where((y < 0) | (y > 1), -np.inf, xlogy(y, p) + xlog1py(1 - y, -p))


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of `k` in the Bernoulli distribution.

    p: the probability of 1. loc: the location, added to the values 0 and 1.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpmf(array([0, 1, 2]), 0.25)
    Array([-0.28768206, -1.3862944 ,        -inf], dtype=float32, weak_type=True)
    """
    return _logpmf(k, p, loc)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of `k` in the Bernoulli distribution.

    The other arguments are those of `logpmf`.

    >>> pmf(array([0, 1, 2]), 0.25)
    Array([0.75, 0.25, 0.  ], dtype=float32, weak_type=True)
    """
    return exp(_logpmf(k, p, loc))


@of_floats("bernoulli.cdf")
def _cdf(k: Any, p: Any) -> Any:
    invalid = isnan(k) | isnan(p) | (p < 0) | (p > 1)
    value = where(k < 0, 0, where(k < 1, 1 - p, 1))
    return where(invalid, np.nan, value)


def cdf(k: ArrayLike, p: ArrayLike) -> Array:
    """Return the probability of a value of at most `k`; the arguments are those of `logpmf`.

    >>> cdf(array([0, 1, 2]), 0.25)
    Array([0.75, 1.  , 1.  ], dtype=float32, weak_type=True)
    """
    return _cdf(k, p)


@of_floats("bernoulli.ppf")
def _ppf(q: Any, p: Any) -> Any:
    invalid = isnan(q) | isnan(p) | (p < 0) | (p > 1) | (q < 0) | (q > 1)
    return where(invalid, np.nan, where(q <= 1 - p, 0.0, 1.0))


def ppf(q: ArrayLike, p: ArrayLike) -> Array:
    """Return the value whose `cdf` is `q`, its quantile; the arguments are those of `logpmf`.

    >>> ppf(array([0.5, 0.9]), 0.25)
    Array([0., 1.], dtype=float32, weak_type=True)
    """
    return _ppf(q, p)
