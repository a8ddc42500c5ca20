"""Eigenvalues and eigenvectors of square matrices by the QR algorithm, in complex arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import elementwise_constant, zeros_like
from olympus_core.primitives.linalg.algebra import (
    adjoint,
    conj,
    converted_like,
    diagonal,
    dot,
    eye,
    real,
)
from olympus_core.primitives.linalg.portable.arrays import (
    INT32,
    at,
    epsilon,
    negligible,
    over,
    places,
    put_window,
    scaled,
    squares,
    take,
    total,
    where,
    window,
    zeros,
)
from olympus_core.primitives.linalg.portable.qr import reflector
from olympus_core.primitives.looping import repeat, repeat_while

#: the iterations for each row, and the period of the iterations with an exceptional shift
MAX_ITERATIONS, EXCEPTIONAL = 30, 10


def eig(a: Any, *, left: bool, right: bool) -> tuple[Any, ...]:
    """Return the eigenvalues and the requested left and right vectors, as `eig_p` returns them.

    Reflectors make a Hessenberg matrix, QR iterations with a shift make it triangular, and
    substitution computes the vectors of the triangular matrix.
    Source: G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 7.4 to 7.6.
    """
    dtype = dtypes.to_complex(get_aval(a).dtype)
    if not get_aval(a).size:
        return zeros(shape_of(a)[:-1], dtype), *[zeros(shape_of(a), dtype)] * (left + right)
    a, unit = scaled(a)
    a = op.convert_element_type(a, new_dtype=dtype, weak_type=False)
    t, z, done = _schur(*_hessenberg(a))
    w = diagonal(t)
    results = [op.mul(w, over(converted_like(unit, w), w))]
    if left:
        # the left vectors come from the adjoint, triangular when its rows and columns are reversed
        axes = tuple(range(len(shape_of(t)))[-2:])
        turned = _triangular_vectors(op.rev(adjoint(t), dimensions=axes))
        results.append(_normalized(dot(z, op.rev(turned, dimensions=axes))))
    if right:
        results.append(_normalized(dot(z, _triangular_vectors(t))))
    return tuple([where(over(done, x), x, np.nan) for x in results])


def _hessenberg(a: Any) -> tuple[Any, Any]:
    """Return H, zero below its first subdiagonal, and unitary Z with a = Z H Z^H."""

    def step(j: Any, h: Any, z: Any) -> tuple[Any, Any]:
        v, tau, _ = reflector(at(h, j, -1), op.add(j, np.int32(1)))
        row, column = over(conj(v), h, -2), over(v, h, -1)
        tau = over(tau, h)
        along = over(total(op.mul(over(conj(v), h, -1), h), -2), h, -2)
        h = op.sub(h, op.mul(op.mul(conj(tau), column), along))
        across = (over(total(op.mul(x, over(v, x, -2)), -1), x, -1) for x in (h, z))
        h, z = (op.sub(x, op.mul(op.mul(tau, y), row)) for x, y in zip((h, z), across, strict=True))
        return h, z

    h, z = repeat(max(0, shape_of(a)[-1] - 2), step, a, eye(a))
    is_hessenberg = op.le(places(h, -2), op.add(places(h, -1), over(np.int32(1), h)))
    return where(is_hessenberg, h, 0), z


def _schur(h: Any, z: Any) -> tuple[Any, Any, Any]:
    """Return triangular T, unitary Z from QR iterations on H, and True where these converged."""
    n = shape_of(h)[-1]
    norm = op.sqrt(total(squares(h), -2, -1))

    def more(count: Any, *carry: Any) -> Any:
        ends = carry[-1]
        unfinished = op.gt(ends, zeros_like(ends))
        some = op.reduce_or(unfinished, axes=tuple(range(len(shape_of(ends)))))
        return op.and_(some, op.lt(count, np.int32(MAX_ITERATIONS * n)))

    def iterate(count: Any, h: Any, z: Any, start: Any, end: Any) -> tuple[Any, ...]:
        shift = _shift(h, end, count)

        def chase(k: Any, h: Any, z: Any) -> tuple[Any, Any]:
            return _chased(h, z, k, shift, start, end)

        h, z = repeat(n - 1, chase, h, z)
        h, start, end = _deflated(h, norm)
        return op.add(count, np.int32(1)), h, z, start, end

    h, start, end = _deflated(h, norm)
    _, h, z, _, end = repeat_while(more, iterate, np.int32(0), h, z, start, end)
    done = op.and_(op.eq(end, zeros_like(end)), op.is_finite(norm))
    return where(op.le(places(h, -2), places(h, -1)), h, 0), z, done


def _deflated(h: Any, norm: Any) -> tuple[Any, Any, Any]:
    """Return H with negligible subdiagonal elements made zero, and the bounds of its last block.

    The block is the last one with nonzero subdiagonal elements; its end is 0 if all are zero.
    """
    below = op.eq(places(h, -2), op.add(places(h, -1), over(np.int32(1), h)))
    sizes = op.add(op.abs(op.real(h)), op.abs(op.imag(h)))
    ends = diagonal(sizes)
    near = op.add(over(ends, h, -2), over(ends, h, -1))
    small = op.mul(near, over(elementwise_constant(near, epsilon(near)), near))
    least = op.mul(norm, over(elementwise_constant(norm, negligible(norm)), norm))
    small = op.le(sizes, op.max(small, over(least, small)))
    h = where(op.and_(below, small), 0, h)
    rank = len(shape_of(h))
    links = op.and_(below, op.ne(h, zeros_like(h)))
    linked = op.reduce_or(links, axes=(rank - 1,))  # for each row, the link to the row above
    place = places(linked, -1)
    end = op.reduce_max(where(linked, place, 0), axes=(rank - 2,))
    free = op.and_(op.not_(linked), op.le(place, over(end, place)))
    return h, op.reduce_max(where(free, place, 0), axes=(rank - 2,)), end


def _shift(h: Any, end: Any, count: Any) -> Any:
    """Return the eigenvalue of the block's last two rows that is nearest to the last element.

    Periodically it is another number, for blocks that this shift does not change.
    """
    before = op.max(op.sub(end, over(np.int32(1), end)), zeros_like(end))
    last, above = take(h, end, -2), take(h, before, -2)
    a, b = take(above, before, -1), take(above, end, -1)
    c, d = take(last, before, -1), take(last, end, -1)
    half = op.mul(op.sub(a, d), over(elementwise_constant(a, 0.5), a))
    root = op.sqrt(op.add(op.mul(half, half), op.mul(b, c)))
    plus, minus = op.add(half, root), op.sub(half, root)
    # the other eigenvalue; the product of both is -b c, so that nothing cancels
    larger = op.select_n(op.lt(squares(plus), squares(minus)), plus, minus)
    none = op.eq(larger, zeros_like(larger))
    nearest = op.sub(d, op.div(op.mul(b, c), where(none, 1, larger)))
    size = converted_like(
        op.mul(op.abs(c), over(elementwise_constant(op.abs(c), 0.75), op.abs(c))), d
    )
    turn = op.rem(count, np.int32(EXCEPTIONAL))
    return where(over(op.eq(turn, np.int32(EXCEPTIONAL - 1)), d), op.add(d, size), nearest)


def _chased(h: Any, z: Any, k: Any, shift: Any, start: Any, end: Any) -> tuple[Any, Any]:
    """Return H and Z with rows and columns k and k + 1 rotated, if the block contains them."""
    rows = window(h, k, 2, -2)
    first = op.eq(over(k, start), start)
    here, before = at(rows, k, -1), at(rows, op.max(op.sub(k, np.int32(1)), np.int32(0)), -1)
    x = where(first, op.sub(at(here, np.int32(0), -1), shift), at(before, np.int32(0), -1))
    y = op.select_n(first, at(before, np.int32(1), -1), at(here, np.int32(1), -1))
    length = op.sqrt(op.add(squares(x), squares(y)))
    active = op.and_(op.ge(over(k, start), start), op.lt(over(k, end), end))
    active = op.and_(active, op.gt(length, zeros_like(length)))
    length = converted_like(where(active, length, 1), x)
    x, y = where(active, op.div(x, length), 1), where(active, op.div(y, length), 0)
    h = put_window(h, _rotated(rows, conj(x), conj(y), -2), k, -2)
    h, z = (put_window(m, _rotated(window(m, k, 2, -1), x, y, -1), k, -1) for m in (h, z))
    return h, z


def _rotated(pair: Any, x: Any, y: Any, axis: int) -> Any:
    """Return two rows or columns p and q as x p + y q and conj(x) q - conj(y) p."""
    p, q = at(pair, np.int32(0), axis), at(pair, np.int32(1), axis)
    x, y = over(x, p), over(y, p)
    first = op.add(op.mul(x, p), op.mul(y, q))
    second = op.sub(op.mul(conj(x), q), op.mul(conj(y), p))
    place = len(shape_of(pair)) + axis
    return op.stack(first, second, axis=place)


def _triangular_vectors(t: Any) -> Any:
    """Return the upper triangular eigenvectors of upper triangular matrices, by substitution.

    Equal eigenvalues are treated as different by a rounding error.  Columns are scaled as they
    grow, so that they do not overflow.
    """
    n = shape_of(t)[-1]
    w = diagonal(t)
    norm = op.sqrt(total(squares(t), -2, -1))
    least = op.mul(norm, over(elementwise_constant(norm, epsilon(norm)), norm))
    least = op.max(
        least,
        over(elementwise_constant(norm, float(dtypes.finfo(get_aval(norm).dtype).tiny)), norm),
    )

    def step(i: Any, y: Any) -> tuple[Any]:
        i = op.sub(np.int32(n - 1), i)
        known = total(op.mul(over(at(t, i, -2), y, -1), y), -2)
        gap = op.sub(w, over(at(w, i, -1), w))
        tiny = op.lt(op.abs(gap), over(least, op.abs(gap)))
        gap = op.select_n(tiny, gap, converted_like(over(least, op.abs(gap)), gap))
        place = places(w, -1)
        row = where(op.gt(place, over(i, place)), op.div(known, gap), 0)
        row = where(op.eq(place, over(i, place)), 1, row)
        y = op.select_n(op.eq(places(y, -2), over(i, y)), y, over(row, y, -2))
        size = op.abs(row)
        size = op.max(size, over(elementwise_constant(size, 1), size))
        return (op.div(y, over(converted_like(size, y), y, -2)),)

    return repeat(n, step, zeros_like(t))[0]


def _normalized(v: Any) -> Any:
    """Return columns of length 1 whose greatest element is real."""
    rank = len(shape_of(v))
    sizes = squares(v)
    greatest = op.argmax(sizes, axes=(rank - 2,), index_dtype=INT32)
    chosen = op.eq(places(v, -2), over(greatest, v, -2))
    top = total(where(chosen, v, 0), -2)
    v = op.div(v, over(op.mul(op.sign(top), converted_like(op.sqrt(total(sizes, -2)), top)), v, -2))
    return where(chosen, converted_like(real(v), v), v)
