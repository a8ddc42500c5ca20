"""Hurwitz's zeta function, and the polygamma functions, which are multiples of its values."""

from __future__ import annotations

from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval
from olympus_core.base.errors import DTypeError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.elementwise import binary
from olympus_core.library.numpy.elementwise.exponential import log
from olympus_core.library.promotion import check_arrays, promote_inexact
from olympus_core.primitives.elementwise.transcendental import polygamma_p, zeta_p

#: B(2 j) / (2 j)! for j = 1 to 8, with Bernoulli's numbers B
_CORRECTIONS = (
    1 / 12,
    -1 / 720,
    1 / 30240,
    -1 / 1209600,
    1 / 47900160,
    -691 / 1307674368000,
    1 / 74724249600,
    -3617 / 10670622842880000,
)
_TERMS = 9  # of the sum that are added one by one


@custom_jvp
def _zeta_of_floats(x: Any, q: Any) -> Any:
    return zeta_p.bind(x, q)


def _zeta_slope(x: Any, q: Any) -> Any:
    """Return the derivative of Hurwitz's function with respect to x, for x > 1.

    It is the derivative of each term of the sum of Euler and Maclaurin.

    Source: NIST Digital Library of Mathematical Functions, 25.11.28.
    """
    places = [q + k for k in range(_TERMS)]
    total = -sum(log(place) * place**-x for place in places)
    end = q + _TERMS
    logarithm, power = log(end), end**-x
    total = total - end * power * (logarithm / (x - 1) + 1 / (x - 1) ** 2)
    total = total - logarithm * power / 2
    rising, inverses = x, 1 / x  # x (x + 1) ... (x + 2 j - 2), and the sum of the inverse factors
    for j, correction in enumerate(_CORRECTIONS, 1):
        total = total + correction * rising * (inverses - logarithm) * power / end ** (2 * j - 1)
        for factor in (x + (2 * j - 1), x + 2 * j):
            rising, inverses = rising * factor, inverses + 1 / factor
    return total


_zeta_of_floats.defjvps(
    lambda t, _, x, q: t * _zeta_slope(x, q),
    lambda t, _, x, q: -t * x * _zeta_of_floats(x + 1, q),
)
_zeta = binary("zeta", "Hurwitz's zeta.", {"f": _zeta_of_floats}, promote_inexact)
_polygamma = binary(
    "polygamma", "The polygamma function.", {"f": polygamma_p.bind}, promote_inexact
)


def zeta(x: ArrayLike, q: ArrayLike | None = None) -> Array:
    """Hurwitz's sum of 1 / (k + q)^x over k >= 0; with q = 1, the default, Riemann's function.

    Raises DTypeError for complex values.

    >>> zeta(array([2.0, 4.0])).round(4)
    Array([1.6449, 1.0823], dtype=float32)
    """
    return _zeta(x, 1.0 if q is None else q)


def polygamma(n: ArrayLike, x: ArrayLike) -> Array:
    """Return the derivative of order `n` + 1, an integer or an array of them, of `gammaln`.

    Raises DTypeError for an order that is not an integer.

    >>> polygamma(1, array([1.0])).round(4)
    Array([1.6449], dtype=float32)
    """
    check_arrays("polygamma", n, x)
    if dtypes.kind(get_aval(n).dtype) not in "iu":
        raise DTypeError(f"polygamma needs an integer order, and got {get_aval(n).long_name()}")
    return _polygamma(n, x)
