"""The Cholesky decomposition, the solution of triangular systems, and products of reflectors.

Their rounding errors depend on the matrix: the bounds are those of Higham, Accuracy and Stability
of Numerical Algorithms, 2nd ed., section 8.2 and theorem 10.8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_core.verification.reference.rule import Array, Call, Rule


def _hermitian(call: Call) -> Array:
    """Return the Hermitian matrices that the lower triangles define."""
    (a,) = call.operands
    low = np.tril(a, -1)
    diagonal = np.tril(np.triu(a)).real
    return np.asarray(low + diagonal + np.conj(np.swapaxes(low, -1, -2)))


def _cholesky(call: Call) -> list[Array]:
    """Return the factor of each matrix; NaN below the diagonal if it is not positive definite."""
    full = _hermitian(call)
    factors = np.zeros(full.shape, full.dtype)
    for index in np.ndindex(full.shape[:-2]):
        try:
            factors[index] = np.linalg.cholesky(full[index])
        except np.linalg.LinAlgError:
            factors[index] = np.tril(np.full(full.shape[-2:], np.nan))
    return [factors]


def _cholesky_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    """Return |dL| <= n (n + 1) u k(A) |L|, in norms: the backward error times the condition number.

    A matrix with a condition number above 1 / u may count as positive definite or not.
    """
    full, n = _hermitian(call), call.out.shape[-1]
    if not full.size:
        return [0.0]
    eigenvalues = np.abs(np.linalg.eigvalsh(np.nan_to_num(full)))
    smallest, largest = eigenvalues.min(-1), eigenvalues.max(-1)
    condition = largest / np.maximum(smallest, 1e-300)
    scale = np.sqrt(largest) * n * (n + 1) * roundoff * condition
    bound = np.where(n * (n + 1) * roundoff * condition < 1, scale, np.inf)
    return [np.broadcast_to(bound[..., None, None], full.shape)]


def _triangle(a: Array, params: dict[str, Any]) -> Array:
    triangle = np.tril(a) if params["lower"] else np.triu(a)
    if params["unit_diagonal"]:
        eye = np.eye(a.shape[-1], dtype=bool)
        triangle = np.where(eye, 1, triangle)
    triangle = np.conj(triangle) if params["conjugate_a"] else triangle
    return np.asarray(np.swapaxes(triangle, -1, -2) if params["transpose_a"] else triangle)


def _solve(call: Call) -> list[Array]:
    a, b = call.operands
    matrix = _triangle(a, call.params)
    if not b.size:
        return [b]
    left_side = call.params["left_side"]
    if not left_side:
        matrix, b = np.swapaxes(matrix, -1, -2), np.swapaxes(b, -1, -2)
    try:
        solution = np.linalg.solve(matrix, b)
    except np.linalg.LinAlgError:  # of a zero on the diagonal: it is divided by
        solution = np.full(b.shape, np.nan, b.dtype)
    return [np.asarray(solution if left_side else np.swapaxes(solution, -1, -2))]


def _solve_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    """Return |dx| <= n u |A^-1| |A| |x|, element by element."""
    a, _ = call.operands
    matrix, (x,) = _triangle(a, call.params), values
    n = matrix.shape[-1]
    if not x.size or not np.isfinite(x).all():
        return [np.inf]
    inverse = np.abs(np.linalg.inv(matrix))
    growth = np.matmul(inverse, np.abs(matrix))
    if call.params["left_side"]:
        total = np.matmul(growth, np.abs(x))
    else:
        total = np.matmul(np.abs(x), np.matmul(np.abs(matrix), inverse))
    return [8 * (n + 1) * roundoff * total]


def reflected(packed: Array, taus: Array, x: Array) -> Array:
    """Return H_1 H_2 .. H_k x, for the reflectors H = 1 - tau v v^H in `packed` and `taus`.

    v of reflector i is 1 in row i and 0 above it; the rest is below the diagonal of column i of
    `packed`, of shape (.., m, n), for `taus` of (.., k) and `x` of (.., m, p). Source: LAPACK
    Users' Guide, 3rd ed., "Representation of orthogonal or unitary matrices".
    """
    product = x
    for i in reversed(range(taus.shape[-1])):
        v = packed[..., :, i : i + 1].copy()
        v[..., :i, :], v[..., i, :] = 0, 1
        product = product - taus[..., None, i : i + 1] * v * np.matmul(
            np.conj(np.swapaxes(v, -1, -2)), product
        )
    return product


def _product(call: Call) -> list[Array]:
    """Return the first columns of the product of the reflectors."""
    a, taus = call.operands
    eye = np.eye(*a.shape[-2:], dtype=a.dtype)
    return [reflected(a, taus, np.broadcast_to(eye, a.shape))]


def _product_error(call: Call, values: Sequence[Array], roundoff: float) -> Sequence[Any]:
    """Return 30 m u (1 + |H_1| .. |H_k|) for m rows; LAPACK's tests of Q allow 30 m u.

    |H| is the 2-norm of a reflector 1 - tau v v^H: 1 if it is orthogonal, or else |1 - tau |v|^2|.
    """
    a, taus = call.operands
    if not taus.size:
        return [0.0]
    squares = np.sum(np.abs(np.tril(a, -1)[..., : taus.shape[-1]]) ** 2, -2)
    norms = np.maximum(1.0, np.abs(1 - taus * (1 + squares)))
    growth = np.asarray(30.0 * a.shape[-2] * roundoff * (1 + np.prod(norms, -1)))
    return [np.broadcast_to(growth[..., None, None], a.shape)]


MATRICES: dict[str, Rule] = {
    "cholesky": Rule(_cholesky, _cholesky_error),
    "triangular_solve": Rule(_solve, _solve_error),
    "householder_product": Rule(_product, _product_error),
}
