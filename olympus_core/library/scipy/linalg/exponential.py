"""The exponential of square matrices, `expm`.

The result is Pade's approximant of a scaled matrix, squared as often as the matrix was halved.
Source: N. Higham, "The scaling and squaring method for the matrix exponential revisited",
SIAM J. Matrix Anal. Appl. 26 (2005).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.errors import DTypeError, ShapeError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.lax.annotations import stop_gradient
from olympus_core.library.lax.control import cond, scan
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.exponential import exp2, log2
from olympus_core.library.numpy.elementwise.rounding import ceil
from olympus_core.library.numpy.linalg.decompositions import inexact
from olympus_core.library.numpy.linalg.norms import norm
from olympus_core.library.numpy.reductions.sums import any as any_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.operands import operand
from olympus_core.library.promotion import convert, promote_inexact
from olympus_core.primitives.linalg.algebra import dot, eye, solve, solve_by_lu
from olympus_core.transforms.autodiff import jvp

#: the degree of the approximant, and the greatest 1-norm for which it is exact to rounding
_DEGREES = {"float32": (7, 3.925724783138660), "float64": (13, 5.371920351148152)}


def _coefficients(degree: int) -> list[float]:
    """Return the coefficients of the numerator of exp's diagonal Pade approximant, monic."""
    m = degree
    integers = [
        math.comb(m, k) * math.factorial(2 * m - k) // math.factorial(m) for k in range(m + 1)
    ]
    return [float(c) for c in integers]


def _approximant(a: Any, degree: int) -> tuple[Any, Any]:
    """Return the odd and the even part of the numerator at `a`."""
    c, identity = _coefficients(degree), eye(a)
    powers = [identity, dot(a, a)]
    while len(powers) <= min(degree // 2, 3):
        powers.append(dot(powers[-1], powers[1]))

    def polynomial(offset: int) -> Any:
        terms = [c[2 * i + offset] * p for i, p in enumerate(powers)]
        total = sum(terms[1:], start=terms[0])
        high = [c[2 * i + 6 + offset] * p for i, p in enumerate(powers) if i and 2 * i + 6 < degree]
        return total + dot(powers[3], sum(high[1:], start=high[0])) if high else total

    return dot(a, polynomial(1)), polynomial(0)


@composite(static_argnames=("upper_triangular", "max_squarings"))
def expm(A: ArrayLike, *, upper_triangular: bool = False, max_squarings: int = 16) -> Array:
    """Return the exponential of square matrices, the sum of A^k / k!.

    upper_triangular: treat A as upper triangular, and solve triangular equations.  max_squarings:
    the maximum number of halvings of A; the result is NaN if more are needed.

    Raises ShapeError for matrices that are not square, DTypeError for half floats.

    >>> expm(zeros((2, 2)))
    Array([[1., 0.],
           [0., 1.]], dtype=float32)
    """
    a = inexact("expm", A, square=True)
    real_dtype = dtypes.to_real(get_aval(a).dtype)
    if dtypes.long_name(real_dtype) not in _DEGREES:
        raise DTypeError(f"expm does not take {get_aval(a).long_name()}: cast it to float32")
    degree, bound = _DEGREES[dtypes.long_name(real_dtype)]
    size = stop_gradient(norm(a, ord=1, axis=(-2, -1)))[..., None, None]
    halvings = ceil(log2(where(size > bound, size / bound, 1)))
    odd, even = _approximant(a * convert(exp2(-halvings), get_aval(a).dtype), degree)
    divided: Callable[[Any, Any], Any] = solve if upper_triangular else solve_by_lu
    result = divided(even - odd, even + odd)

    def square(x: Any, i: Any) -> Any:
        continues = i < halvings
        return cond(any_(continues), lambda x: where(continues, dot(x, x), x), lambda x: x, x), None

    result, _ = scan(square, result, arange(max_squarings, dtype=real_dtype))
    return where(halvings > max_squarings, np.nan, result)


@overload
def expm_frechet(
    A: ArrayLike,
    E: ArrayLike,
    *,
    method: str | None = None,
    compute_expm: Literal[True] = True,
) -> tuple[Array, Array]: ...


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: Literal[False]
) -> Array: ...


@overload
def expm_frechet(
    A: ArrayLike, E: ArrayLike, *, method: str | None = None, compute_expm: bool
) -> Array | tuple[Array, Array]: ...


@composite(static_argnames=("method", "compute_expm"))
def expm_frechet(
    A: ArrayLike,
    E: ArrayLike,
    *,
    method: str | None = None,
    compute_expm: bool = True,
) -> Array | tuple[Array, Array]:
    """Return the exponential of A and its derivative in the direction E, or only the derivative.

    `method` has no effect.  Raises ShapeError for matrices that are not square, or differ in shape.

    >>> expm_frechet(zeros((2, 2)), array([[1.0, 2.0], [3.0, 4.0]]), compute_expm=False)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    a, e = promote_inexact(operand("expm_frechet", A)[0], operand("expm_frechet", E)[0])
    if shape_of(a) != shape_of(e):
        raise ShapeError(
            f"expm_frechet needs A and E of one shape, and got {shape_of(a)} and {shape_of(e)}"
        )
    value, derivative = jvp(expm, (a,), (e,))
    return (value, derivative) if compute_expm else derivative
