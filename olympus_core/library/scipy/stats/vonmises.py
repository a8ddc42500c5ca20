"""`olympus.scipy.stats.vonmises`: the von Mises distribution.

The formulas are those of SciPy's `scipy.stats.vonmises`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.elementwise.trigonometric import cos
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.scipy.special.gamma import i0e
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("vonmises.logpdf")
def _logpdf(x: Any, kappa: Any) -> Any:
    value = kappa * (cos(x) - 1) - log(2 * np.pi * i0e(kappa))
    return where(kappa > 0, value, np.nan)


def logpdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Return the logarithm of the density of the von Mises distribution at `x`.

    x: an angle in radians. kappa: the concentration, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]), 2.0)
    Array([-0.66187066, -1.5812662 ], dtype=float32)
    """
    return _logpdf(x, kappa)


def pdf(x: ArrayLike, kappa: ArrayLike) -> Array:
    """Return the density of the von Mises distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]), 2.0)
    Array([0.5158854 , 0.20571446], dtype=float32)
    """
    return exp(_logpdf(x, kappa))
