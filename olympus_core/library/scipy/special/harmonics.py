"""Spherical harmonics, by the recurrence of normalized associated Legendre functions."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError, UnsupportedError, concrete_value_expected
from olympus_core.ir.tracer import Array, Tracer
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax import elementwise as lax
from olympus_core.library.lax.control import fori_loop
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.exponential import sqrt
from olympus_core.library.numpy.elementwise.trigonometric import cos, sin
from olympus_core.library.numpy.manipulation.shapes import atleast_1d, broadcast_arrays
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import check_arrays, convert, promote_inexact


def sph_harm_y(
    n: ArrayLike,
    m: ArrayLike,
    theta: ArrayLike,
    phi: ArrayLike,
    diff_n: None = None,
    n_max: int | None = None,
) -> Array:
    """Return the spherical harmonics of degrees `n` and orders `m`, complex, of rank 1 or more.

    n, m: integers that broadcast with the angles; the result is 0 where abs(m) > n.  theta: the
    polar angle, from 0 to pi.  phi: the azimuth.  n_max: the greatest degree, which is needed if
    `n` is traced.

    Raises DTypeError for degrees or orders that are not integers, ConcretizationTypeError for
    traced degrees without `n_max`, and UnsupportedError for `diff_n`.

    >>> sph_harm_y(1, 0, 0.0, 0.0).real
    Array([0.48860252], dtype=float32)
    """
    if diff_n is not None:
        raise UnsupportedError("sph_harm_y does not take 'diff_n'", hint="differentiate by grad")
    check_arrays("sph_harm_y", n, m, theta, phi)
    for x in (n, m):
        if dtypes.kind(get_aval(x).dtype) not in "iu":
            raise DTypeError(f"sph_harm_y needs integers n and m, and got {get_aval(x).dtype}")
    if n_max is None:
        if isinstance(n, Tracer):
            raise concrete_value_expected("sph_harm_y needs n_max if the degrees are traced")
        n_max = int(np.max(np.asarray(n), initial=0))
    theta, phi = promote_inexact(theta, phi)
    result: Array = _harmonics(n, m, theta, phi, operator.index(n_max))
    return result


@composite(static_argnums=4)
def _harmonics(n: Any, m: Any, theta: Any, phi: Any, n_max: int) -> Any:
    n, m, theta, phi = (atleast_1d(x) for x in broadcast_arrays(n, m, theta, phi))
    dtype = get_aval(theta).dtype
    degree, order = convert(n, dtype), convert(abs_(m), dtype)
    legendre = _legendre(degree, order, theta, n_max)
    signed = convert(m, dtype)
    odd = order - 2 * lax.floor(order / 2) == 1
    legendre = where((m < 0) & odd, -legendre, legendre)
    angle = signed * phi
    return lax.complex(legendre * cos(angle), legendre * sin(angle))


def _legendre(n: Any, m: Any, theta: Any, n_max: int) -> Any:
    """Return the normalized associated Legendre functions of cos(theta); DLMF 14.10.3, 14.30.1."""
    x, s = cos(theta), sin(theta)
    dtype = get_aval(x).dtype

    def diagonal(k: Any, value: Any) -> Any:
        k = convert(k, dtype)
        return where(k <= m, -value * s * sqrt((2 * k + 1) / (2 * k)), value)

    start = s * 0 + 1 / math.sqrt(4 * math.pi)
    first = fori_loop(1, n_max + 1, diagonal, start)

    def next_degree(k: Any, pair: tuple[Any, Any]) -> tuple[Any, Any]:
        before, value = pair
        k = convert(k, dtype)
        used = (k > m) & (k <= n)
        below = where(used, k * k - m * m, 1)
        factor = sqrt((4 * k * k - 1) / below)
        square = where(used, (k - 1) ** 2 - m * m, 1)
        is_first = square <= 0  # the degree m + 1, which has no degree below m
        other = sqrt(where(is_first, 1, square) / abs_(4 * (k - 1) ** 2 - 1))
        following = factor * (x * value - where(is_first, 0, other) * before)
        return where(used, value, before), where(used, following, value)

    _, value = fori_loop(1, n_max + 1, next_degree, (first * 0, first))
    return where(m <= n, value, 0)
