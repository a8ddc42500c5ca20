"""`olympus.scipy.stats.dirichlet`: the Dirichlet distribution.

The formulas are those of SciPy's `scipy.stats.dirichlet`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.errors import ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.exponential import exp
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.manipulation.shapes import reshape
from olympus_core.library.numpy.reductions.sums import all as all_
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.library.scipy.special.entropy import xlogy
from olympus_core.library.scipy.special.gamma import gammaln

_TOLERANCE = 1e-6


@composite()
def _logpdf(x: Any, alpha: Any) -> Any:
    check_arrays("dirichlet.logpdf", x, alpha)
    x, alpha = (asarray(v) for v in promote_inexact(x, alpha))
    if alpha.ndim != 1:
        raise ShapeError(f"dirichlet.logpdf needs a vector alpha, and got the shape {alpha.shape}")
    if not x.ndim or x.shape[0] not in (alpha.shape[0], alpha.shape[0] - 1):
        raise ShapeError(
            "dirichlet.logpdf needs as many entries of x as of alpha, or one less, and got the "
            f"shapes {x.shape} and {alpha.shape}"
        )
    if x.shape[0] != alpha.shape[0]:
        x = concatenate([x, 1 - sum_(x, axis=0, keepdims=True)], axis=0)
    normalization = sum_(gammaln(alpha)) - gammaln(sum_(alpha))
    weights = reshape(alpha, (*alpha.shape, *(1,) * (x.ndim - 1)))
    value = sum_(xlogy(weights - 1, x), axis=0) - normalization
    is_inside = all_(x > 0, axis=0) & (abs_(sum_(x, axis=0) - 1) < _TOLERANCE)
    return where(is_inside, value, -np.inf)


def logpdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the logarithm of the density of the Dirichlet distribution at `x`.

    x: points in the columns, of shape (n, ...), or (n - 1, ...) without the last coordinate, which
    is 1 minus the others. alpha: the n concentrations, which are positive.

    Raises ShapeError for other shapes, DTypeError for values that are not arrays.

    >>> logpdf(array([0.25, 0.75]), array([2.0, 3.0]))
    Array(0.5232489, dtype=float32)
    """
    result: Array = _logpdf(x, alpha)
    return result


def pdf(x: ArrayLike, alpha: ArrayLike) -> Array:
    """Return the density at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.25, 0.75]), array([2.0, 3.0]))
    Array(1.6875013, dtype=float32)
    """
    return exp(logpdf(x, alpha))
