"""Plane rotations of many pairs of columns, and the rounds in which all pairs meet.

Matrices have an even number 2h of columns, and column i is paired with column h + i.  A round
rotates all pairs, and `advance` moves the columns so that others are paired; after 2h - 1 rounds,
a sweep, each column has met each other column, and is back at its index.
Source: G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 8.5; R. Brent and F. Luk,
"The solution of singular-value and symmetric eigenvalue problems on multiprocessor arrays", SIAM
J. Sci. Stat. Comput. 6 (1985).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base.avals import shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import elementwise_constant, spread, zeros_like
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    block,
    conj,
    converted_like,
    dot,
    eye,
    join,
)
from olympus_core.primitives.linalg.portable.arrays import over, padded, where
from olympus_core.primitives.looping import repeat, repeat_while

#: far more sweeps than the about 10 that a matrix was seen to need; NaN ends the sweeps
MAX_SWEEPS = 40


def even(x: Any) -> Any:
    """Return square matrices with a row and a column of zeros added, if their number is odd."""
    n = shape_of(x)[-1]
    return padded(x, n + n % 2, n + n % 2)


def halves(x: Any) -> tuple[Any, Any]:
    """Return the first and the second half of the columns."""
    h = shape_of(x)[-1] // 2
    return block(x, columns=slice(h)), block(x, columns=slice(h, None))


class JacobiRotation(NamedTuple):
    """The rotation of each pair (p, q) to (c p - s q', s p + c q'), with q' = q phase.

    half = s / (1 + c) is the tangent of half the angle whose cosine is c.
    """

    sine: Any
    half: Any
    phase: Any


def rotation(app: Any, aqq: Any, apq: Any, active: Any) -> JacobiRotation:
    """Return the rotations that diagonalize [[app, apq], [conj(apq), aqq]], where `active`."""
    size = op.abs(apq)
    phase = where(active, conj(op.div(apq, converted_like(where(active, size, 1), apq))), 1)
    doubled = op.add(size, size)
    ratio = op.div(op.sub(aqq, app), where(active, doubled, 1))
    one = spread(elementwise_constant(ratio, 1), shape_of(ratio))
    root = op.sqrt(op.add(one, op.mul(ratio, ratio)))
    tangent = op.div(one, op.add(op.abs(ratio), root))
    tangent = where(op.lt(ratio, zeros_like(ratio)), op.neg(tangent), tangent)
    tangent = where(active, tangent, 0)
    cosine = op.div(one, op.sqrt(op.add(one, op.mul(tangent, tangent))))
    sine = op.mul(tangent, cosine)
    half = op.div(sine, op.add(one, cosine))
    return JacobiRotation(converted_like(sine, apq), converted_like(half, apq), phase)


def turn(x: Any, by: JacobiRotation) -> Any:
    """Return the matrices with each pair of columns rotated.

    The change of a column is small where the angle is, so that the rounding of the cosine does not
    change the length of columns that are rotated often.
    Source: H. Rutishauser, "The Jacobi method for real symmetric matrices", Numerische Mathematik
    9 (1966).
    """
    p, q = halves(x)
    sine, half, phase = (over(part, p, -2) for part in by)
    q = op.mul(q, phase)
    first = op.sub(p, op.mul(sine, op.add(q, op.mul(half, p))))
    return join(first, op.add(q, op.mul(sine, op.sub(p, op.mul(half, q)))), axis=-1)


def advance(x: Any, axis: int) -> Any:
    """Return the columns, or rows, in the order of the next round: all but the first move."""
    n = shape_of(x)[axis]
    h = n // 2
    if h == 1:
        return x
    bounds = [(0, 1), (h, h + 1), (1, h - 1), (h + 1, n), (h - 1, h)]
    slices = [slice(a, b) for a, b in bounds if a < b]
    parts = [block(x, s) if axis == -2 else block(x, columns=s) for s in slices]
    return op.concatenate(*parts, dimension=len(shape_of(x)) + axis)


def sweeps(
    round_: Callable[..., Sequence[Any]], unfinished: Callable[..., Any], *carry: Any
) -> list[Any]:
    """Sweep while `unfinished(*carry)`, a bool for each matrix, is True for any matrix.

    A sweep of n columns calls `round_(*carry)` n - 1 times; n is the last axis of `carry[0]`.
    """
    rounds = shape_of(carry[0])[-1] - 1

    def more(count: Any, unfinished: Any, *_: Any) -> Any:
        axes = tuple(range(len(shape_of(unfinished))))
        some = op.reduce_or(unfinished, axes=axes)
        return op.and_(some, op.lt(count, np.int32(MAX_SWEEPS)))

    def sweep(count: Any, _: Any, *carry: Any) -> Sequence[Any]:
        carry = tuple(repeat(rounds, lambda _, *xs: round_(*xs), *carry))
        return op.add(count, np.int32(1)), unfinished(*carry), *carry

    return repeat_while(more, sweep, np.int32(0), unfinished(*carry), *carry)[2:]


def orthonormal(v: Any) -> Any:
    """Return columns orthonormal to full precision, from columns after many rotations.

    One step of Newton and Schulz, v (3 - v^H v) / 2, squares the error.
    Source: N. Higham, "Functions of Matrices" (2008), 8.3.
    """
    rest = op.sub(eye(v), dot(adjoint(v), v))
    return op.add(v, dot(v, op.mul(rest, over(elementwise_constant(v, 0.5), v))))
