"""Window functions: weights that decrease towards the ends of a signal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.fills import ones
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.bessel import i0
from olympus_core.library.numpy.elementwise.trigonometric import cos
from olympus_core.primitives.shape import iota_p

if TYPE_CHECKING:
    from olympus_core.library.signatures import Window


def _points(name: str, length: int) -> Any:
    if length < 0:
        raise ArgumentError(f"{name} needs a length >= 0, and got {length}")
    return iota_p.bind(dtype=dtypes.default_dtype("f"), shape=(length,), dimension=0)


def _window(name: str, summary: str, weights: Callable[[Any, int], Any], printed: str) -> Window:
    @composite(static_argnames=("length",))
    def window(length: int) -> Array:
        points = _points(name, length)
        result: Array = weights(points, length) if length > 1 else ones((length,))
        return result

    def function(M: int) -> Array:
        return window(int(M))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"""The {summary} window of `M` points, whose greatest weight is 1.

    A float M is truncated.  Raises ArgumentError for a negative length.

    >>> {name}(5).round(1)
    {printed}
    """
    return function


def _cosines(*weights: float) -> Callable[[Any, int], Any]:
    """Return a sum of cosines of the multiples of an angle that makes one turn."""

    def total(n: Any, length: int) -> Any:
        result: ArrayLike = weights[0]
        for k, weight in enumerate(weights[1:], 1):
            result = result + weight * cos(2 * math.pi * k / (length - 1) * n)
        return result

    return total


def _triangle(n: Any, length: int) -> Any:
    return 1 - abs_(2 * n - length + 1) / (length - 1)


bartlett = _window(
    "bartlett", "triangular", _triangle, "Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)"
)
hanning = _window(
    "hanning",
    "Hann (a cosine's bell)",
    _cosines(0.5, -0.5),
    "Array([0. , 0.5, 1. , 0.5, 0. ], dtype=float32)",
)
hamming = _window(
    "hamming",
    "Hamming (a cosine's bell above 0.08)",
    _cosines(0.54, -0.46),
    "Array([0.1, 0.5, 1. , 0.5, 0.1], dtype=float32)",
)
blackman = _window(
    "blackman",
    "Blackman (of two cosines)",
    _cosines(0.42, -0.5, 0.08),
    "Array([-0. ,  0.3,  1. ,  0.3, -0. ], dtype=float32)",
)


def kaiser(M: int, beta: ArrayLike) -> Array:
    """Return the Kaiser window of `M` points: i0(beta sqrt(1 - x**2)) / i0(beta), x in [-1, 1].

    A float M is truncated.
    Raises ArgumentError for a negative length.

    >>> kaiser(3, 0.0)
    Array([1., 1., 1.], dtype=float32)
    """
    return _kaiser(int(M), beta)


@composite(static_argnames=("length",))
def _kaiser(length: int, beta: Any) -> Array:
    points = _points("kaiser", length)
    if length <= 1:
        return ones((length,))
    middle = 0.5 * (length - 1)
    x = (points - middle) / middle
    return i0(beta * (1 - x * x) ** 0.5) / i0(beta)
