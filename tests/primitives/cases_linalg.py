"""Rows of the decompositions; what they decompose is made of the operands inside the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.scipy.linalg
import numpy as np

import olympus
import olympus.scipy
from olympus_core.primitives.linalg.qr import geqrf_p
from tests.primitives.case import Case, arg

__all__ = ["CASES"]

ALL = ("float32", "float64", "complex64", "complex128")
LOOSE = {"rtol": 2e-4, "atol": 2e-5}


def gram(lax: Any, x: Any, shift: float = 3.0) -> Any:
    """Hermitian positive-definite matrices made of any."""
    n = x.ndim
    batch = tuple(range(n - 2))
    other = lax.conj(x) if x.dtype.kind == "c" else x
    product = lax.dot_general(x, other, (((n - 1,), (n - 1,)), (batch, batch)))
    return product + np.asarray(shift * np.eye(x.shape[-2]), x.dtype)


def spread(lax: Any, x: Any) -> Any:
    """Matrices whose singular values, and square matrices whose eigenvalues, are far apart."""
    rows, columns = x.shape[-2:]
    diagonal = np.diag(4.0 * np.arange(1, max(rows, columns) + 1))[:rows, :columns]
    return x + np.asarray(diagonal, x.dtype)


def _cholesky(**options: Any) -> Callable[..., Any]:
    return lambda lax, x: lax.linalg.cholesky(gram(lax, x), **options)


def _solve(**options: Any) -> Callable[..., Any]:
    return lambda lax, a, b: lax.linalg.triangular_solve(spread(lax, a), b, **options)


def _lu(lax: Any, x: Any) -> Any:
    return lax.linalg.lu(spread(lax, x))


def _qr(**options: Any) -> Callable[..., Any]:
    return lambda lax, x: lax.linalg.qr(spread(lax, x), **options)


def _schur(vectors: bool) -> Callable[..., Any]:
    return lambda lax, x: lax.linalg.schur(spread(lax, x), compute_schur_vectors=vectors)


def _hessenberg(lax: Any, x: Any) -> Any:
    return lax.linalg.hessenberg(x)


def _tridiagonal(lower: bool) -> Callable[..., Any]:
    return lambda lax, x: lax.linalg.tridiagonal(gram(lax, x), lower=lower)


def _tridiagonal_solve(lax: Any, dl: Any, d: Any, du: Any, b: Any) -> Any:
    return lax.linalg.tridiagonal_solve(dl, d + d.dtype.type(6), du, b)


def _eig(vectors: bool) -> Callable[..., Any]:
    """The values, and the vectors if wanted; the oracle needs leave for second derivatives."""
    options = {"compute_left_eigenvectors": vectors, "compute_right_eigenvectors": vectors}
    return lambda lax, x: lax.linalg.eig(spread(lax, x), enable_eigvec_derivs=True, **options)


def _squares(x: Any) -> Any:
    """|x|**2: what is left of vectors whose phases LAPACK is free in."""
    return x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x


def _eigh(lax: Any, x: Any) -> Any:
    v, w = lax.linalg.eigh(gram(lax, x) + spread(lax, x) * 2)
    return _squares(v), w


def _upper_eigh(lax: Any, x: Any) -> Any:
    """On a Hermitian matrix, where the triangle that is read makes no difference."""
    v, w = lax.linalg.eigh(gram(lax, x), lower=False, symmetrize_input=False)
    return _squares(v), w


def _svd(lax: Any, x: Any) -> Any:
    u, s, vh = lax.linalg.svd(spread(lax, x), full_matrices=False)
    return _squares(u), s, _squares(vh)


def _phaseless_svd(lax: Any, x: Any) -> Any:
    u, s, vh = lax.linalg.svd(spread(lax, x), full_matrices=False)
    n = u.ndim
    batch = tuple(range(n - 2))
    return s, lax.dot_general(u, vh, (((n - 1,), (n - 2,)), (batch, batch)))


def _equations(lax: Any, a: Any, b: Any) -> Any:
    numpy = olympus.numpy if lax is olympus.lax else jax.numpy
    return numpy.linalg.solve(spread(lax, a), b)


def _positive_equations(lax: Any, a: Any, b: Any) -> Any:
    scipy = olympus.scipy if lax is olympus.lax else jax.scipy
    return scipy.linalg.solve(gram(lax, a), b, assume_a="pos")


def _values(lax: Any, x: Any) -> Any:
    return lax.linalg.svd(spread(lax, x), compute_uv=False)


def _geqrf(lax: Any, x: Any) -> Any:
    from jax._src.lax.linalg import geqrf

    return geqrf_p.bind(x) if lax is olympus.lax else geqrf(x)


def _permutation(lax: Any, pivots: Any) -> Any:
    return lax.linalg.lu_pivots_to_permutation(pivots, 5)


M3, M34, M43, B3 = arg(3, 3), arg(3, 4), arg(4, 3), arg(2, 3, 3)
PIVOTS = arg(2, 3, low=0, high=2, dtype="int32")
ADJOINT = {"left_side": True, "lower": True, "transpose_a": True, "conjugate_a": True}

CASES = [
    Case("cholesky", _cholesky(), (M3,), ALL, **LOOSE),
    Case("cholesky", _cholesky(), (B3,), label="batched", **LOOSE),
    Case("cholesky", _cholesky(symmetrize_input=False), (M34,), label="lower", **LOOSE),
    Case("triangular_solve", _solve(), (M3, arg(2, 3)), ALL),
    Case("triangular_solve", _solve(left_side=True), (B3, B3), label="batched"),
    Case("triangular_solve", _solve(left_side=True), (M3, arg(3, 1)), label="vector"),
    Case("triangular_solve", _solve(lower=True), (M3, arg(3)), label="rank-1"),
    Case("triangular_solve", _solve(**ADJOINT), (M3, M34), ALL, "adjoint"),
    Case("triangular_solve", _solve(transpose_a=True), (M3, M43), label="transposed"),
    Case("triangular_solve", _solve(conjugate_a=True), (M3, M43), ALL, "conjugated"),
    Case("triangular_solve", _solve(lower=True, unit_diagonal=True), (M3, M3), label="unit"),
    Case("factored_solve", _equations, (M3, M34), ALL, **LOOSE),
    Case("factored_solve", _equations, (B3, arg(3)), label="batched", **LOOSE),
    Case("factored_solve", _positive_equations, (M3, M34), ALL, "cholesky", **LOOSE),
    Case("lu", _lu, (M3,), ALL, **LOOSE),
    Case("lu", _lu, (B3,), label="batched", **LOOSE),
    Case("lu", _lu, (arg(4, 2),), label="tall", **LOOSE),
    Case("lu", _lu, (arg(2, 4),), label="wide", **LOOSE),
    Case("lu_pivots_to_permutation", _permutation, (PIVOTS,), ("int32",), differentiable=()),
    Case("geqrf", _geqrf, (M43,), ALL, **LOOSE, differentiable=()),
    Case(
        "householder_product",
        lambda lax, a, t: lax.linalg.householder_product(a, t),
        (M43, arg(3)),
        ALL,
        **LOOSE,
        differentiable=(),
    ),
    Case("qr", _qr(), (M3,), ALL, **LOOSE),
    Case("qr", _qr(), (M43,), ALL, "full", **LOOSE),
    Case("qr", _qr(full_matrices=False), (arg(2, 4, 3),), label="thin", **LOOSE),
    Case("qr", _qr(full_matrices=False), (M34,), ALL, "wide", **LOOSE),
    Case("qr", _qr(full_matrices=False, pivoting=True), (M43,), label="pivoted", **LOOSE),
    Case("eigh", _eigh, (M3,), ALL, **LOOSE),
    Case("eigh", _eigh, (B3,), label="batched", **LOOSE),
    Case("eigh", _upper_eigh, (M34,), ALL, label="upper", **LOOSE),
    Case("eig", _eig(False), (M3,), ALL, **LOOSE),
    Case("eig", _eig(True), (M3,), ALL, "vectors", **LOOSE),
    Case("svd", _svd, (M3,), ALL, **LOOSE),
    Case("svd", _phaseless_svd, (arg(2, 4, 3),), label="tall", **LOOSE),
    Case("svd", _phaseless_svd, (M34,), ALL, "wide", **LOOSE),
    Case("svd", _values, (M34,), label="values", **LOOSE),
    Case("schur", _schur(True), (M3,), ALL, **LOOSE, differentiable=()),
    Case("schur", _schur(False), (B3,), label="values", **LOOSE, differentiable=()),
    Case("hessenberg", _hessenberg, (M3,), ALL, **LOOSE, differentiable=()),
    Case("hessenberg", _hessenberg, (B3,), label="batched", **LOOSE, differentiable=()),
    Case("tridiagonal", _tridiagonal(True), (M3,), ALL, **LOOSE, differentiable=()),
    Case("tridiagonal", _tridiagonal(False), (B3,), label="upper", **LOOSE, differentiable=()),
    Case("tridiagonal_solve", _tridiagonal_solve, (*[arg(3)] * 3, arg(3, 2)), ALL, **LOOSE),
    Case(
        "tridiagonal_solve",
        _tridiagonal_solve,
        (*[arg(2, 3)] * 3, arg(2, 3, 2)),
        label="batched",
        **LOOSE,
    ),
]
