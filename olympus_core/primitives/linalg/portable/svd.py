"""Singular value decomposition by Jacobi's rotations from one side."""

from __future__ import annotations

import math
from typing import Any

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import elementwise_constant
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    block,
    conj,
    converted_like,
    diagonal,
    dot,
    eye,
    inverse_order,
    join,
    take_columns,
    take_rows,
    triangle,
)
from olympus_core.primitives.linalg.portable.arrays import (
    ascending,
    epsilon,
    negligible,
    over,
    padded,
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
from olympus_core.primitives.linalg.portable.qr import (
    geqrf,
    householder_product,
    pivoted_geqrf,
)


def svd(a: Any, *, full: bool, compute_uv: bool) -> tuple[Any, ...]:
    """Return the descending singular values, U and V^H, as `svd_p` returns them.

    A pivoted QR decomposition first gathers the weight in the first columns of R^H.  These are
    then rotated until they are orthogonal: their lengths are the singular values, their
    directions are the right vectors, and the product of the rotations gives the left vectors.
    Source: Z. Drmac and K. Veselic, "New fast and accurate Jacobi SVD algorithm", I, SIAM J. Matrix
    Anal. Appl. 29 (2008); G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 8.6.3.
    """
    *batch, rows, columns = shape_of(a)
    if rows < columns:
        s, *uv = svd(adjoint(a), full=full, compute_uv=compute_uv)
        return s, *(adjoint(x) for x in reversed(uv))
    dtype = get_aval(a).dtype
    if not get_aval(a).size:
        size = rows if full else columns
        uv = [eye(zeros((*batch, m, n), dtype)) for m, n in ((rows, size), (columns, columns))]
        return zeros((*batch, columns), dtypes.to_real(dtype)), *(uv if compute_uv else ())
    packed, taus, order = pivoted_geqrf(a)
    r = triangle(block(packed, slice(columns)), lower=False)
    s, *rotations = _orthogonalized(adjoint(r), compute_uv)
    if not compute_uv:
        return (s,)
    vectors, product = rotations
    if full:
        packed = padded(packed, rows, rows)
    q = householder_product(packed, taus)
    u = dot(block(q, columns=slice(columns)), product)
    u = join(u, block(q, columns=slice(columns, None)), axis=-1)
    return s, u, adjoint(take_rows(vectors, inverse_order(order)))


def _orthogonalized(x: Any, compute_uv: bool) -> tuple[Any, ...]:
    """Return descending s, and orthonormal U and V with x = U diag(s) V^H, for square matrices."""
    n = shape_of(x)[-1]
    x, unit = scaled(x)
    x = even(x)
    (x,) = sweeps(_round, _unfinished, join(x, eye(x), axis=-2) if compute_uv else x)
    x, v = block(x, slice(n), slice(n)), block(x, slice(n + n % 2, 2 * n + n % 2), slice(n))
    s, order = ascending(op.neg(_lengths(x)))
    s = op.neg(s)
    results = (op.mul(s, over(unit, s)),)
    if not compute_uv:
        return results
    x, v = (take_columns(m, order) for m in (x, v))
    return *results, _directions(x, s), orthonormal(v)


def _directions(x: Any, s: Any) -> Any:
    """Return orthonormal columns in the directions of x's, of lengths s; arbitrary for length 0.

    The QR decomposition of columns that are orthonormal or zero replaces the zero ones, and changes
    the others by a phase, which is undone.
    """
    none = op.le(s, over(elementwise_constant(s, negligible(s)), s))
    x = op.div(x, over(converted_like(where(none, 1, s), x), x, -2))
    packed, taus = geqrf(where(over(none, x, -2), 0, x))
    ends = diagonal(packed)
    phase = where(none, 1, op.sign(ends))
    return op.mul(householder_product(packed, taus), over(phase, x, -2))


def _lengths(x: Any) -> Any:
    return op.sqrt(total(squares(x), -2))


def _top(x: Any) -> Any:
    """Return the matrices whose columns are made orthogonal, without the rotations' product."""
    return block(x, slice(shape_of(x)[-1]))


def _tolerance(x: Any) -> float:
    """Return the greatest cosine of columns that count as orthogonal: rounding of a product."""
    return epsilon(x) * math.sqrt(shape_of(x)[-1])


def _round(x: Any) -> tuple[Any]:
    p, q = halves(_top(x))
    apq = total(op.mul(conj(p), q), -2)
    app, aqq = total(squares(p), -2), total(squares(q), -2)
    first, second = op.sqrt(app), op.sqrt(aqq)
    small = over(elementwise_constant(first, negligible(first)), first)
    bound = op.mul(op.mul(first, second), over(elementwise_constant(first, _tolerance(x)), first))
    active = op.and_(op.gt(op.abs(apq), bound), op.gt(op.min(first, second), small))
    return (advance(turn(x, rotation(app, aqq, apq, active)), -1),)


def _unfinished(x: Any) -> Any:
    x = _top(x)
    inner = op.abs(dot(adjoint(x), x))
    lengths = _lengths(x)
    along, across = over(lengths, inner, -2), over(lengths, inner, -1)
    bound = op.mul(
        along, op.mul(across, over(elementwise_constant(inner, 4 * _tolerance(x)), inner))
    )
    counts = op.gt(
        op.min(along, across), over(elementwise_constant(inner, negligible(inner)), inner)
    )
    counts = op.and_(counts, op.ne(places(inner, -2), places(inner, -1)))
    rank = len(shape_of(x))
    return op.reduce_or(op.and_(counts, op.gt(inner, bound)), axes=(rank - 2, rank - 1))
