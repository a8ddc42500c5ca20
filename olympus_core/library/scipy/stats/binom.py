"""`olympus.scipy.stats.binom`: the binomial distribution.

The formulas are those of SciPy's `scipy.stats.binom`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.entropy import xlog1py, xlogy
from olympus_core.library.scipy.special.gamma import gammaln
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("binom.logpmf")
def _logpmf(k: Any, n: Any, p: Any, loc: Any) -> Any:
    y = k - loc
    powers = xlogy(y, p) + xlog1py(n - y, -p)
    value = gammaln(n + 1) - (gammaln(y + 1) + gammaln(n - y + 1)) + powers
    value = where(((y == 0) & (n == 0)) | (powers == 0), 0.0, value)
    return where((k >= loc) & (k < loc + n + 1), value, -np.inf)


def logpmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of `k` in the binomial distribution.

    n: the number of trials. p: the probability of success. loc: the location.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpmf(array([0, 1, 5]), 4, 0.5)
    Array([-2.7725892, -1.3862942,       -inf], dtype=float32, weak_type=True)
    """
    return _logpmf(k, n, p, loc)


def pmf(k: ArrayLike, n: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of `k` in the binomial distribution.

    The other arguments are those of `logpmf`.

    >>> pmf(array([0, 1, 5]), 4, 0.5)
    Array([0.06249997, 0.25000003, 0.        ], dtype=float32, weak_type=True)
    """
    return exp(_logpmf(k, n, p, loc))
