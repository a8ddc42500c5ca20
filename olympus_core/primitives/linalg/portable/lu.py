"""LU decomposition with partial pivoting, blocked."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import reshape, zeros_like
from olympus_core.primitives.linalg.algebra import block, dot, solve, take_rows
from olympus_core.primitives.linalg.portable.arrays import (
    INT32,
    at,
    exchange,
    greatest,
    in_panels,
    over,
    places,
    put,
    put_window,
    trimmed,
    unpermuted,
    where,
    window,
    zeros,
)
from olympus_core.primitives.looping import repeat


def lu(a: Any) -> tuple[Any, Any, Any]:
    """Return L and U in one matrix, the pivots, and the row permutation, as `lu_p` returns them.

    Right-looking: a panel of columns is factorized column by column, all columns get its row
    swaps, and the rest of the matrix is updated by one triangular solution and one product.
    Every panel works on matrices of the full size, of which it changes a part, so that one loop
    serves all panels; the zeros that pad the last panel are not pivots.
    Source: G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 3.2.11 and 3.4.
    """
    *batch, rows, columns = shape_of(a)
    k = min(rows, columns)
    if not k:
        order = unpermuted(*batch, rows)
        return a, zeros((*batch, 0), INT32), order
    count, width, a = in_panels(a)
    order = unpermuted(*shape_of(a)[:-1])

    def step(i: Any, a: Any, pivots: Any, order: Any) -> tuple[Any, ...]:
        start = op.mul(i, np.int32(width))
        factors, pivots, turn = _panel(window(a, start, width, -1), start, pivots)
        if shape_of(a)[-1] > width:
            a = _updated(take_rows(a, turn), factors, start)
        return put_window(a, factors, start, -1), pivots, _reordered(order, turn)

    a, pivots, order = repeat(count, step, a, zeros((*batch, count * width), INT32), order)
    pivots, order = trimmed(pivots, k), trimmed(order, rows)
    return block(a, slice(rows), slice(columns)), pivots, order


def _reordered(order: Any, turn: Any) -> Any:
    column = reshape(order, (*shape_of(order), 1))
    return reshape(take_rows(column, turn), shape_of(order))


def _panel(a: Any, start: Any, pivots: Any) -> tuple[Any, Any, Any]:
    """Return the factors of a panel, one column after another, from row `start` on.

    The second result is `pivots` with those of the panel, the third is the order of the rows.
    """
    *batch, rows, columns = shape_of(a)
    row, column = places(a, -2), places(a, -1)

    def step(j: Any, a: Any, pivots: Any, order: Any) -> tuple[Any, ...]:
        top = op.add(start, j)
        pivot = greatest(_size(at(a, j, -1)), top)
        a, order = exchange(a, top, pivot, -2), exchange(order, top, pivot, -1)
        values = at(a, j, -1)
        divisor = over(at(values, top, -1), values)
        # a pivot is zero only if all elements below it are: then the column needs no step
        is_zero = op.eq(divisor, zeros_like(divisor))
        factors = over(op.select_n(is_zero, op.div(values, divisor), values), a, -1)
        below = op.gt(row, over(top, a))
        rest = op.sub(a, op.mul(factors, over(at(a, top, -2), a, -2)))
        a = where(op.and_(below, op.gt(column, over(j, a))), rest, a)
        a = where(op.and_(below, op.eq(column, over(j, a))), factors, a)
        return a, put(pivots, top, pivot, -1), order

    order = unpermuted(*batch, rows)
    results = repeat(columns, step, a, pivots, order)
    return results[0], results[1], results[2]


def _size(x: Any) -> Any:
    """Return the size that selects pivots; for complex numbers, as in LAPACK, |re| + |im|."""
    if dtypes.kind(get_aval(x).dtype) != "c":
        return op.abs(x)
    return op.add(op.abs(op.real(x)), op.abs(op.imag(x)))


def _updated(a: Any, factors: Any, start: Any) -> Any:
    """Return the matrix after a panel: rows beside it solved, their product subtracted below."""
    width = shape_of(factors)[-1]
    stop = op.add(start, np.int32(width))
    corner, beside = window(factors, start, width, -2), window(a, start, width, -2)
    solved = solve(corner, beside, lower=True, unit=True)
    solved = where(op.ge(places(beside, -1), over(stop, beside)), solved, beside)
    inside = op.and_(op.ge(places(a, -2), over(stop, a)), op.ge(places(a, -1), over(stop, a)))
    a = where(inside, op.sub(a, dot(factors, solved)), a)
    return put_window(a, solved, start, -2)
