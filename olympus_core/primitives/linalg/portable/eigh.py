"""Eigenvalues and eigenvectors of Hermitian matrices by Jacobi's rotations."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.avals import get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import elementwise_constant, zeros_like
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    block,
    conj,
    converted_like,
    diagonal,
    dot,
    eye,
    real,
    take_columns,
    triangle,
)
from olympus_core.primitives.linalg.portable.arrays import (
    ascending,
    epsilon,
    over,
    places,
    scaled,
    squares,
    total,
    where,
    zeros,
)
from olympus_core.primitives.linalg.portable.jacobi import (
    advance,
    even,
    halves,
    orthonormal,
    rotation,
    sweeps,
    turn,
)


def eigh(a: Any, *, lower: bool) -> tuple[Any, Any]:
    """Return the eigenvectors and the ascending eigenvalues, as `eigh_p` returns them.

    Rotations from both sides make pairs of elements zero, until the elements off the diagonal are
    less than the rounding error of the matrix.
    Source: G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 8.5.
    """
    n = shape_of(a)[-1]
    if not get_aval(a).size:
        return a, zeros(shape_of(a)[:-1], get_aval(real(a)).dtype)
    part = triangle(a, lower=lower, strict=True)
    on = op.eq(places(a, -2), places(a, -1))
    a, unit = scaled(where(on, converted_like(real(a), a), op.add(part, adjoint(part))))
    turned = even(a)
    _, v = sweeps(_round, _unfinished, turned, eye(turned))
    v = orthonormal(block(v, slice(n), slice(n)))
    # v^H a v has less rounding error than the diagonal after many rotations
    w = total(real(op.mul(conj(v), dot(a, v))), -2)
    v = where(over(op.is_finite(unit), v), v, np.nan)
    w, order = ascending(w)
    return take_columns(v, order), op.mul(w, over(unit, w))


def _round(a: Any, v: Any) -> tuple[Any, Any]:
    p, q = halves(a)
    h = shape_of(p)[-1]
    app, aqq = (real(diagonal(x)) for x in (block(p, slice(h)), block(q, slice(h, None))))
    apq = diagonal(block(q, slice(h)))
    size = op.abs(apq)
    by = rotation(app, aqq, apq, op.gt(size, zeros_like(size)))
    # a is Hermitian, so the rotation from both sides gives a Hermitian matrix
    a = turn(adjoint(turn(a, by)), by)
    distance = op.abs(op.sub(places(a, -2), places(a, -1)))
    a = where(op.eq(distance, over(np.int32(h), a)), 0, a)
    return advance(advance(a, -2), -1), advance(turn(v, by), -1)


def _unfinished(a: Any, _: Any) -> Any:
    sizes = squares(a)
    off = where(op.eq(places(a, -2), places(a, -1)), 0, sizes)
    bound = total(sizes, -2, -1)
    return op.gt(
        total(off, -2, -1), op.mul(bound, over(elementwise_constant(bound, epsilon(a) ** 2), bound))
    )
