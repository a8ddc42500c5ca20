"""LAPACK's routines for small matrices, as loops over their rows, with the same options.

Each step works on the whole matrix, with masks: for at most 7 rows, this compiles to less code than
steps on parts of it.
Source: G. Golub and C. Van Loan, "Matrix Computations", 4th ed. (2013), 3.1, 3.2.6 and 4.2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_core.base.avals import shape_of
from olympus_core.ir.primitive import op
from olympus_core.primitives.elementwise.base import spread, zeros_like
from olympus_core.primitives.linalg.algebra import swap
from olympus_core.primitives.linalg.portable.arrays import (
    INT32,
    at,
    over,
    places,
    put,
    take,
    where,
    zeros,
)
from olympus_core.primitives.looping import repeat


def potrf(a: Any, *, uplo: str) -> tuple[Any, Any]:
    """Return the Cholesky factor of matrices ([..., n, n]) in the triangle `uplo`, "L" or "U".

    The other triangle is that of `a`. The second result is 0, or the number of the first column
    whose pivot is not positive: then the factor is not one. As in OpenBLAS, NaN is no failure.
    """
    if uplo == "U":
        factor, info = potrf(swap(a), uplo="L")
        return swap(factor), info
    row, column = places(a, -2), places(a, -1)

    def step(j: Any, a: Any, info: Any) -> tuple[Any, Any]:
        values = at(a, j, -1)
        pivot = at(values, j, -1)
        root = op.sqrt(pivot)
        factors = put(op.div(values, over(root, values)), j, root, -1)
        rest = op.sub(a, op.mul(over(factors, a, -1), over(factors, a, -2)))
        is_right = op.and_(op.gt(column, over(j, a)), op.ge(row, column))
        is_column = op.and_(op.eq(column, over(j, a)), op.ge(row, column))
        a = where(is_right, rest, where(is_column, over(factors, a, -1), a))
        return a, _first(info, op.le(pivot, zeros_like(pivot)), j)

    factor, info = repeat(shape_of(a)[-1], step, a, zeros(shape_of(a)[:-2], INT32))
    return factor, info


def getrf(a: Any) -> tuple[Any, Any, Any]:
    """Return L and U of matrices ([..., m, n]) in one matrix, the pivots counted from 1, and info.

    `info` is 0, or the number of the first pivot that is zero.
    """
    *batch, rows, columns = shape_of(a)
    count = min(rows, columns)
    row, column = places(a, -2), places(a, -1)

    def step(j: Any, a: Any, pivots: Any, info: Any) -> tuple[Any, Any, Any]:
        values, here = at(a, j, -1), at(a, j, -2)
        top = _greatest(op.abs(values), j)
        found = take(a, top, -2)
        pivot = at(found, j, -1)
        is_zero = op.eq(pivot, zeros_like(pivot))
        values = put(values, top, at(values, j, -1), -1)
        factors = where(over(is_zero, values), values, op.div(values, over(pivot, values)))
        a = put(put(a, top, here, -2), j, found, -2)
        rest = op.sub(a, op.mul(over(factors, a, -1), over(found, a, -2)))
        below, is_column = op.gt(row, over(j, a)), op.eq(column, over(j, a))
        rest = where(op.gt(column, over(j, a)), rest, a)
        a = where(below, where(is_column, over(factors, a, -1), rest), a)
        pivots = put(pivots, j, op.add(top, _like(1, top)), -1)
        return a, pivots, _first(info, is_zero, j)

    factors, pivots, info = repeat(
        count, step, a, zeros((*batch, count), INT32), zeros(tuple(batch), INT32)
    )
    return factors, pivots, info


def trsm(a: Any, b: Any, *, side: str, uplo: str, trans_x: str, diag: str) -> Any:
    """Return x with op(a) x = b, or x op(a) = b if `side` is "R", for triangular a ([..., n, n]).

    op transposes unless `trans_x` is "N". a is lower triangular if `uplo` is "L", and its diagonal
    counts as ones if `diag` is "U".
    """
    if side == "R":
        transposed = "T" if trans_x == "N" else "N"
        return swap(trsm(a, swap(b), side="L", uplo=uplo, trans_x=transposed, diag=diag))
    is_lower = (uplo == "L") == (trans_x == "N")
    a = a if trans_x == "N" else swap(a)
    last = np.int32(shape_of(a)[-1] - 1)
    row = places(b, -2)

    def step(i: Any, x: Any) -> tuple[Any]:
        j = i if is_lower else op.sub(last, i)
        column, solved = at(a, j, -1), at(x, j, -2)
        if diag == "N":
            solved = op.div(solved, over(at(column, j, -1), solved))
        rest = op.sub(x, op.mul(over(column, x, -1), over(solved, x, -2)))
        later = (op.gt if is_lower else op.lt)(row, over(j, x))
        return (where(later, rest, put(x, j, solved, -2)),)

    return repeat(int(last) + 1, step, b)[0]


def _like(value: int, x: Any) -> Any:
    return spread(np.int32(value), shape_of(x))


def _first(info: Any, failed: Any, j: Any) -> Any:
    """Return `info`, or j + 1 where it is 0 and step j failed."""
    number = spread(op.add(j, np.int32(1)), shape_of(info))
    return where(op.and_(failed, op.eq(info, zeros_like(info))), number, info)


def _greatest(sizes: Any, start: Any) -> Any:
    """Return the first index of the greatest element from `start` on, without an argmax.

    XLA compiles an argmax, a joint reduction, to a function of its own.
    """
    place, last = places(sizes, -1), shape_of(sizes)[-1] - 1
    is_later = op.ge(place, over(start, sizes))
    sizes = where(is_later, sizes, -1)
    axes = (len(shape_of(sizes)) - 1,)
    greatest = over(op.reduce_max(sizes, axes=axes), sizes)
    # not "equal": the greatest of numbers with a NaN is NaN
    is_greatest = op.and_(is_later, op.not_(op.lt(sizes, greatest)))
    return op.reduce_min(where(is_greatest, place, _like(last, place)), axes=axes)
