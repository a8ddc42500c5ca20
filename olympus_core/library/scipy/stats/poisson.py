"""`olympus.scipy.stats.poisson`: the Poisson distribution.

The formulas are those of SciPy's `scipy.stats.poisson`. The entropy is a sum over the values that
have a notable probability, and for a mean of at least 100 the first terms of its asymptotic series
(Evans and Boersma, "The Entropy of a Poisson Distribution", SIAM Review 30, 1988).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.creation.fills import zeros_like
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.exponential import exp, log, sqrt
from olympus_core.library.numpy.elementwise.rounding import ceil, floor
from olympus_core.library.numpy.elementwise.rounding import round as round_
from olympus_core.library.numpy.manipulation.shapes import broadcast_to, ravel, reshape
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import broadcast_shapes
from olympus_core.library.scipy.special.entropy import entr, xlogy
from olympus_core.library.scipy.special.gamma import gammaln
from olympus_core.library.scipy.special.incomplete import gammaincc
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("poisson.logpmf")
def _logpmf(k: Any, mu: Any, loc: Any) -> Any:
    y = k - loc
    return where((y < 0) | (round_(k) != k), -np.inf, xlogy(y, mu) - gammaln(y + 1) - mu)


def logpmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of `k` in the Poisson distribution.

    mu: the mean. loc: the location.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpmf(array([0, 1, 5]), 2.0)
    Array([-2.0000005, -1.3068528, -3.3217568], dtype=float32, weak_type=True)
    """
    return _logpmf(k, mu, loc)


def pmf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of `k`; the arguments are those of `logpmf`.

    >>> pmf(array([0, 1, 5]), 2.0)
    Array([0.13533522, 0.27067056, 0.03608937], dtype=float32, weak_type=True)
    """
    return exp(_logpmf(k, mu, loc))


@of_floats("poisson.cdf")
def _cdf(k: Any, mu: Any, loc: Any) -> Any:
    y = k - loc
    return where(y < 0, 0, gammaincc(floor(1 + y), mu))


def cdf(k: ArrayLike, mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of a value of at most `k`; the arguments are those of `logpmf`.

    >>> cdf(array([0, 1, 5]), 2.0)
    Array([0.13533522, 0.4060058 , 0.9834364 ], dtype=float32, weak_type=True)
    """
    return _cdf(k, mu, loc)


def _entropy_by_sum(mu: Any, terms: int, end: Any) -> Any:
    """Return the sum of -p log(p) over the values below `end`, at most `terms` of them."""
    k = arange(terms, dtype=mu.dtype)[:, None]
    probabilities = where(k < end[None, :], exp(_logpmf(k, mu[None, :], 0)), 0.0)
    return sum_(entr(probabilities), axis=0)


@of_floats("poisson.entropy")
def _entropy(mu: Any, loc: Any) -> Any:
    flat = ravel(mu)
    few = _entropy_by_sum(flat, 35, ceil(flat + 20))
    many = _entropy_by_sum(flat, 250, ceil(flat + 10 * sqrt(flat) + 20))
    series = 0.5 * log(2 * np.pi * np.e * flat) - 1 / (12 * flat)
    value = where(flat < 10, few, where(flat < 100, many, series))
    value = where(flat == 0, zeros_like(flat), value)
    return broadcast_to(reshape(value, mu.shape), broadcast_shapes(mu.shape, loc.shape))


def entropy(mu: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the entropy of the Poisson distribution, in nats.

    mu: the mean. loc: the location, which affects only the shape of the result.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> entropy(array([0.5, 20.0, 200.0]))
    Array([0.9276376, 2.912522 , 4.0676804], dtype=float32)
    """
    return _entropy(mu, loc)
