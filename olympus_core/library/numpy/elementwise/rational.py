"""Divisors and multiples of integers: `gcd` and `lcm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.control import while_loop
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.logic import equal, not_equal
from olympus_core.library.numpy.manipulation.shapes import broadcast_to
from olympus_core.library.numpy.reductions.sums import any as any_
from olympus_core.library.operands import choose
from olympus_core.library.promotion import (
    broadcast_shapes,
    check_arrays,
    convert,
    promote_dtypes,
    vary_together,
)
from olympus_core.primitives.elementwise.arithmetic import div_p, mul_p, rem_p


def _integers(name: str, x1: Any, x2: Any) -> Sequence[Any]:
    check_arrays(name, x1, x2)
    x, y = promote_dtypes(x1, x2)
    if dtypes.kind(get_aval(x).dtype) not in "ui":
        raise ArgumentError(
            f"Arguments to jax.numpy.{name} must be integers, and one is {get_aval(x).long_name()}"
        )
    return [broadcast_to(a, broadcast_shapes(shape_of(x), shape_of(y))) for a in (x, y)]


@composite()
def gcd(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the greatest common divisor of each pair of integers, by Euclid's algorithm.

    A result that the dtype cannot represent, the magnitude of its least integer, wraps around to
    that integer, as in NumPy: `gcd(int8(-128), int8(0))` is -128.

    Raises ArgumentError for operands that are not integers.

    >>> gcd(12, 18)
    Array(6, dtype=int32, weak_type=True)
    """
    x, y = _integers("gcd", x1, x2)
    result: Array = convert(_divisor(_magnitude(x), _magnitude(y)), *_type_of(x, y))
    return result


def _type_of(x: Any, y: Any) -> tuple[dtypes.DType, bool]:
    """Return (dtype of promoted operands, True if both are weak and have no axes, as in JAX)."""
    a, b = get_aval(x), get_aval(y)
    return a.dtype, a.weak_type and b.weak_type and not a.shape


def _magnitude(x: Any) -> Any:
    """Return the absolute value in the unsigned dtype, which can represent it for every integer."""
    dtype = get_aval(x).dtype
    if dtypes.kind(dtype) == "u":
        return x
    return convert(abs_(x), np.dtype(f"u{dtype.name}"))


def _divisor(x: Any, y: Any) -> Any:
    """Return the greatest common divisor of unsigned integers."""
    x, y = vary_together((x, y))

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        rest = choose("gcd", equal(b, 0), 0, rem_p.bind(a, b))
        return choose("gcd", equal(b, 0), a, b), rest

    return while_loop(lambda pair: any_(not_equal(pair[1], 0)), step, (x, y))[0]


@composite()
def lcm(x1: ArrayLike, x2: ArrayLike) -> Array:
    """Return the least common multiple of each pair of integers; 0 where one is 0.

    A result out of range of the dtype wraps around, as in NumPy.

    Raises ArgumentError for operands that are not integers.

    >>> lcm(4, 6)
    Array(12, dtype=int32, weak_type=True)
    """
    x, y = _integers("lcm", x1, x2)
    a, b = _magnitude(x), _magnitude(y)
    divisor = _divisor(a, b)
    safe = choose("lcm", equal(divisor, 0), 1, divisor)
    return convert(mul_p.bind(a, div_p.bind(b, safe)), *_type_of(x, y))
