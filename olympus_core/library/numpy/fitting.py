"""Fits and roots of polynomials in `olympus.numpy`: coefficients stand from the highest power."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from olympus_core import dtypes
from olympus_core.errors import ArgumentError, ConcretizationError, ShapeError
from olympus_core.library.numpy.axes import operand
from olympus_core.library.numpy.creation import asarray
from olympus_core.library.numpy.diagonals import diag
from olympus_core.library.numpy.exponential import sqrt
from olympus_core.library.numpy.fills import ones, zeros
from olympus_core.library.numpy.joining import concatenate
from olympus_core.library.numpy.reductions import sum as sum_
from olympus_core.library.numpy.selection import where
from olympus_core.library.numpy.shapes import atleast_1d
from olympus_core.library.numpy.triangles import vander
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.tracer import Array, Tracer

__all__ = ["polyfit", "roots"]


def polyfit(
    x: Any,
    y: Any,
    deg: int,
    rcond: float | None = None,
    full: bool = False,
    w: Any = None,
    cov: bool | str = False,
) -> Any:
    """The polynomial of degree `deg` that fits the points (x, y) best, by least squares.

    x: a vector; y: a vector of its length, or a matrix with a set of values in each column.
    rcond: singular values below `rcond` times the greatest count as 0; the precision of the
    dtype times the number of points unless given.  w: a weight for each point, which multiplies
    its residual.  full: also the sum of squared residuals, the rank, the singular values and
    rcond.  cov: also the covariance matrix of the coefficients, scaled by the residuals, or with
    "unscaled" not.

    The columns of the Vandermonde matrix are scaled to length 1 before the solution.

    Raises ArgumentError for a negative degree, ShapeError for other shapes or no points, and
    for too few points to scale the covariance.

    >>> polyfit(array([0.0, 1.0, 2.0]), array([1.0, 3.0, 5.0]), 1)
    Array([2., 1.], dtype=float32)
    """
    # not before: linear algebra is no part of importing olympus
    from olympus_core.library.numpy.equations import lstsq

    order = operator.index(deg) + 1
    if order < 1:
        raise ArgumentError(f"polyfit needs a degree >= 0, and got {deg}")
    x, y = promote_inexact(operand("polyfit", x)[0], operand("polyfit", y)[0])
    x, rhs = asarray(x), asarray(y)
    if x.ndim != 1 or not x.size or rhs.ndim not in (1, 2) or rhs.shape[0] != x.shape[0]:
        raise ShapeError(
            "polyfit needs a vector of points, and as many values or rows of values, and got "
            f"{x.aval.long_name()} and {rhs.aval.long_name()}"
        )
    rcond = x.size * float(dtypes.finfo(x.dtype).eps) if rcond is None else rcond
    lhs = vander(x, order)
    if w is not None:
        weights = asarray(operand("polyfit", w)[0])
        if weights.shape != x.shape:
            raise ShapeError(
                f"polyfit needs a weight for each of {x.size} points, and got "
                f"{weights.aval.long_name()}"
            )
        lhs = lhs * weights[:, None]
        rhs = rhs * (weights[:, None] if rhs.ndim == 2 else weights)
    scale = sqrt(sum_(lhs * lhs, axis=0))
    scale = where(scale == 0, 1, scale)
    lhs = lhs / scale
    fitted, residuals, rank, singular = lstsq(lhs, rhs, rcond)
    c = (fitted.T / scale).T
    if full:
        return c, residuals, rank, singular, asarray(rcond)
    return (c, _covariance(lhs, scale, residuals, rhs.ndim, cov)) if cov else c


def _covariance(lhs: Any, scale: Any, residuals: Any, ndim: int, cov: bool | str) -> Array:
    from olympus_core.library.numpy.equations import inv

    points, order = lhs.shape
    base = inv(lhs.T @ lhs) / (scale[:, None] * scale)
    factor: Any = ones((), base.dtype)
    if cov != "unscaled":
        if points <= order:
            raise ShapeError(
                f"polyfit of degree {order - 1} needs more than {order} points to scale the "
                f"covariance, and got {points}"
            )
        factor = residuals / (points - order)
    return base * factor if ndim == 1 else base[:, :, None] * factor  # type: ignore[no-any-return]


def roots(p: Any, *, strip_zeros: bool = True) -> Array:
    """The zeros of a polynomial, complex, as the eigenvalues of its companion matrix.

    strip_zeros: take leading and trailing zeros off first, which needs values: in a trace it has
    to be False, and a leading coefficient of 0 gives nan.

    Raises ShapeError for what is not a vector, ConcretizationError for a traced one where zeros
    are to be stripped.

    >>> roots(array([1.0, -3.0, 2.0]))
    Array([2.+0.j, 1.+0.j], dtype=complex64)
    """
    (p,) = promote_inexact(operand("roots", p)[0])
    p = atleast_1d(p)
    if p.ndim != 1:
        raise ShapeError(f"roots needs a vector of coefficients, and got {p.aval.long_name()}")
    if not strip_zeros:
        return _roots(p)
    if isinstance(p, Tracer):
        raise ConcretizationError(
            f"roots cannot strip zeros while tracing: the coefficients are {p.origin()}",
            hint="pass strip_zeros=False",
        )
    used = np.flatnonzero(np.asarray(p))
    if not len(used):
        return zeros((0,), dtypes.to_complex(p.dtype))
    found = _roots(p[int(used[0]) : int(used[-1]) + 1])
    return concatenate([found, zeros((p.size - 1 - int(used[-1]),), found.dtype)])


def _roots(p: Any) -> Array:
    from olympus_core.library.numpy.decompositions import eigvals

    degree = p.shape[0] - 1
    if degree < 1:
        return zeros((0,), dtypes.to_complex(p.dtype))
    below = diag(ones((degree - 1,), p.dtype), -1)
    row = convert(-p[1:] / p[0], p.dtype)
    companion = concatenate([row[None], below[1:]])
    return eigvals(companion)
