"""The methods of conjugate gradients, and of stabilized biconjugate gradients.

They are those of Y. Saad, "Iterative Methods for Sparse Linear Systems" (2003), algorithms 9.1 and
7.7, with the breakdowns of SciPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_core.base import dtypes, tree
from olympus_core.base.avals import get_aval
from olympus_core.control.linear_solve import custom_linear_solve
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.control import while_loop
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import ones
from olympus_core.library.numpy.dtypes.queries import result_type
from olympus_core.library.numpy.elementwise.arithmetic import square
from olympus_core.library.numpy.elementwise.complex import real
from olympus_core.library.numpy.sorting.searching import where
from olympus_core.library.numpy.ufuncs import maximum
from olympus_core.library.scipy.sparse.vectors import (
    Operator,
    add,
    identity,
    inner,
    problem,
    real_inner,
    scaled,
    subtract,
)


def _limit(b: Any, tol: Any, atol: Any) -> Any:
    """Return the square of the residual's norm that ends a solution."""
    return maximum(square(tol) * real_inner(b, b), square(atol))


def _cg(a: Operator, b: Any, x0: Any, m: Operator, tol: Any, atol: Any, maxiter: Any) -> Any:
    limit = _limit(b, tol, atol)
    residual = subtract(b, a(x0))
    direction = m(residual)
    dtype = result_type(*tree.leaves(direction))
    gamma = real_inner(residual, direction).astype(dtype)

    def goes_on(state: Any) -> Any:
        _, r, gamma, _, k = state
        size = real(gamma) if m is identity else real_inner(r, r)
        return (size > limit) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, gamma, p, k = state
        image = a(p)
        alpha = gamma / real_inner(p, image).astype(dtype)
        r = subtract(r, scaled(alpha, image))
        z = m(r)
        new = real_inner(r, z).astype(dtype)
        return (
            add(x, scaled(alpha, p)),
            *(r, new, add(z, scaled(new / gamma, p)), k + 1),
        )

    start = (x0, residual, gamma, direction, 0)
    return while_loop(goes_on, step, start)[0]


def _bicgstab(a: Operator, b: Any, x0: Any, m: Operator, tol: Any, atol: Any, maxiter: Any) -> Any:
    limit = _limit(b, tol, atol)
    shadow = subtract(b, a(x0))
    dtype = result_type(*tree.leaves(shadow))

    def goes_on(state: Any) -> Any:
        _, r, *_, k = state
        return (real_inner(r, r) > limit) & (k < maxiter) & (k >= 0)

    def step(state: Any) -> Any:
        x, r, alpha, omega, rho, p, q, k = state
        new_rho = inner(shadow, r)
        beta = new_rho / rho * alpha / omega
        p = add(r, scaled(beta, subtract(p, scaled(omega, q))))
        p_hat = m(p)
        q = a(p_hat)
        alpha = new_rho / inner(shadow, q)
        s = subtract(r, scaled(alpha, q))
        ends = real_inner(s, s) < limit
        s_hat = m(s)
        t = a(s_hat)
        omega = inner(t, s) / inner(t, t)
        half = add(x, scaled(alpha, p_hat))
        whole = add(half, scaled(omega, s_hat))
        x = tree.map(lambda u, v: where(ends, u, v), half, whole)
        r = tree.map(lambda u, v: where(ends, u, u - omega * v), s, t)
        k = where(new_rho == 0, -10, where((omega == 0) | (alpha == 0), -11, k + 1))
        return x, r, alpha, omega, new_rho, p, q, k

    one = ones((), dtype)
    start = (x0, shadow, one, one, one, shadow, shadow, asarray(0))
    return while_loop(goes_on, step, start)[0]


def _solved(
    method: Callable[..., Any],
    A: Any,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    maxiter: Any,
    M: Any,
    is_symmetric: bool,
) -> Any:
    p = problem(A, b, x0, M)
    most = 10 * p.size if maxiter is None else maxiter

    def solve(a: Operator, right: Any) -> Any:
        return method(a, right, p.x0, p.m, tol, atol, most)

    return custom_linear_solve(p.a, p.b, solve, transpose_solve=solve, symmetric=is_symmetric)


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve A x = b by conjugate gradients, for a Hermitian positive definite operator.

    A: a function, or a square matrix. b: an array or a tree of arrays. x0: the start, of the tree
    of b; by default zeros. tol, atol: it ends when the norm of the residual is at most
    max(tol * norm(b), atol). maxiter: the most steps, by default 10 for each element. M: a
    preconditioner, an approximation of the inverse of A.

    Returns x and None. Derivatives are those of the solution, and use the same method.

    Raises ArgumentError if b and x0 differ in structure, ShapeError for a matrix that is not
    square, DTypeError for an operator that is neither.

    >>> cg(array([[2.0, 0.0], [0.0, 4.0]]), array([2.0, 4.0]))[0]
    Array([1.        , 0.99999994], dtype=float32)
    """
    right = tree.leaves(b)
    is_real = all(dtypes.kind(get_aval(x).dtype) != "c" for x in right)
    return _solved(_cg, A, b, x0, tol, atol, maxiter, M, is_real), None


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: ArrayLike = 1e-5,
    atol: ArrayLike = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """Solve A x = b by stabilized biconjugate gradients; arguments and errors are those of `cg`.

    >>> bicgstab(array([[2.0, 1.0], [0.0, 4.0]]), array([2.0, 4.0]))[0]
    Array([0.5, 1. ], dtype=float32)
    """
    return _solved(_bicgstab, A, b, x0, tol, atol, maxiter, M, False), None
