"""Closed formulas for the floating-point operations of factorizations and transforms.

They count real additions and multiplications, to the leading order, rounded down.  A complex
routine costs four times as much: a complex multiply-add is eight operations where a real one is
two.

Sources, by the names that the docstrings use:

- LAWN 41: S. Blackford and J. Dongarra, "Installation Guide for LAPACK", LAPACK Working Note 41
  (1999), appendix C, "Operation Counts for LAPACK Routines".
- GvL: G. Golub and C. Van Loan, "Matrix Computations", 4th edition (2013).
- FFTW: M. Frigo and S. Johnson, "The Design and Implementation of FFTW3", Proc. IEEE 93 (2005),
  whose measure of speed is 5 n log2 n.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


def cholesky(n: int) -> int:
    """Return n^3 / 3, for a symmetric positive definite matrix (LAWN 41, POTRF).

    >>> cholesky(3)
    9
    """
    return n**3 // 3


def lu_cost(m: int, n: int) -> int:
    """Return m n^2 - n^3/3 for m >= n, else n m^2 - m^3/3 (LAWN 41, GETRF).

    It is 2/3 n^3 for a square matrix.

    >>> lu_cost(3, 3)
    18
    """
    large, small = max(m, n), min(m, n)
    return (3 * large * small**2 - small**3) // 3


def qr_cost(m: int, n: int) -> int:
    """Return 2 n^2 (m - n/3) for m >= n, else 2 m^2 (n - m/3) (LAWN 41, GEQRF; GvL 5.2.2).

    The factor Q is in the form of Householder reflectors.

    >>> qr_cost(3, 3)
    36
    """
    large, small = max(m, n), min(m, n)
    return (6 * large * small**2 - 2 * small**3) // 3


def householder_product_cost(m: int, n: int, k: int) -> int:
    """Return 4 m n k - 2 (m + n) k^2 + 4/3 k^3, for k reflectors to m x n (LAWN 41, ORGQR).

    >>> householder_product_cost(3, 3, 3)
    36
    """
    return (12 * m * n * k - 6 * (m + n) * k**2 + 4 * k**3) // 3


def householder_times(m: int, n: int, k: int, *, left: bool) -> int:
    """Return 4 m n k - 2 n k^2, for k reflectors times an m x n matrix (LAWN 41, ORMQR)."""
    return 4 * m * n * k - 2 * (n if left else m) * k**2


def triangular_solve(n: int, right_hand_sides: int) -> int:
    """Return n^2 for each right-hand side (LAWN 41, TRSM).

    >>> triangular_solve(4, 2)
    32
    """
    return n * n * right_hand_sides


def tridiagonal_solve(n: int, right_hand_sides: int) -> int:
    """Return 3 n for the factors and 5 n for each right-hand side (Thomas; GvL 4.3.6)."""
    return 3 * n + 5 * n * right_hand_sides


def tridiagonal(n: int) -> int:
    """Return 4/3 n^3, for a symmetric matrix to tridiagonal form (LAWN 41, SYTRD; GvL 8.3.1)."""
    return 4 * n**3 // 3


def hessenberg(n: int) -> int:
    """Return 10/3 n^3, for a matrix to Hessenberg form (LAWN 41, GEHRD; GvL 7.4.3)."""
    return 10 * n**3 // 3


def eigh_cost(n: int, *, vectors: bool) -> int:
    """Return 9 n^3 with eigenvectors, 4/3 n^3 without: the symmetric QR algorithm (GvL 8.3.3).

    The number of iterations is the average; divide and conquer takes fewer.
    """
    return 9 * n**3 if vectors else tridiagonal(n)


def schur(n: int, *, vectors: bool) -> int:
    """Return 25 n^3 with the Schur vectors, 10 n^3 for eigenvalues only: QR (GvL 7.5.6)."""
    return 25 * n**3 if vectors else 10 * n**3


def eig_cost(n: int, *, vectors: bool) -> int:
    """Return the flops of `schur`; eigenvectors need a back-substitution of a lower order."""
    return schur(n, vectors=vectors)


def svd_cost(m: int, n: int, *, vectors: bool, full: bool = False) -> int:
    """Return the flops of an SVD by bidiagonalization (GvL, figure 8.6.1), for m >= n.

    4 m n^2 - 4/3 n^3 for the values only; 14 m n^2 + 8 n^3 with n vectors of each side;
    4 m^2 n + 8 m n^2 + 9 n^3 with all m left vectors (`full`).

    >>> svd_cost(2, 2, vectors=True)
    176
    """
    m, n = max(m, n), min(m, n)
    if not vectors:
        return (12 * m * n**2 - 4 * n**3) // 3
    if full and m > n:
        return 4 * m**2 * n + 8 * m * n**2 + 9 * n**3
    return 14 * m * n**2 + 8 * n**3


def fft(lengths: Sequence[int], *, of_real: bool) -> int:
    """Return 5 n log2 n for complex numbers, n the product of the lengths; half for reals (FFTW).

    >>> fft((8,), of_real=False)
    120
    """
    n = math.prod(lengths)
    if n < 2:
        return 0
    return round((2.5 if of_real else 5.0) * n * math.log2(n))
