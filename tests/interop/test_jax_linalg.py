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
from olympus.interop import stablehlo
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


A4, ROW, STATUS = "4x4xf32", "4xf32", "i32"
UPLO = "uplo = 76 : ui8"
SIDES = f"{UPLO}, side = 76 : ui8, trans_x = 78 : ui8, diag = 78 : ui8"
INVALID = {
    "no operand": ("sgetrf", "", [], [A4, "4xi32", STATUS]),
    "an operand too many": ("spotrf", UPLO, [A4, A4], [A4, STATUS]),
    "two matrices of a decomposition": ("sgeqrf", "", [A4, A4], [A4, ROW]),
    "no scales of reflectors": ("sorgqr", "", [A4], [A4]),
    "scales of another length": ("sorgqr", "", [A4, "5xf32"], [A4]),
    "no right side": ("strsm", SIDES, [A4], [A4]),
    "a right side of another length": ("strsm", SIDES, [A4, "5x2xf32"], ["5x2xf32"]),
    "no triangle": ("spotrf", "", [A4], [A4, STATUS]),
    "another option": ("spotrf", f"{UPLO}, side = 76 : ui8", [A4], [A4, STATUS]),
    "another letter": ("spotrf", "uplo = 88 : ui8", [A4], [A4, STATUS]),
    "no letter": ("spotrf", "uplo = 999 : i32", [A4], [A4, STATUS]),
    "a result too few": ("spotrf", UPLO, [A4], [A4]),
    "a result of another shape": ("ssyevd", UPLO, [A4], [A4, "5xf32", STATUS]),
    "few results": ("sgesdd", "mode = 83 : ui8", [A4], [A4, ROW]),
    "one result of several": ("sgeev", "", [A4], [A4]),
    "a routine of another dtype": ("dgetrf", "", [A4], [A4, "4xi32", STATUS]),
    "a vector": ("sgetrf", "", [ROW], [ROW, "4xi32", STATUS]),
    "a matrix that is not square": ("sgeev", "", ["4x3xf32"], ["4x3xf32"]),
}
VALID = {
    "LU": ("sgetrf", "", [A4], [A4, "4xi32", STATUS]),
    "Cholesky": ("spotrf", UPLO, [A4], [A4, STATUS]),
    "QR": ("sgeqrf", "", ["4x3xf32"], ["4x3xf32", "3xf32"]),
    "reflectors": ("sorgqr", "", [A4, "3xf32"], [A4]),
    "a triangular system": ("strsm", SIDES, [A4, "4x2xf32"], ["4x2xf32"]),
    "eigenvalues of a symmetric matrix": ("ssyevd", UPLO, [A4], [A4, ROW, STATUS]),
    "singular values": ("sgesdd", "mode = 78 : ui8", [A4], [A4, ROW, A4, A4, STATUS]),
    "eigenvalues": ("sgeev", "", [A4], [ROW, ROW, *["4x4xcomplex<f32>"] * 2, STATUS]),
}


def call_of_lapack(
    target: str, options: str, operands: Sequence[str], results: Sequence[str]
) -> str:
    takes, gives = (", ".join(f"tensor<{x}>" for x in types) for types in (operands, results))
    names = [f"%arg{i}" for i in range(len(operands))]
    args = ", ".join(f"{name}: tensor<{x}>" for name, x in zip(names, operands, strict=True))
    parts = ", ".join(f"%0#{i}" for i in range(len(results)))
    return f"""
    func.func @main({args}) -> ({gives}) {{
      %0:{len(results)} = stablehlo.custom_call @lapack_{target}_ffi({", ".join(names)}) {{
        api_version = 4 : i32, mhlo.backend_config = {{{options}}}
      }} : ({takes}) -> ({gives})
      return {parts} : {gives}
    }}
    """


@pytest.mark.parametrize("name", VALID)
def test_valid_calls_become_operations(name: str) -> None:
    text = call_of_lapack(*VALID[name])
    assert "lapack" not in stablehlo.read(text.encode()).lower(linalg="portable").as_text()
    effect = text.replace("api_version", "has_side_effect = true, api_version")
    assert "lapack" in stablehlo.read(effect.encode()).lower(linalg="portable").as_text()


@pytest.mark.parametrize("name", INVALID)
def test_invalid_calls_stay(name: str) -> None:
    text = call_of_lapack(*INVALID[name])
    assert "lapack" in stablehlo.read(text.encode()).lower(linalg="portable").as_text()


def test_other_routines_stay() -> None:
    traced = trace(lambda a: jax.lax.linalg.hessenberg(a)[0], [np.eye(3, dtype="float32")])
    assert "lapack_sgehrd_ffi" in traced.lower(linalg="portable").as_text()
    assert olympus.tree.leaves(traced.out_info)[0].shape == (3, 3)
