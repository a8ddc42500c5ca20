"""`olympus.scipy.stats.wrapcauchy`: the wrapped Cauchy distribution.

The formulas are those of SciPy's `scipy.stats.wrapcauchy`, with the parameters of its reference.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.elementwise.trigonometric import cos
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("wrapcauchy.logpdf")
def _logpdf(x: Any, c: Any) -> Any:
    value = log(1 - c * c) - math.log(2 * np.pi) - log(1 + c * c - 2 * c * cos(x))
    value = where((x >= 0) & (x <= 2 * np.pi), value, -np.inf)
    return where((c > 0) & (c < 1), value, np.nan)


def logpdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Return the logarithm of the density of the wrapped Cauchy distribution at `x`.

    x: an angle in radians, of [0, 2 pi]. c: the shape parameter, between 0 and 1.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]), 0.5)
    Array([-0.7392647, -1.782643 ], dtype=float32)
    """
    return _logpdf(x, c)


def pdf(x: ArrayLike, c: ArrayLike) -> Array:
    """Return the density of the wrapped Cauchy distribution at `x`.

    The other arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]), 0.5)
    Array([0.47746485, 0.16819303], dtype=float32)
    """
    return exp(_logpdf(x, c))
