"""olympus.scipy.sparse.linalg: solutions, derivatives, batches and errors."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy
import jax.scipy.sparse.linalg
import numpy as np
import pytest

import olympus as ox
import olympus.scipy.sparse.linalg
from olympus.errors import ArgumentError, DTypeError, ShapeError
from tests.library.oracle import check, row

LINALG = {ox.numpy: olympus.scipy.sparse.linalg, jax.numpy: jax.scipy.sparse.linalg}
rng = np.random.default_rng(0)
A = rng.normal(size=(6, 6)) + 4 * np.eye(6)
S = A @ A.T
C = A + 1j * rng.normal(size=(6, 6))
B = rng.normal(size=6)


@pytest.fixture(autouse=True)
def x64():
    with ox.enable_x64(True), jax.enable_x64(True):
        yield


def of(name: str, a: Any, b: Any, **options: Any) -> Any:
    def call(n: Any, a: Any, b: Any) -> Any:
        return getattr(LINALG[n], name)(a, b, tol=1e-12, **options)[0]

    return row(f"{name} {a.dtype} {options}", call, a, b, rtol=1e-7, atol=1e-8)


def test_solutions() -> None:
    hermitian = C @ C.conj().T
    check([
        of("cg", S, B),
        of("cg", hermitian, B + 1j),
        of("cg", S, B, x0=np.ones(6)),
        of("cg", S, B, maxiter=3),
        of("cg", S, B, M=np.linalg.inv(S)),
        of("bicgstab", A, B),
        of("bicgstab", C, B + 1j),
        of("gmres", A, B),
        of("gmres", A, B, solve_method="incremental"),
        of("gmres", C, B + 1j, restart=3, maxiter=50),
        of("gmres", A, B, M=lambda x: x / 4),
    ], weak=False)  # fmt: skip


def test_trees_and_functions() -> None:
    def call(n: Any, b: Any) -> Any:
        def operator(x: Any) -> Any:
            return {"a": 2 * x["a"] + x["b"][:, 0], "b": 3 * x["b"] - x["a"][:, None]}

        tree = {"a": b, "b": n.stack([b, 2 * b], axis=1)}
        found = [getattr(LINALG[n], f)(operator, tree, tol=1e-12)[0] for f in ("bicgstab", "gmres")]
        return [x[k] for x in found for k in ("a", "b")]

    check([row("trees", call, B, rtol=1e-6, atol=1e-8)], weak=False)


@pytest.mark.parametrize("name", ["cg", "bicgstab", "gmres"])
def test_derivatives_and_batches(name: str) -> None:
    def call(n: Any, a: Any, b: Any) -> Any:
        package = ox if n is ox.numpy else jax
        f = getattr(LINALG[n], name)

        def total(a: Any, b: Any) -> Any:
            return n.sum(n.sin(f(a, b, tol=1e-13)[0]))

        tangent = package.jvp(total, (a, b), (n.ones_like(a), b))[1]
        batched = package.vmap(lambda b: f(a, b, tol=1e-12)[0])(n.stack([b, 2 * b + 1]))
        return [*package.grad(total, (0, 1))(a, b), tangent, batched]

    matrix = S if name == "cg" else A
    check([row(name, call, matrix, B, rtol=1e-6, atol=1e-8)], weak=False)


def test_the_status_of_gmres() -> None:
    linalg = olympus.scipy.sparse.linalg
    assert linalg.gmres(A, B)[1] == 0
    assert linalg.gmres(A, B * np.nan)[1] == 0  # as in JAX: it ends with its start
    assert linalg.cg(S, B)[1] is None


def test_errors() -> None:
    s = olympus.scipy.sparse.linalg
    for call, error, text in (
        (lambda: s.cg(A[:2], B), ShapeError, "square matrix"),
        (lambda: s.cg("a", B), DTypeError, "function or ndarray"),
        (lambda: s.gmres(A, B, x0={"a": B}), ArgumentError, "tree structure"),
        (lambda: s.bicgstab(A, B, x0=B[:2]), ValueError, "matching shapes"),
        (lambda: s.gmres(A, B, solve_method="odd"), ValueError, "invalid solve_method"),
    ):
        with pytest.raises(error, match=text):
            call()
