"""The largest eigenvalues of a matrix that is known by its products, by LOBPCG.

The method is that of A. Knyazev, "Toward the optimal preconditioned eigensolver" (2001), without a
preconditioner, on an orthonormal basis as in J. Duersch et al. (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from olympus_core.base import dtypes
from olympus_core.base.errors import ArgumentError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.control import while_loop
from olympus_core.library.numpy.creation.array import asarray
from olympus_core.library.numpy.creation.fills import zeros_like
from olympus_core.library.numpy.elementwise.arithmetic import abs as abs_
from olympus_core.library.numpy.linalg.decompositions import eigh, qr
from olympus_core.library.numpy.linalg.norms import norm
from olympus_core.library.numpy.manipulation.joining import concatenate
from olympus_core.library.numpy.products.matmul import matmul
from olympus_core.library.numpy.reductions.sums import all as all_
from olympus_core.library.sparse.base import JAXSparse


class _State(NamedTuple):
    """The vectors, their products, the last directions, the eigenvalues, and the steps so far."""

    x: Any
    ax: Any
    p: Any
    theta: Any
    step: Any
    is_done: Any


def _product(x: Any, y: Any) -> Any:
    return matmul(x, y, precision="highest")


def lobpcg_standard(
    A: ArrayLike | JAXSparse | Callable[[Array], Array],
    X: ArrayLike,
    m: int = 100,
    tol: ArrayLike | None = None,
) -> tuple[Array, Array, Array]:
    """Return the k largest eigenvalues of a symmetric matrix, their eigenvectors, and the steps.

    A: a matrix of shape (n, n), or the function of its products with an array of shape (n, k). X:
    the first directions, linearly independent, of shape (n, k) with 5 k < n. m: the most steps.
    tol: an eigenvector v of the value w has converged once the norm of A v - w v is less than
    10 n tol (w + |A v|); by default the machine epsilon. The results have the shapes (k,), (n, k)
    and ().

    Raises ArgumentError (a ValueError) for other shapes or dtypes.

    >>> theta, vectors, steps = sparse.linalg.lobpcg_standard(
    ...     numpy.diag(numpy.arange(12.0)), numpy.eye(12)[:, -2:] + 0.1)
    >>> theta.round(2)
    Array([11., 10.], dtype=float32)
    """
    x = asarray(X)
    multiply: Callable[[Any], Any] = A if callable(A) else lambda v: _applied(A, v)
    _check(A, x, multiply)
    n, k = x.shape
    epsilon = dtypes.finfo(x.dtype).eps if tol is None else tol

    def ritz(basis: Any, old: Any) -> tuple[Any, Any, Any, Any]:
        """Return the best vectors in a basis, their products, values, and new directions."""
        products = multiply(basis)
        values, weights = eigh(_product(basis.T, products))
        values, weights = values[::-1][:k], weights[:, ::-1][:, :k]
        best = _product(basis, weights)
        return (
            best,
            _product(products, weights),
            values,
            best - _product(old, _product(old.T, best)),
        )

    def has_converged(ax: Any, x: Any, theta: Any) -> Any:
        residual, size = norm(ax - x * theta, axis=0), norm(ax, axis=0)
        return all_(residual < 10 * n * epsilon * (abs_(theta) + size))

    def advance(state: _State) -> _State:
        residual = state.ax - state.x * state.theta
        basis = qr(concatenate([state.x, residual, state.p], axis=1))[0]
        best, ax, theta, p = ritz(basis, state.x)
        return _State(best, ax, p, theta, state.step + 1, has_converged(ax, best, theta))

    first = qr(x)[0]
    best, ax, theta, _ = ritz(first, first)
    start = _State(best, ax, zeros_like(best), theta, asarray(0), has_converged(ax, best, theta))
    end: _State = while_loop(lambda s: ~s.is_done & (s.step < m), advance, start)
    return end.theta, end.x, end.step


def _applied(matrix: Any, v: Any) -> Any:
    if isinstance(matrix, JAXSparse):
        return matrix @ v
    return _product(asarray(matrix), v)


def _check(matrix: Any, x: Any, multiply: Callable[[Any], Any]) -> None:
    if x.ndim != 2:
        raise ArgumentError(f"X must be a matrix of shape (n, k), and has the shape {x.shape}")
    n, k = x.shape
    if k * 5 >= n:
        raise ArgumentError(f"expected search dim * 5 < matrix dim (got {k * 5}, {n})")
    if k == 0:
        raise ArgumentError("must have search dim > 0, got 0")
    if dtypes.kind(x.dtype) != "f":
        raise ArgumentError(f"X must be an array of floats, and has the dtype {x.dtype}")
    if callable(matrix):
        return
    shape, dtype = tuple(matrix.shape), matrix.dtype
    if shape != (n, n):
        raise ArgumentError(f"A must have the shape {(n, n)} (got {shape}), as X is {x.shape}")
    if dtype != x.dtype:
        raise ArgumentError(f"A, X must have same dtypes (were {dtype}, {x.dtype})")
