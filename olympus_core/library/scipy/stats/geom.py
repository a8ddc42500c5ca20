"""`olympus.scipy.stats.geom`: the geometric distribution.

The formulas are those of SciPy's `scipy.stats.geom`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.entropy import xlog1py
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("geom.logpmf")
def _logpmf(k: Any, p: Any, loc: Any) -> Any:
    y = k - loc
    return where(y <= 0, -np.inf, xlog1py(y - 1, -p) + log(p))


def logpmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the logarithm of the probability of `k` in the geometric distribution.

    p: the probability of success. loc: the location.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpmf(array([0, 1, 2]), 0.25)
    Array([      -inf, -1.3862944, -1.6739764], dtype=float32, weak_type=True)
    """
    return _logpmf(k, p, loc)


def pmf(k: ArrayLike, p: ArrayLike, loc: ArrayLike = 0) -> Array:
    """Return the probability of `k` in the geometric distribution.

    The other arguments are those of `logpmf`.

    >>> pmf(array([0, 1, 2]), 0.25)
    Array([0.    , 0.25  , 0.1875], dtype=float32, weak_type=True)
    """
    return exp(_logpmf(k, p, loc))
