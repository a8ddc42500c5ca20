"""`olympus.scipy.stats.nbinom`: the negative binomial distribution.

The formulas are those of SciPy's `scipy.stats.nbinom`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.entropy import xlogy
from olympus_core.library.scipy.special.gamma import gammaln
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("nbinom.logpmf")
def _logpmf(k: Any, n: Any, p: Any, loc: Any) -> Any:
    y = k - loc
    coefficient = gammaln(y + n) - gammaln(n) - gammaln(y + 1)
    return where(k < loc, -np.inf, coefficient + xlogy(n, p) + xlogy(y, 1 - p))


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of `k` in the negative binomial distribution.

    n: the number of successes. p: the probability of success. loc: the location.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpmf(array([0, 1, 5]), 4, 0.5)
    Array([-2.7725892, -2.0794415, -2.212975 ], dtype=float32, weak_type=True)
    """
    return _logpmf(k, n, p, loc)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of `k` in the negative binomial distribution.

    The other arguments are those of `logpmf`.

    >>> pmf(array([0, 1, 5]), 4, 0.5)
    Array([0.06249997, 0.125     , 0.10937477], dtype=float32, weak_type=True)
    """
    return exp(_logpmf(k, n, p, loc))
