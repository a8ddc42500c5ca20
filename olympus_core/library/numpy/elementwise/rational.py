"""Divisors and multiples of integers: `gcd` and `lcm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core import dtypes
from olympus_core.avals import get_aval, shape_of
from olympus_core.errors import DTypeError
from olympus_core.library.composite import composite
from olympus_core.library.lax.control import while_loop
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.logic import equal, not_equal
from olympus_core.library.numpy.manipulation.shapes import broadcast_to
from olympus_core.library.numpy.reductions.sums import any as any_
from olympus_core.library.operands import choose, promote_numeric
from olympus_core.library.promotion import broadcast_shapes, check_arrays, varying_alike
from olympus_core.library.typing import ArrayLike
from olympus_core.primitives.elementwise.arithmetic import div_p, mul_p, rem_p
from olympus_core.tracer import Array

__all__ = [
    "gcd",
    "lcm",
]


def _integers(name: str, x1: Any, x2: Any) -> Sequence[Any]:
    check_arrays(name, x1, x2)
    x, y = promote_numeric(x1, x2)
    if dtypes.kind(get_aval(x).dtype) not in "ui":
        raise DTypeError(f"{name} takes integers, and got {get_aval(x).long_name()}")
    return [broadcast_to(a, broadcast_shapes(shape_of(x), shape_of(y))) for a in (x, y)]


@composite()
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The greatest common divisor of each pair of integers, by Euclid's algorithm.

    Raises DTypeError for what is not integer.

    >>> gcd(12, 18)
    Array(6, dtype=int32, weak_type=True)
    """
    x, y = varying_alike(tuple(map(abs_, _integers("gcd", x1, x2))))

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        rest = choose("gcd", equal(b, 0), 0, rem_p.bind(a, b))
        return choose("gcd", equal(b, 0), a, b), rest

    result: Array = while_loop(lambda pair: any_(not_equal(pair[1], 0)), step, (x, y))[0]
    return result


@composite()
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """The least common multiple of each pair of integers; 0 where one is 0.

    Raises DTypeError for what is not integer.

    >>> lcm(4, 6)
    Array(12, dtype=int32, weak_type=True)
    """
    x, y = _integers("lcm", x1, x2)
    x, y = abs_(x), abs_(y)
    divisor = gcd(x, y)
    safe = choose("lcm", equal(divisor, 0), 1, divisor)
    return mul_p.bind(x, div_p.bind(y, safe))
