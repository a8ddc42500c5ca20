"""The method of generalized minimal residuals (GMRES), with restarts.

It is that of Y. Saad and M. Schultz, "GMRES: a generalized minimal residual algorithm for solving
nonsymmetric linear systems" (1986): an orthonormal basis of a Krylov space, by Gram and Schmidt's
process done twice, and the least residual in the space.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from olympus_core.base import dtypes, tree
from olympus_core.base.errors import ArgumentError
from olympus_core.control.linear_solve import custom_linear_solve
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.control import while_loop
from olympus_core.library.lax.dot import Precision
from olympus_core.library.numpy.creation.fills import zeros, zeros_like
from olympus_core.library.numpy.creation.matrices import eye
from olympus_core.library.numpy.dtypes.queries import result_type
from olympus_core.library.numpy.elementwise.complex import conj
from olympus_core.library.numpy.elementwise.logic import isnan
from olympus_core.library.numpy.linalg.decompositions import qr as la_qr
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.products.einsum import einsum
from olympus_core.library.numpy.products.matmul import dot
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.ufuncs import maximum
from olympus_core.library.scipy.linalg.equations import solve as sp_solve
from olympus_core.library.scipy.linalg.equations import solve_triangular
from olympus_core.library.scipy.sparse.vectors import Operator, add, length, problem, subtract


def _normalized(x: Any, least: Any = None) -> tuple[Any, Any]:
    """Return x over its norm, and the norm; both are 0 if the norm is at most `least`."""
    norm = length(x)
    limit = dtypes.finfo(norm.dtype).eps if least is None else least
    is_long = norm > limit
    divisor = where(is_long, norm, 1)
    unit = tree.map(lambda v: where(is_long, v / divisor.astype(v.dtype), 0.0).astype(v.dtype), x)
    return unit, where(is_long, norm, 0.0)


def _projected(basis: Any, v: Any) -> Any:
    """Return the inner products of v with the vectors of a basis, the last axis of its leaves."""
    parts = [
        einsum("...n,...->n", conj(x), y, precision=Precision.HIGHEST)
        for x, y in zip(tree.leaves(basis), tree.leaves(v), strict=True)
    ]
    return sum(parts[1:], parts[0])


def _combined(basis: Any, weights: Any) -> Any:
    """Return the sum of the vectors of a basis, by weights."""
    return tree.map(lambda x: dot(x, weights, precision=Precision.HIGHEST), basis)


class _Krylov(NamedTuple):
    """A basis in the last axis of the leaves, the matrix of its images, and its size."""

    basis: Any
    rows: Any
    is_complete: Any
    size: Any


def _extended(a: Operator, m: Operator, state: _Krylov) -> _Krylov:
    """Return the basis with the image of its last vector, made orthogonal to it."""
    k, basis = state.size, state.basis
    image = m(a(tree.map(lambda x: x[..., k], basis)))
    norm = length(image)
    row = zeros_like(state.rows[0])
    for _ in range(2):  # the second time removes the rounding errors of the first
        part = _projected(basis, image)
        image = subtract(image, _combined(basis, part))
        row = row + part
    unit, rest = _normalized(image, dtypes.finfo(norm.dtype).eps * norm)
    row = row.at[k + 1].set(rest.astype(row.dtype))
    basis = tree.map(lambda x, y: x.at[..., k + 1].set(y), basis, unit)
    return _Krylov(basis, state.rows.at[k].set(row), rest == 0, k + 1)


def _least_squares(matrix: Any, right: Any) -> Any:
    """Return the weights of the least residual, by the normal equations."""
    adjoint = conj(matrix.T)
    return sp_solve(
        dot(adjoint, matrix, precision=Precision.HIGHEST),
        dot(adjoint, right, precision=Precision.HIGHEST),
        assume_a="pos",
    )


def _least_residual(state: _Krylov, norm: Any, by_rotations: bool) -> Any:
    matrix = state.rows.T
    right = zeros(matrix.shape[0], matrix.dtype).at[0].set(norm.astype(matrix.dtype))
    if by_rotations:
        q, r = la_qr(matrix)
        return solve_triangular(r, dot(conj(q.T), right, precision=Precision.HIGHEST))
    return _least_squares(matrix, right)


def _cycle(
    a: Operator, m: Operator, b: Any, x: Any, unit: Any, norm: Any, restart: int, by_rotations: bool
) -> tuple[Any, Any, Any]:
    """Return the solution after one basis of `restart` vectors, its unit residual and its norm."""
    dtype = result_type(*tree.leaves(b))
    basis = tree.map(
        lambda v: concatenate([v[..., None], zeros((*v.shape, restart), v.dtype)], axis=-1), unit
    )
    start = _Krylov(
        basis, eye(restart, restart + 1, dtype=dtype), zeros((), bool), zeros((), np.int32)
    )
    end: _Krylov = while_loop(
        lambda s: (s.size < restart) & ~s.is_complete, lambda s: _extended(a, m, s), start
    )
    weights = _least_residual(end, norm, by_rotations)
    x = add(x, _combined(tree.map(lambda v: v[..., :-1], end.basis), weights))
    return (x, *_normalized(m(subtract(b, a(x)))))


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Array]:
    """Solve A x = b by generalized minimal residuals; the arguments and errors are those of `cg`.

    restart: the size of the basis. maxiter: the most bases. solve_method: "batched" for normal
    equations, "incremental" for an orthogonal decomposition, which is more exact.

    Returns x, and 0, or -1 if x has a nan. ArgumentError for another `solve_method`.

    >>> gmres(array([[2.0, 1.0], [0.0, 4.0]]), array([2.0, 4.0]))[0]
    Array([0.5, 1. ], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ArgumentError(
            f"invalid solve_method {solve_method}, must be either 'incremental' or 'batched'"
        )
    p = problem(A, b, x0, M)
    most = 10 * p.size if maxiter is None else maxiter
    size = min(restart, p.size)
    limit = maximum(tol * length(p.b), atol)

    def solve(a: Operator, right: Any) -> Any:
        def step(state: Any) -> Any:
            x, unit, norm, k = state
            after = _cycle(a, p.m, right, x, unit, norm, size, solve_method == "incremental")
            return (*after, k + 1)

        unit, norm = _normalized(p.m(subtract(right, a(p.x0))))
        start = (p.x0, unit, norm, 0)
        return while_loop(lambda s: (s[3] < most) & (s[2] > limit), step, start)[0]

    x = custom_linear_solve(p.a, p.b, solve, transpose_solve=solve)
    return x, where(isnan(length(x)), -1, 0)
