"""Functions of JAX whose calls of LAPACK become loops of StableHLO."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import jax.scipy.linalg as jsp
import numpy as np
import pytest

import olympus
from olympus.interop.jax import trace

DTYPES = ["float32", "complex64"]
A = np.random.default_rng(0).normal(size=(2, 5, 4))


def rebuilt_eigh(a: Any) -> list[Any]:
    gram = a @ jnp.conj(jnp.swapaxes(a, -1, -2)) + jnp.eye(a.shape[-2])
    w, v = jnp.linalg.eigh(gram)
    return [w, (v * w[..., None, :]) @ jnp.conj(jnp.swapaxes(v, -1, -2)) - gram]


def rebuilt_svd(a: Any) -> list[Any]:
    u, s, vh = jnp.linalg.svd(a, full_matrices=False)
    left, values, right = jnp.linalg.svd(a)
    product = (left[..., :, :4] * values[..., None, :]) @ right
    return [s, (u * s[..., None, :]) @ vh - a, product]


def square(a: Any) -> Any:
    return a[:, :4, :] + 3 * jnp.eye(4, dtype=a.dtype)


def positive(a: Any) -> Any:
    return jnp.conj(jnp.swapaxes(a, -1, -2)) @ a + jnp.eye(4, dtype=a.dtype)


FUNCTIONS: dict[str, Callable[[Any], Sequence[Any]]] = {
    "qr": lambda a: [jnp.matmul(*jnp.linalg.qr(a)), jnp.abs(jnp.linalg.qr(a)[1])],
    "full_qr": lambda a: [jnp.matmul(*jnp.linalg.qr(a, mode="complete"))],
    "solve": lambda a: [jnp.linalg.solve(square(a), a[:, :4, :2])],
    "det": lambda a: [jnp.linalg.det(square(a)), *jnp.linalg.slogdet(square(a))],
    "eigh": rebuilt_eigh,
    "svd": rebuilt_svd,
    "singular_values": lambda a: [jnp.linalg.svd(a, compute_uv=False)],
    "cholesky": lambda a: [jnp.linalg.cholesky(positive(a)), jsp.cholesky(positive(a))],
    "not_positive": lambda a: [jnp.linalg.cholesky(-positive(a))],
    "triangular": lambda a: [
        jsp.solve_triangular(square(a)[0], a[0, :4], lower=lower, trans=trans, unit_diagonal=unit)
        for lower, trans, unit in ((True, 0, False), (False, 1, False), (True, 2, True))
    ],
    "eig": lambda a: [jnp.sort(jnp.abs(jnp.linalg.eigvals(square(a))))],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_without_lapack_the_results_are_jaxs(name: str, dtype: str) -> None:
    x = (A + 1j * A[::-1] if dtype == "complex64" else A).astype(dtype)
    traced = trace(FUNCTIONS[name], [x])
    assert "lapack" in traced.lower().as_text()
    lowered = traced.lower(linalg="portable")
    assert "lapack" not in lowered.as_text()
    expected = jax.jit(FUNCTIONS[name])(x)
    for ours, theirs in zip(lowered.compile()(x), expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-3, atol=2e-3)


def test_other_routines_stay() -> None:
    traced = trace(lambda a: jax.lax.linalg.hessenberg(a)[0], [np.eye(3, dtype="float32")])
    assert "lapack_sgehrd_ffi" in traced.lower(linalg="portable").as_text()
    assert olympus.tree.leaves(traced.out_info)[0].shape == (3, 3)
