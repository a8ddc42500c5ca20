"""`olympus.scipy.stats.multivariate_normal`: the normal distribution of vectors.

The density is computed from the Cholesky factor of the covariance.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_core.base.errors import ShapeError, UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.linalg import triangular_solve
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.matrices import diagonal
from olympus_core.library.numpy.elementwise.arithmetic import square
from olympus_core.library.numpy.elementwise.exponential import exp, log
from olympus_core.library.numpy.linalg.decompositions import cholesky as la_cholesky
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.library.solving import solve_each


def _squared_length(y: Any) -> Any:
    return sum_(y * y, axis=-1)


@composite()
def _logpdf(x: Any, mean: Any, cov: Any) -> Any:
    check_arrays("multivariate_normal.logpdf", x, mean, cov)
    x, mean, cov = (asarray(v) for v in promote_inexact(x, mean, cov))
    if not mean.ndim:
        return -square(x - mean) / cov / 2 - (math.log(2 * np.pi) + log(cov)) / 2
    n = mean.shape[-1]
    if not cov.ndim:
        y = x - mean
        return -_squared_length(y) / cov / 2 - n / 2 * (math.log(2 * np.pi) + log(cov))
    if cov.ndim < 2 or cov.shape[-2:] != (n, n):
        raise ShapeError(
            f"multivariate_normal.logpdf needs covariances (..., {n}, {n}) for means of length "
            f"{n}, and got the shape {cov.shape}"
        )
    factor = la_cholesky(cov)
    y = solve_each("multivariate_normal.logpdf", _solve_lower, factor, (x - mean)[..., None])[
        ..., 0
    ]
    log_diagonal = log(diagonal(factor, axis1=-1, axis2=-2))
    return -_squared_length(y) / 2 - n / 2 * math.log(2 * np.pi) - sum_(log_diagonal, axis=-1)


def _solve_lower(factor: Any, b: Any) -> Any:
    return triangular_solve(factor, b, left_side=True, lower=True)


def logpdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike, allow_singular: None = None) -> Array:
    """Return the logarithm of the density of the multivariate normal distribution at `x`.

    x: points of shape (..., n). mean: of shape (..., n), or a scalar. cov: the covariance, a matrix
    (..., n, n), or a scalar times the identity. The batch shapes broadcast.

    Raises UnsupportedError for `allow_singular`, ShapeError for other shapes.

    >>> logpdf(array([0.0, 1.0]), array([0.0, 0.0]), eye(2))
    Array(-2.337877, dtype=float32)
    """
    if allow_singular is not None:
        raise UnsupportedError("multivariate_normal.logpdf does not support allow_singular")
    result: Array = _logpdf(x, mean, cov)
    return result


def pdf(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Array:
    """Return the density at `x`; the arguments are those of `logpdf`.

    >>> pdf(array([0.0, 1.0]), array([0.0, 0.0]), eye(2))
    Array(0.09653236, dtype=float32)
    """
    return exp(logpdf(x, mean, cov))
