"""Factors of olympus.lax.linalg without a primitive of their own: ormqr, cholesky_update, qdwh."""

from __future__ import annotations

from typing import Any

import jax
import jax.lax.linalg
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from tests.library.oracle import check, row

PACKAGES = {ox.numpy: ox, jax.numpy: jax}
RNG = np.random.default_rng(0)


def floats(*shape: int, dtype: str = "float32") -> np.ndarray[Any, Any]:
    x = RNG.standard_normal(shape)
    return (x + 1j * RNG.standard_normal(shape) if dtype == "complex64" else x).astype(dtype)


def test_products_with_reflectors_and_updates() -> None:
    rows = []
    for dtype in ("float32", "complex64"):
        a, taus, c = floats(2, 4, 3, dtype=dtype), floats(2, 3, dtype=dtype), floats(2, 4, 5)
        for left in (True, False):
            for transpose in (True, False):
                other = c.astype(dtype) if left else c.astype(dtype).swapaxes(1, 2)

                def call(m: Any, *xs: Any, left: bool = left, transpose: bool = transpose) -> Any:
                    ormqr = PACKAGES[m].lax.linalg.ormqr
                    return ormqr(*xs, left=left, transpose=transpose)

                rows.append(row(f"{dtype} {left} {transpose}", call, a, taus, other,
                                rtol=1e-4, atol=1e-4))  # fmt: skip
    r = np.triu(floats(4, 4)) + 4 * np.eye(4, dtype=np.float32)
    rows.append(
        row("update", lambda m, *xs: PACKAGES[m].lax.linalg.cholesky_update(*xs), r, floats(4),
            rtol=1e-4, atol=1e-5)
    )  # fmt: skip
    check(rows)


def padded() -> np.ndarray[Any, Any]:
    x = np.zeros((8, 6), np.float32)
    x[:5, :4], x[6, 5] = floats(5, 4), 9
    return x


def hermitian(dtype: str) -> np.ndarray[Any, Any]:
    x = floats(6, 6, dtype=dtype)
    return np.asarray(x + x.conj().T)


QDWH: dict[str, tuple[Any, dict[str, Any]]] = {
    **{f"{d} tall": (floats(7, 4, dtype=d), {}) for d in ("float32", "complex64")},
    **{f"{d} hermitian": (hermitian(d), {"is_hermitian": True}) for d in ("float32", "complex64")},
    "one": (floats(1, 1), {}),
    "badly conditioned": (np.diag([1.0, 1e-2, 1e-5]).astype(np.float32), {}),
    "part": (padded(), {"dynamic_shape": (5, 4)}),
}


@pytest.mark.parametrize("name", QDWH)
def test_qdwh_is_the_polar_decomposition_of_jax(name: str) -> None:
    x, options = QDWH[name]
    for run in (ox.lax.linalg.qdwh, ox.jit(lambda x: ox.lax.linalg.qdwh(x, **options))):
        u, h, count, converged = run(x, **options) if run is ox.lax.linalg.qdwh else run(x)
        expected_u, expected_h, *_ = jax.lax.linalg.qdwh(x, **options)
        np.testing.assert_allclose(u, expected_u, rtol=1e-4, atol=2e-5)
        np.testing.assert_allclose(h, expected_h, rtol=1e-4, atol=2e-5)
        assert converged
        assert 0 < int(count) <= 10
    if "dynamic_shape" not in options:
        gram = np.asarray(u).conj().T @ np.asarray(u)
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=2e-6)


def test_too_few_iterations_of_qdwh_are_reported() -> None:
    u, _, count, converged = ox.lax.linalg.qdwh(floats(4, 4), max_iterations=1)
    assert not converged and int(count) <= 1
    assert np.isfinite(np.asarray(u)).all()


A = np.ones((3, 3), np.float32)
ERRORS: dict[str, Any] = {
    "schur": lambda linalg: linalg.schur(np.ones((2, 3), "f")),
    "sorted schur": lambda linalg: linalg.schur(A, sort_eig_vals=True),
    "hessenberg": lambda linalg: linalg.hessenberg(np.ones((2, 3), "f")),
    "tridiagonal": lambda linalg: linalg.tridiagonal(np.ones(3, "f")),
    "diagonals": lambda linalg: linalg.tridiagonal_solve(A[0], A[0], A[0, :2], A),
    "dtypes": lambda linalg: linalg.tridiagonal_solve(A[0], A[0], A[0] + 0j, A),
    "ormqr": lambda linalg: linalg.ormqr(A, A[0], np.ones((2, 2), "f")),
    "update": lambda linalg: linalg.cholesky_update(A, A[0, :2]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_of_the_classes_of_jax(name: str) -> None:
    with pytest.raises(Exception) as theirs:
        ERRORS[name](jax.lax.linalg)
    with pytest.raises(ox.errors.TraceError) as ours:
        ERRORS[name](ox.lax.linalg)
    assert issubclass(ours.type, theirs.type), (ours.type, theirs.value)


def test_arguments_of_qdwh_are_checked() -> None:
    for x, options in ((A[:2], {}), (A[0], {}), (A, {"max_iterations": 0})):
        with pytest.raises(ValueError, match="qdwh"):
            ox.lax.linalg.qdwh(x, **options)
    with pytest.raises(NotImplementedError, match="perturb"):
        ox.lax.linalg.tridiagonal_solve(A[0], A[0], A[0], A, perturb_singular=True)
