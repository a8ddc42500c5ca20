"""Incomplete gamma and beta functions, as `olympus.scipy.special` has them."""

from __future__ import annotations

from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.library.special import lax


def gammainc(a: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized lower incomplete gamma function, `lax.igamma`; integers become floats.

    Raises DTypeError for complex arrays, ShapeError for shapes that do not broadcast.

    >>> gammainc(2, 1.0)
    Array(0.26424113, dtype=float32, weak_type=True)
    """
    check_arrays("gammainc", a, x)
    return lax.igamma(*promote_inexact(a, x))


def gammaincc(a: ArrayLike, x: ArrayLike) -> Array:
    """The regularized upper incomplete gamma function, 1 - `gammainc`, exact where it is small.

    >>> gammaincc(1.0, array([0.0, 1.0]))
    Array([1.        , 0.36787975], dtype=float32)
    """
    check_arrays("gammaincc", a, x)
    return lax.igammac(*promote_inexact(a, x))


def betainc(a: ArrayLike, b: ArrayLike, x: ArrayLike) -> Array:
    """Return the regularized incomplete beta function, `lax.betainc`; integers become floats.

    >>> betainc(1, 2, 0.5)
    Array(0.75, dtype=float32, weak_type=True)
    """
    check_arrays("betainc", a, b, x)
    return lax.betainc(*promote_inexact(a, b, x))
