"""Decompositions of matrices, checked by the properties of their factors.

Factors are not unique, so none are computed here for a comparison. The error of their product may
be as large as in LAPACK's own tests: 30 n u |A|, for n the larger side and u the unit roundoff
(Anderson et al., LAPACK Users' Guide, 3rd ed., chapter 4; LAPACK Working Note 41).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.verification.floats import format_of
from olympus_core.verification.reference.matrices import reflected
from olympus_core.verification.reference.rule import Array, Call

_THRESHOLD = 30.0  # of LAPACK's tests
_GAIN = 0.95  # of LAPACK's balancing: the least reduction by a step
_SWEEPS = 100  # a few are enough


class Property(NamedTuple):
    """A property of the results: `got` equals `want` within `allowed` in each element.

    `formula` is the property as text; `result` is the number of the blamed result.
    """

    formula: str
    result: int
    got: Array
    want: Array
    allowed: Array | float = 0.0


Properties = Callable[[Call, Sequence[Array]], Iterator[Property]]


def _adjoint(a: Array) -> Array:
    return np.conj(np.swapaxes(a, -1, -2))


def _allowed(call: Call, a: Array) -> Array:
    """Return 30 n u |A|, in the Frobenius norm, for each matrix."""
    unit = format_of(call.avals_in[0].dtype).roundoff
    size = np.sqrt(np.sum(np.abs(a) ** 2, (-2, -1), keepdims=True))
    return np.asarray(_THRESHOLD * max(a.shape[-2:]) * unit * size)


def _orthonormal(call: Call, formula: str, result: int, q: Array) -> Property:
    """Return the property that the columns of `q` are orthogonal, and of length 1."""
    unit = format_of(call.avals_in[0].dtype).roundoff
    eye = np.broadcast_to(np.eye(q.shape[-1], dtype=q.dtype), (*q.shape[:-2], *[q.shape[-1]] * 2))
    return Property(formula, result, _adjoint(q) @ q, eye, _THRESHOLD * max(q.shape[-2:]) * unit)


def _lu(call: Call, results: Sequence[Array]) -> Iterator[Property]:
    (a,), (factors, pivots, order) = call.operands, results
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


def _qr(call: Call, results: Sequence[Array]) -> Iterator[Property]:
    (a,), (q, r, *order) = call.operands, results
    if order:
        columns = np.clip(order[0], 0, a.shape[-1] - 1)[..., None, :].astype(np.intp)
        numbers = np.broadcast_to(np.arange(a.shape[-1], dtype=order[0].dtype), order[0].shape)
        yield Property("the permutation has each column", 2, np.sort(order[0], -1), numbers)
        a = np.take_along_axis(a, columns, -1)
    yield Property("R is upper triangular", 1, r, np.triu(r))
    yield _orthonormal(call, "Q^H Q = 1", 0, q)
    yield Property("Q R = a", 0, q @ r, a, _allowed(call, a))


def _geqrf(call: Call, results: Sequence[Array]) -> Iterator[Property]:
    (a,), (packed, taus) = call.operands, results
    rows, k = a.shape[-2], taus.shape[-1]
    eye = np.broadcast_to(np.eye(rows, k, dtype=packed.dtype), (*taus.shape[:-1], rows, k))
    q, r = reflected(packed, taus, eye), np.triu(packed)[..., :k, :]
    yield _orthonormal(call, "Q^H Q = 1 for the Q of the reflectors", 1, q)
    yield Property("Q R = a for the Q of the reflectors", 0, q @ r, a, _allowed(call, a))


def _balance(a: Array) -> Array:
    """Return the diagonal d, powers of 2, that balances the rows and columns of d^-1 a d.

    Source: R. James, J. Langou and B. Lowery, "On matrix balancing and eigenvector computation",
    arXiv:1401.5766, algorithm 3, which LAPACK uses.
    """
    d = np.ones(a.shape[:-1])
    for index in np.ndindex(*a.shape[:-2]):
        b, scale = np.abs(a[index]), d[index]
        for _ in range(_SWEEPS):
            before = scale.copy()
            for i in range(len(scale)):
                column, row = np.linalg.norm(b[:, i]), np.linalg.norm(b[i])
                f = 2.0 ** np.round(np.log2(row / column) / 2) if row and column else 1.0
                if column * f + row / f < _GAIN * (column + row):
                    scale[i], b[:, i], b[i] = scale[i] * f, b[:, i] * f, b[i] / f
            if np.array_equal(before, scale):
                break
    return d


def _residual(a: Array, d: Array, v: Array, unit: float) -> Array:
    """Return the bound of a v - v diag(w): 30 n u |a| |v|, also for a balanced matrix.

    `d` is the diagonal of the balance, so that d^-1 v are vectors of d^-1 a d.
    """
    rows, balanced = d[..., :, None], a / d[..., :, None] * d[..., None, :]
    plain = np.linalg.norm(a, axis=(-2, -1))[..., None, None]
    size = np.linalg.norm(balanced, axis=(-2, -1))[..., None, None]
    length, scaled = (np.linalg.norm(x, axis=-2, keepdims=True) for x in (v, v / rows))
    return np.asarray(unit * np.maximum(plain * length, size * rows * scaled))


def _eig(call: Call, results: Sequence[Array]) -> Iterator[Property]:
    """Yield the property of each pair, and of two power sums, which detect a missing eigenvalue.

    For w of a + E, |tr E| <= sqrt(n) |E| and |tr (a + E)^2 - tr a^2| <= 2 |a| |E| + |E|^2.
    """
    (a,), (w, *vectors) = call.operands, results
    n, allowed = a.shape[-1], _allowed(call, a)
    error, size = allowed[..., 0, 0], np.sqrt(np.sum(np.abs(a) ** 2, (-2, -1)))
    first, second = np.trace(a, axis1=-2, axis2=-1), np.einsum("...ij,...ji->...", a, a)
    yield Property("sum(w) = trace(a)", 0, w.sum(-1), first, np.sqrt(n) * error)
    yield Property("sum(w^2) = trace(a a)", 0, (w**2).sum(-1), second, 3 * size * error)
    unit = _THRESHOLD * n * format_of(call.avals_in[0].dtype).roundoff
    sides = [side for side in ("left", "right") if call.params[side]]
    for place, (side, v) in enumerate(zip(sides, vectors, strict=True), 1):
        length = np.sqrt(np.sum(np.abs(v) ** 2, -2))
        yield Property("each vector has length 1", place, length, np.ones_like(length), unit)
        matrix, eigenvalues, scale, formula = a, w[..., None, :], _balance(a), "a R = R diag(w)"
        if side == "left":
            matrix, eigenvalues, scale, formula = (
                _adjoint(a),
                eigenvalues.conj(),
                1 / scale,
                "a^H L = L diag(w*)",
            )
        yield Property(
            formula, place, matrix @ v, v * eigenvalues, _residual(matrix, scale, v, unit)
        )


def _eigh(call: Call, results: Sequence[Array]) -> Iterator[Property]:
    (a,), (v, w) = call.operands, results
    half = np.tril(a, -1) if call.params["lower"] else np.triu(a, 1)
    diagonal = np.real(np.diagonal(a, axis1=-2, axis2=-1))
    full = half + _adjoint(half) + diagonal[..., None] * np.eye(a.shape[-1])
    yield Property("the eigenvalues rise", 1, w, np.sort(w, -1))
    yield _orthonormal(call, "V^H V = 1", 0, v)
    yield Property("A V = V diag(w)", 0, full @ v, v * w[..., None, :], _allowed(call, full))


def _svd(call: Call, results: Sequence[Array]) -> Iterator[Property]:
    (a,), (s, *vectors) = call.operands, results
    yield Property("the singular values fall, and are not negative", 0, s, -np.sort(-np.abs(s), -1))
    if not vectors:
        exact = np.linalg.svd(a, compute_uv=False)
        yield Property("s are the singular values of a", 0, s, exact, _allowed(call, a)[..., 0])
        return
    u, vh = vectors
    k = s.shape[-1]
    yield _orthonormal(call, "U^H U = 1", 1, u)
    yield _orthonormal(call, "V^H V = 1", 2, _adjoint(vh))
    product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
    yield Property("U diag(s) V^H = a", 1, product, a, _allowed(call, a))


def _finite(properties: Properties) -> Properties:
    """Return the properties for finite results only: a failed decomposition returns NaNs."""

    def checked(call: Call, results: Sequence[Array]) -> Iterator[Property]:
        if all(np.isfinite(x).all() and x.size for x in (*call.operands, *results)):
            yield from properties(call, results)

    return checked


#: The properties of the results of primitives, by their names.
PROPERTIES: dict[str, Properties] = {
    "lu": _finite(_lu),
    "qr": _finite(_qr),
    "geqrf": _finite(_geqrf),
    "eig": _finite(_eig),
    "eigh": _finite(_eigh),
    "svd": _finite(_svd),
}
