"""The modified Bessel function of `olympus.numpy`: `i0`.

Its Chebyshev expansions are computed here, from the function's integral, when first asked for.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from olympus_core.library.composite import composite
from olympus_core.library.numpy.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise import unary
from olympus_core.library.numpy.logic import less_equal
from olympus_core.library.numpy.operands import choose
from olympus_core.library.promotion import promote_inexact
from olympus_core.primitives import elementwise as p

__all__ = ["i0"]

_BORDER = 8.0  # to here the expansion is in x, and from here on in 1 / x
_TERMS = 28


def _scaled(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """exp(-x) I0(x) = 1/pi times the integral of exp(x (cos t - 1)) over t in [0, pi].

    The integrand is periodic and smooth, so that the midpoint rule is exact to rounding.
    """
    t = (np.arange(4096) + 0.5) * np.pi / 4096
    values: np.ndarray[Any, Any] = np.exp(np.multiply.outer(x, np.cos(t) - 1)).mean(axis=-1)
    return values


@functools.cache
def _coefficients() -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Of exp(-x) I0(x) on [0, 8], and of exp(-x) sqrt(x) I0(x) on [8, inf], by 2 (8 / x) - 1."""
    nodes = np.cos((np.arange(64) + 0.5) * np.pi / 64)
    near = _scaled(_BORDER * (nodes + 1) / 2)
    x = 2 * _BORDER / (nodes + 1)
    far = np.sqrt(np.minimum(x, 1e5)) * _scaled(np.minimum(x, 1e5))
    basis = np.cos(np.multiply.outer(np.arange(_TERMS), np.arccos(nodes)))
    scale = np.where(np.arange(_TERMS) == 0, 1, 2) / 64
    both = [basis @ values * scale for values in (near, far)]
    return tuple(both[0].tolist()), tuple(both[1].tolist())


def _chebyshev(coefficients: tuple[float, ...], u: Any) -> Any:
    """The expansion at u in [-1, 1], by Clenshaw's recurrence."""
    twice, before, last = u + u, 0.0, 0.0
    for c in reversed(coefficients[1:]):
        before, last = last, twice * last - before + c
    return u * last - before + coefficients[0]


@composite()
def _i0(x: Any) -> Any:
    size = abs_(x)
    near, far = _coefficients()
    inside = less_equal(size, _BORDER)
    small, large = choose("i0", inside, size, 0.0), choose("i0", inside, _BORDER, size)
    expanded = choose(
        "i0",
        inside,
        _chebyshev(near, small * (2 / _BORDER) - 1),
        _chebyshev(far, 2 * _BORDER / large - 1) * p.rsqrt_p.bind(large),
    )
    return p.exp_p.bind(size) * expanded


i0 = unary("i0", "The modified Bessel function I0.", {"f": _i0}, promote_inexact)
