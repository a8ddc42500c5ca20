"""Decompositions of matrices, checked by what must hold of their factors.

Factors are not unique, so that none are computed here to compare with.  What they must multiply to
may be wrong by as much as in LAPACK's own tests: 30 n u |A|, for n the larger side and u the unit
roundoff (Anderson et al., LAPACK Users' Guide, 3rd ed., chapter 4; LAPACK Working Note 41).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.verification.floats import format_of
from olympus_core.verification.reference.rule import Array, Call

__all__ = ["PROPERTIES", "Property"]

_THRESHOLD = 30.0  # of LAPACK's tests


class Property(NamedTuple):
    """Something that must hold: `got` is `want`, but for `allowed` in each element.

    `said` is it as a formula; `result` is the number of the result that is blamed.
    """

    said: str
    result: int
    got: Array
    want: Array
    allowed: Array | float = 0.0


Properties = Callable[[Call, Sequence[Array]], Iterator[Property]]


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def _allowed(call: Call, a: Array) -> Array:
    """30 n u |A|, in the Frobenius norm, for each matrix."""
    unit = format_of(call.avals_in[0].dtype).roundoff
    size = np.sqrt(np.sum(np.abs(a) ** 2, (-2, -1), keepdims=True))
    return np.asarray(_THRESHOLD * max(a.shape[-2:]) * unit * size)


def _orthonormal(call: Call, said: str, result: int, q: Array) -> Property:
    """The columns of `q` are orthogonal, and of length 1."""
    unit = format_of(call.avals_in[0].dtype).roundoff
    eye = np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], *[q.shape[-1]] * 2))
    return Property(said, result, _adjoint(q) @ q, eye, _THRESHOLD * max(q.shape[-2:]) * unit)


def _lu(call: Call, made: Sequence[Array]) -> Iterator[Property]:
    (a,), (factors, pivots, order) = call.operands, made
    rows, columns = a.shape[-2:]
    k = min(rows, columns)
    low = np.tril(factors, -1)[..., :k] + np.eye(rows, k, dtype=factors.dtype)
    up = np.triu(factors)[..., :k, :]
    swapped = np.broadcast_to(np.arange(rows, dtype=order.dtype), order.shape).copy()
    for batch in np.ndindex(*order.shape[:-1]):
        for i, j in enumerate(np.clip(pivots[batch], 0, rows - 1)):
            swapped[(*batch, i)], swapped[(*batch, j)] = (
                swapped[(*batch, j)],
                swapped[(*batch, i)],
            )
    yield Property("the permutation is that of the pivots", 2, order, swapped)
    moved = np.take_along_axis(a, np.clip(order, 0, rows - 1)[..., None].astype(np.intp), -2)
    growth = _THRESHOLD * max(rows, columns) * format_of(call.avals_in[0].dtype).roundoff
    # Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 9.3
    yield Property("L U = a[permutation]", 0, low @ up, moved, growth * (np.abs(low) @ np.abs(up)))


def _qr(call: Call, made: Sequence[Array]) -> Iterator[Property]:
    (a,), (q, r, *order) = call.operands, made
    if order:
        columns = np.clip(order[0], 0, a.shape[-1] - 1)[..., None, :].astype(np.intp)
        numbers = np.broadcast_to(np.arange(a.shape[-1], dtype=order[0].dtype), order[0].shape)
        yield Property("the permutation has each column", 2, np.sort(order[0], -1), numbers)
        a = np.take_along_axis(a, columns, -1)
    yield Property("R is upper triangular", 1, r, np.triu(r))
    yield _orthonormal(call, "Q^H Q = 1", 0, q)
    yield Property("Q R = a", 0, q @ r, a, _allowed(call, a))


def _eigh(call: Call, made: Sequence[Array]) -> Iterator[Property]:
    (a,), (v, w) = call.operands, made
    half = np.tril(a, -1) if call.params["lower"] else np.triu(a, 1)
    diagonal = np.real(np.diagonal(a, axis1=-2, axis2=-1))
    full = half + _adjoint(half) + diagonal[..., None] * np.eye(a.shape[-1])
    yield Property("the eigenvalues rise", 1, w, np.sort(w, -1))
    yield _orthonormal(call, "V^H V = 1", 0, v)
    yield Property("A V = V diag(w)", 0, full @ v, v * w[..., None, :], _allowed(call, full))


def _svd(call: Call, made: Sequence[Array]) -> Iterator[Property]:
    (a,), (s, *vectors) = call.operands, made
    yield Property("the singular values fall, and are not negative", 0, s, -np.sort(-np.abs(s), -1))
    if not vectors:
        exact = np.linalg.svd(a, compute_uv=False)
        yield Property("s are the singular values of a", 0, s, exact, _allowed(call, a)[..., 0])
        return
    u, vh = vectors
    k = s.shape[-1]
    yield _orthonormal(call, "U^H U = 1", 1, u)
    yield _orthonormal(call, "V^H V = 1", 2, _adjoint(vh))
    made_again = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    yield Property("U diag(s) V^H = a", 1, made_again, a, _allowed(call, a))


def _finite(properties: Properties) -> Properties:
    """The properties of results of numbers: a decomposition that failed gives NaNs."""

    def held(call: Call, made: Sequence[Array]) -> Iterator[Property]:
        if all(np.isfinite(x).all() and x.size for x in (*call.operands, *made)):
            yield from properties(call, made)

    return held


#: what must hold of the results of primitives, by their names
PROPERTIES: dict[str, Properties] = {
    "lu": _finite(_lu),
    "qr": _finite(_qr),
    "eigh": _finite(_eigh),
    "svd": _finite(_svd),
}
