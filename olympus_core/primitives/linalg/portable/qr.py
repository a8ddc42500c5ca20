"""QR decomposition by Householder reflectors, blocked, or with pivoting."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.avals import get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import elementwise_constant, spread, zeros_like
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    block,
    conj,
    converted_like,
    dot,
    eye,
    real,
    solve,
    triangle,
)
from olympus_core.primitives.linalg.portable.arrays import (
    at,
    exchange,
    greatest,
    in_panels,
    over,
    padded,
    panels,
    places,
    put,
    put_window,
    scaled,
    squares,
    total,
    trimmed,
    unpermuted,
    where,
    window,
    zeros,
)
from olympus_core.primitives.looping import repeat


def qr(a: Any, *, full: bool, pivoting: bool) -> tuple[Any, ...]:
    """Return Q, R and, with `pivoting`, the permutation of the columns, as `qr_p` returns them."""
    *batch, rows, columns = shape_of(a)
    size = rows if full else min(rows, columns)
    if not get_aval(a).size:
        q, r = eye(zeros((*batch, rows, size), get_aval(a).dtype)), (*batch, size, columns)
        order = unpermuted(*batch, columns)
        return q, zeros(r, get_aval(a).dtype), *[order] * pivoting
    packed, taus, *order = pivoted_geqrf(a) if pivoting else geqrf(a)
    reflectors = (
        block(packed, columns=slice(size)) if size <= columns else padded(packed, rows, size)
    )
    return (
        householder_product(reflectors, taus),
        triangle(block(packed, slice(size)), lower=False),
        *order,
    )


def geqrf(a: Any) -> tuple[Any, Any]:
    """Return R in the upper triangle, the reflectors below it, and their factors, as `geqrf_p`.

    The reflectors of a panel of columns are applied to the columns after it as one block.
    Source: G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 5.1 and 5.2.
    """
    *batch, rows, columns = shape_of(a)
    k = min(rows, columns)
    if not k:
        return a, zeros((*batch, 0), get_aval(a).dtype)
    a, unit = scaled(a)
    count, width, a = in_panels(a)

    def step(i: Any, a: Any, taus: Any) -> tuple[Any, ...]:
        start = op.mul(i, np.int32(width))
        packed, taus = _panel(window(a, start, width, -1), start, taus)
        if shape_of(a)[-1] > width:
            v, inverse = _joined(packed, window(taus, start, width, -1), start)
            inner = solve(inverse, dot(adjoint(v), a), transpose=True, conjugate=True)
            after = op.ge(places(a, -1), over(op.add(start, np.int32(width)), a))
            a = where(after, op.sub(a, dot(v, inner)), a)
        return put_window(a, packed, start, -1), taus

    a, taus = repeat(count, step, a, zeros((*batch, count * width), get_aval(a).dtype))
    taus = trimmed(taus, k)
    return _unscaled(block(a, slice(rows), slice(columns)), unit), taus


def _unscaled(a: Any, unit: Any) -> Any:
    """Return packed matrices with R, but not the reflectors, multiplied by one number for each."""
    upper = op.le(places(a, -2), places(a, -1))
    return where(upper, op.mul(a, over(converted_like(unit, a), a)), a)


def _panel(a: Any, start: Any, taus: Any) -> tuple[Any, Any]:
    """Return the reflectors of a panel, one column after another, from row `start` on."""

    def step(j: Any, a: Any, taus: Any) -> tuple[Any, Any]:
        return _reflected(a, j, op.add(start, j), taus)

    results = repeat(shape_of(a)[-1], step, a, taus)
    return results[0], results[1]


def _reflected(a: Any, j: Any, top: Any, taus: Any) -> tuple[Any, Any]:
    """Return packed matrices with column j zero below row `top`, and factors with this one's."""
    x = at(a, j, -1)
    v, tau, beta = reflector(x, top)
    along = total(op.mul(over(conj(v), a, -1), a), -2)
    change = op.mul(over(op.mul(conj(over(tau, v)), v), a, -1), over(along, a, -2))
    column, here = places(a, -1), over(j, a)
    a = where(op.gt(column, here), op.sub(a, change), a)
    place, first = places(x, -1), over(top, x)
    done = where(op.gt(place, first), v, where(op.eq(place, first), over(beta, x), x))
    a = where(op.eq(column, here), over(done, a, -1), a)
    return a, put(taus, top, tau, -1)


def reflector(x: Any, top: Any) -> tuple[Any, Any, Any]:
    """Return v, 1 at `top` and 0 before it, tau and beta: (I - tau v v^H)^H x is beta at `top`.

    beta is real, and has the opposite sign of x's real part there.  If x is zero below `top` and
    real at it, nothing is reflected: tau is 0.
    """
    place, first = places(x, -1), over(top, x)
    below = where(op.gt(place, first), x, 0)
    alpha = at(x, top, -1)
    rest = total(squares(below), -1)
    norm = op.sqrt(op.add(squares(alpha), rest))
    beta = converted_like(where(op.lt(real(alpha), zeros_like(norm)), norm, op.neg(norm)), x)
    zero = zeros_like(rest)
    done = op.and_(op.eq(rest, zero), op.eq(alpha, converted_like(real(alpha), x)))
    divisor = where(done, 1, op.sub(alpha, beta))
    tau = where(done, 0, op.div(op.sub(beta, alpha), where(done, 1, beta)))
    v = where(op.eq(place, first), 1, op.div(below, over(divisor, x)))
    return v, tau, where(done, alpha, beta)


def _joined(packed: Any, taus: Any, start: Any) -> tuple[Any, Any]:
    """Return V and T^-1 of the product I - V T V^H of a panel's reflectors, from row `start` on.

    T^-1 is upper triangular, with 1 / tau on its diagonal, and V^H V's elements above it.
    Source: T. Joffrain et al., "Accumulating Householder transformations, revisited", ACM
    Transactions on Mathematical Software 32 (2006).
    """
    row, diagonal = places(packed, -2), op.add(places(packed, -1), over(start, packed))
    v = where(op.gt(row, diagonal), packed, where(op.eq(row, diagonal), 1, zeros_like(packed)))
    # a factor of zero has no inverse; zeros for v reflect nothing either
    none, ones = (
        op.eq(taus, zeros_like(taus)),
        spread(elementwise_constant(taus, 1), shape_of(taus)),
    )
    v = where(over(none, v, -2), 0, v)
    inner = dot(adjoint(v), v)
    inverse = over(op.div(ones, where(none, 1, taus)), inner, -2)
    above = op.lt(places(inner, -2), places(inner, -1))
    return v, where(above, inner, op.mul(eye(inner), inverse))


def householder_product(a: Any, taus: Any) -> Any:
    """Return the first columns of a product of reflectors, as `householder_product_p`."""
    *_, rows, columns = shape_of(a)
    q, k = eye(a), shape_of(taus)[-1]
    if not k:
        return q
    count, width = panels(k)
    size = count * width
    a = padded(block(a, columns=slice(k)), max(rows, size), size)
    q, taus = padded(q, max(rows, size), columns), padded(taus, size)

    def step(i: Any, q: Any) -> tuple[Any]:
        start = op.mul(op.sub(np.int32(count - 1), i), np.int32(width))
        packed = window(a, start, width, -1)
        v, inverse = _joined(packed, window(taus, start, width, -1), start)
        return (op.sub(q, dot(v, solve(inverse, dot(adjoint(v), q)))),)

    return block(repeat(count, step, q)[0], slice(rows))


def pivoted_geqrf(a: Any) -> tuple[Any, Any, Any]:
    """Like `geqrf`, for matrices with columns permuted so that R's diagonal descends.

    The third result is the permutation.  Each step takes the column with the greatest remaining
    norm; the norms are recomputed, which costs no more than the reflection.
    Source: G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 5.4.2.
    """
    *batch, rows, columns = shape_of(a)
    k = min(rows, columns)
    a, unit = scaled(a)

    def step(j: Any, a: Any, taus: Any, order: Any) -> tuple[Any, ...]:
        sizes = total(squares(where(op.ge(places(a, -2), over(j, a)), a, 0)), -2)
        pivot = greatest(sizes, j)
        a, order = exchange(a, j, pivot, -1), exchange(order, j, pivot, -1)
        return *_reflected(a, j, j, taus), order

    taus = zeros((*batch, k), get_aval(a).dtype)
    order = unpermuted(*batch, columns)
    a, taus, order = repeat(k, step, a, taus, order)
    return _unscaled(a, unit), taus, order
