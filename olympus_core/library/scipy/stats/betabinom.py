"""`olympus.scipy.stats.betabinom`: the beta-binomial distribution.

The formulas are those of SciPy's `scipy.stats.betabinom`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log1p
from olympus_core.library.numpy.elementwise.rounding import floor
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.gamma import betaln
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("betabinom.logpmf")
def _logpmf(k: Any, n: Any, a: Any, b: Any, loc: Any) -> Any:
    y = floor(k) - loc
    value = betaln(y + a, n - y + b) - betaln(a, b) - log1p(n) - betaln(n - y + 1, y + 1)
    value = where((y == 0) & (n == 0), 0.0, value)
    value = where((y < -loc) | (y > n) | (y + a <= 0), -np.inf, value)
    return where((n < 0) | (a <= 0) | (b <= 0), np.nan, value)


def logpmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of `k` in the beta-binomial distribution.

    n: the number of trials. a, b: the shape parameters of the beta distribution, which are
    positive. loc: the location.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpmf(array([0, 1, 5]), 4, 2.0, 3.0)
    Array([-1.5404432, -1.2527609,       -inf], dtype=float32, weak_type=True)
    """
    return _logpmf(k, n, a, b, loc)


def pmf(k: ArrayLike, n: ArrayLike, a: ArrayLike, b: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of `k` in the beta-binomial distribution.

    The other arguments are those of `logpmf`.

    >>> pmf(array([0, 1, 5]), 4, 2.0, 3.0)
    Array([0.21428612, 0.2857149 , 0.        ], dtype=float32, weak_type=True)
    """
    return exp(_logpmf(k, n, a, b, loc))
