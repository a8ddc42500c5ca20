"""Condensed forms of matrices in `olympus.lax.linalg`: Schur, Hessenberg and tridiagonal."""

from __future__ import annotations

from typing import Any

from olympus_core.base.errors import UnsupportedError
from olympus_core.ir.tracer import Array
from olympus_core.ir.typing import ArrayLike
from olympus_core.library.lax.linalg import matrices
from olympus_core.library.promotion import check_arrays
from olympus_core.primitives.linalg.condensed import hessenberg_p, schur_p, tridiagonal_p
from olympus_core.primitives.linalg.tridiagonal_solve import tridiagonal_solve_p


def schur(
    x: ArrayLike,
    *,
    compute_schur_vectors: bool = True,
    sort_eig_vals: bool = False,
    select_callable: None = None,
) -> list[Array]:
    """Return the Schur form T of square matrices (..., n, n) and, on request, the vectors Z.

    x = Z T Z^H with unitary Z.  T is upper triangular; of real matrices it has blocks of 2 x 2 on
    its diagonal for complex eigenvalues.  Only the CPU implements it, and it has no derivative.

    Raises ShapeError for other shapes, and UnsupportedError for `sort_eig_vals`.

    >>> schur(asarray([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    if sort_eig_vals or select_callable is not None:
        raise UnsupportedError("The sort feature of LAPACK's gees routine is not implemented.")
    results: list[Array] = schur_p.bind(
        matrices("schur", x, square=True), compute_schur_vectors=bool(compute_schur_vectors)
    )
    return results


def hessenberg(a: ArrayLike) -> list[Array]:
    """Return the Hessenberg form of square matrices (..., n, n) and the factors of its reflectors.

    Below the subdiagonal of the form are the reflectors, which `householder_product` multiplies.
    Only the CPU implements it, and it has no derivative.

    Raises ShapeError for other shapes.

    >>> hessenberg(asarray([[1.0, 2.0], [0.0, 3.0]]))[0]
    Array([[1., 2.],
           [0., 3.]], dtype=float32)
    """
    results: list[Array] = hessenberg_p.bind(matrices("hessenberg", a, square=True))
    return results


def tridiagonal(a: ArrayLike, *, lower: bool = True) -> list[Array]:
    """Return the tridiagonal form of Hermitian matrices (..., n, n), as LAPACK's `sytrd` does.

    The results are the reflectors beside the form, its diagonal (..., n) and off-diagonal
    (..., n - 1), which are real, and the factors of the reflectors.  Only the triangle that `lower`
    selects is used.  Only the CPU implements it, and it has no derivative.

    Raises ShapeError for other shapes.

    >>> tridiagonal(asarray([[1.0, 2.0], [2.0, 3.0]]))[1]
    Array([1., 3.], dtype=float32)
    """
    results: list[Any] = tridiagonal_p.bind(
        matrices("tridiagonal", a, square=True), lower=bool(lower)
    )
    return results


def tridiagonal_solve(
    dl: ArrayLike, d: ArrayLike, du: ArrayLike, b: ArrayLike, *, perturb_singular: bool = False
) -> Array:
    """Return the solution x of A x = b with a tridiagonal A, by elimination with row exchanges.

    dl, d, du: (..., n), the elements A[i, i - 1], A[i, i] and A[i, i + 1] of each row i; dl[0] and
    du[n - 1] have no effect.  b: (..., n, k).  Raises ShapeError for other shapes, DTypeError for
    different dtypes, and UnsupportedError for `perturb_singular`.

    >>> tridiagonal_solve(ones(2), 3 * ones(2), ones(2), ones((2, 1)))
    Array([[0.25],
           [0.25]], dtype=float32)
    """
    check_arrays("tridiagonal_solve", dl, d, du, b)
    if perturb_singular:
        raise UnsupportedError("tridiagonal_solve does not perturb singular matrices")
    return tridiagonal_solve_p.bind(dl, d, du, b)
