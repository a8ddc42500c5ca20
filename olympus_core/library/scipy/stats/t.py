"""`olympus.scipy.stats.t`: Student's t distribution.

The formulas are those of SciPy's `scipy.stats.t`, with the parameters of its reference.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.numpy.elementwise.exponential import exp, log, log1p
from olympus_core.library.scipy.special.gamma import gammaln
from olympus_core.library.scipy.stats.formula import of_floats


@of_floats("t.logpdf")
def _logpdf(x: Any, df: Any, loc: Any, scale: Any) -> Any:
    y = (x - loc) / scale
    half = df / 2
    normalization = gammaln(half) + log(scale * scale * np.pi * df) / 2 - gammaln(half + 0.5)
    return -(normalization + (half + 0.5) * log1p(y * y / df))


def logpdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the logarithm of the density of Student's t distribution at `x`.

    df: the degrees of freedom, which are positive.
    loc, scale: the location and the scale, which is positive.
    All are arrays or scalars of shapes that broadcast; integers become floats.

    Raises DTypeError for values that are not arrays, ShapeError for shapes that do not broadcast.

    >>> logpdf(array([0.0, 1.0]), 3.0)
    Array([-1.0008892, -1.5762534], dtype=float32)
    """
    return _logpdf(x, df, loc, scale)


def pdf(x: ArrayLike, df: ArrayLike, loc: ArrayLike = 0, scale: ArrayLike = 1) -> Array:
    """Return the density of Student's t distribution at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]), 3.0)
    Array([0.36755246, 0.20674825], dtype=float32)
    """
    return exp(_logpdf(x, df, loc, scale))
