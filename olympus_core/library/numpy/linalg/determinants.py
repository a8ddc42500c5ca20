"""Determinants of square matrices: `det` and `slogdet`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes
from olympus_core.base.avals import get_aval, shape_of
from olympus_core.base.dimensions.expression import is_symbolic_dim
from olympus_core.base.errors import ArgumentError
from olympus_core.control.custom_jvp import custom_jvp
from olympus_core.ir.primitive import op
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.composite import composite
from olympus_core.library.numpy.creation.fills import ones, zeros_like
from olympus_core.library.numpy.creation.ranges import arange
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.elementwise.arithmetic import sign
from olympus_core.library.numpy.elementwise.exponential import log
from olympus_core.library.numpy.elementwise.logic import isfinite
from olympus_core.library.numpy.linalg.decompositions import inexact
from olympus_core.library.numpy.reductions.sums import all as all_
from olympus_core.library.numpy.reductions.sums import prod
from olympus_core.library.numpy.reductions.sums import sum as sum_
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.promotion import convert
from olympus_core.primitives.linalg.algebra import (
    diagonal,
    eye,
    solve,
    solve_factored,
    swap,
    take_rows,
)


class SlogdetResult(NamedTuple):
    """The result of `slogdet`: sign * exp(logabsdet) is the determinant."""

    sign: Any
    logabsdet: Any


def _parity(pivots: Any, like: Any) -> Any:
    """Return 1 for an even number of row swaps and -1 for an odd one, in like's dtype."""
    swapped = pivots != arange(pivots.shape[-1], dtype=pivots.dtype)
    odd = convert(sum_(swapped, axis=-1), np.dtype("int32")) % 2
    return convert(1 - 2 * odd, get_aval(like).dtype)


@custom_jvp
def _slogdet(a: Any, factors: Any, pivots: Any, order: Any) -> tuple[Any, Any]:
    """Return the sign and the logarithm by a's LU factors; the derivative uses a's inverse."""
    diagonals = diagonal(factors)
    size = abs_(diagonals)
    phases = sign(diagonals)
    return prod(phases, axis=-1) * _parity(pivots, factors), sum_(log(size), axis=-1)


@_slogdet.defjvp
def _slogdet_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Compute d log det a = trace(a^-1 da); its imaginary part rotates the sign."""
    a, factors, _, order = primals
    phase, logarithm = _slogdet(*primals)
    # the inverse depends on no tangent, and so is computed only once
    inverse = swap(solve_factored(a, factors, order, eye(a)))
    change = sum_(tangents[0] * inverse, axis=(-2, -1))
    if dtypes.kind(get_aval(a).dtype) != "c":
        return (phase, logarithm), (zeros_like(phase), change)
    turn = convert(change.imag, get_aval(a).dtype) * 1j
    return (phase, logarithm), (turn * phase, change.real)


@composite(static_argnames=("method",))
def slogdet(a: ArrayLike, *, method: str | None = None) -> SlogdetResult:
    """Return the sign and the logarithm of the magnitude of the determinants of square matrices.

    method: "lu" (the default) or "qr", for real matrices only; the results agree.

    Raises ShapeError for matrices that are not square, ArgumentError for another method.

    >>> slogdet(asarray([[2.0, 0.0], [0.0, -1.0]])).sign
    Array(-1., dtype=float32)
    """
    a = inexact("slogdet", a, square=True)
    if method not in (None, "lu", "qr"):
        raise ArgumentError(f"slogdet has the methods 'lu' and 'qr', and not {method!r}")
    dtype = get_aval(a).dtype
    wide = a if dtype.itemsize > 2 else convert(a, np.dtype("float32"))  # LAPACK has no narrow ones
    factors, pivots, order = op.lu(op.stop_gradient(wide))
    phase, logarithm = _slogdet(wide, factors, pivots, order)
    if wide is a:
        return SlogdetResult(phase, logarithm)
    return SlogdetResult(convert(phase, dtype), convert(logarithm, dtype))


def _adjugate(a: Any) -> tuple[Any, Any]:
    """Return the determinant and the adjugate, det(a) a^-1, which exists for singular matrices too.

    With L U = P a and p the product of U's diagonal but its last element, the last row of
    p U'^-1 does not divide by that element.  So it is replaced by 1 / p, and the other rows of the
    right-hand side are multiplied by det(a).  Below rank n - 1 the adjugate is 0.
    """
    factors, pivots, order = op.lu(a)
    n = factors.shape[-1]
    diagonals = diagonal(factors)
    partial = prod(diagonals[..., :-1], axis=-1) * _parity(pivots, factors)
    determinant = partial * diagonals[..., -1]
    last = np.arange(n) == n - 1
    corner = last[:, None] & last
    factors = where(corner, (1 / partial)[..., None, None], factors)
    x = solve(factors, take_rows(eye(a), order), lower=True, unit=True)
    x = solve(factors, x * where(last[:, None], 1, determinant[..., None, None]))
    regular = all_(isfinite(x), axis=(-2, -1), keepdims=True)
    return determinant, where(regular, x, 0)


@custom_jvp
def _det(a: Any) -> Any:
    factors, pivots, _ = op.lu(a)
    return prod(diagonal(factors), axis=-1) * _parity(pivots, factors)


@_det.defjvp
def _det_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
    """Compute d det a = trace(adj(a) da)."""
    determinant, adjugate = _adjugate(*primals)
    return determinant, sum_(tangents[0] * swap(adjugate), axis=(-2, -1))


def _expanded(a: Any) -> Any:
    """Return the determinant of 1, 2 or 3 rows by Leibniz's formula."""
    n = a.shape[-1]
    if n == 1:
        return a[..., 0, 0]
    terms = [
        math.prod((a[..., i, (k + i) % n] for i in range(1, n)), start=a[..., 0, k])
        - math.prod((a[..., i, (k - i) % n] for i in range(1, n)), start=a[..., 0, k])
        for k in range(n)
    ]
    return sum(terms[1:], start=terms[0])


@composite()
def det(a: ArrayLike) -> Array:
    """Return the determinants of square matrices; the derivatives of singular ones are correct too.

    Raises ShapeError for matrices that are not square.

    >>> det(asarray([[1.0, 2.0], [3.0, 4.0]]))
    Array(-2., dtype=float32)
    """
    x = inexact("det", a, square=True)
    *batch, n, _ = shape_of(x)
    if n == 0:
        return ones(tuple(batch), get_aval(x).dtype)
    if n == 2:
        result: Array = x[..., 0, 0] * x[..., 1, 1] - x[..., 0, 1] * x[..., 1, 0]
    else:
        result = _det(x) if is_symbolic_dim(n) or n > 3 else _expanded(x)
    return result
