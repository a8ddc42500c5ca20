"""Decompositions as GPUs and TPUs compute them: the numbers, on the CPU, and that they compile.

What is lowered for a GPU has no call of LAPACK, and is compiled and run on the CPU as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import olympus as ox
import olympus.scipy
from olympus import lax, numpy
from olympus_core import xla
from olympus_core.primitives.linalg.qr import geqrf_p
from tests.marks import needs_gpu_compiler

DTYPES = ("float32", "float64", "complex64", "complex128")
H200, TPU = ox.target("gpu", "h200"), ox.target("tpu")
N = 12

Values = np.ndarray[Any, Any]


@pytest.fixture(autouse=True)
def x64():
    with ox.enable_x64(True):
        yield


def portable(fun: Callable[..., Any], *args: Values) -> list[Values]:
    """The flat results of `fun`, lowered for a GPU, run on the CPU."""
    module = ox.jit(fun).trace(*args).lower(H200).compiler_ir()
    executable = xla.compile(module, ox.target("cpu"), {"xla_backend_optimization_level": 0})
    assert isinstance(executable, xla.Executable)
    return [xla.to_numpy(x) for x in executable.execute([xla.put(x) for x in args])]


def lapack(fun: Callable[..., Any], *args: Values) -> list[Values]:
    """The flat results of `fun` as the CPU computes them."""
    return [np.asarray(x) for x in ox.tree.leaves(ox.jit(fun)(*args))]


def random(dtype: str, *shape: int, seed: int = 0) -> Values:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


def adjoint(x: Values) -> Values:
    return np.swapaxes(x, -1, -2).conj()


def close(x: Values, y: Values, dtype: str, *, size: Any = 1.0, times: float = 60) -> None:
    """Assert that the elements differ by `times` roundings of numbers of `size`, or less."""
    error = np.max(np.abs(np.asarray(x, "c16") - y) / np.asarray(size), initial=0)
    assert error <= times * np.finfo(dtype).eps, error / np.finfo(dtype).eps


def orthonormal(q: Values, dtype: str) -> None:
    close(adjoint(q).astype("c16") @ q, np.eye(q.shape[-1]), dtype)


def special(dtype: str) -> dict[str, Values]:
    """Matrices that decompositions find hard, each of N rows and columns."""
    real = np.finfo(dtype).dtype
    q, p = (np.linalg.qr(random(dtype, N, N, seed=i))[0] for i in (1, 2))

    def having(*values: float) -> Values:
        s = np.zeros(N)
        s[: len(values)] = values
        return np.asarray((q * s.astype(real)) @ adjoint(p), dtype)

    places = np.arange(N * N).reshape(N, N)
    return {
        "random": random(dtype, N, N),
        "zero": np.zeros((N, N), dtype),
        "identity": np.eye(N, dtype=dtype),
        "ill-conditioned": having(*np.logspace(0, -2 * np.finfo(dtype).precision, N)),
        "of rank 3": having(5, 4, 3),
        "of rank 1, exactly": np.outer(np.arange(N), np.arange(N)).astype(dtype),
        "of two singular values": having(*[3.0] * 4, *[1.0] * (N - 4)),
        "unitary": q,
        "near overflow": having(*np.linspace(1, 2, N)) * (np.finfo(dtype).max / real.type(1e3)),
        "near underflow": having(*np.linspace(1, 2, N)) * (np.finfo(dtype).tiny * real.type(1e8)),
        "graded": np.diag(np.logspace(0, -30, N)).astype(dtype),
        "of ones": np.ones((N, N), dtype),
        "cyclic": np.roll(np.eye(N), 1, 0).astype(dtype),
        "a Jordan block": (np.eye(N) + np.diag(np.ones(N - 1), 1)).astype(dtype),
        "with NaN": np.where(places == 5, np.nan, 1).astype(dtype),
        "with infinity": np.where(places == 5, np.inf, 1).astype(dtype),
    }


def _all_of(a: Any, h: Any) -> dict[str, Any]:
    svd, values = lax.linalg.svd(a), lax.linalg.svd(a, compute_uv=False)
    return {
        "svd": (*svd, values),
        "eigh": lax.linalg.eigh(h, symmetrize_input=False),
        "lower": lax.linalg.eigh(a, symmetrize_input=False)[1],
        "upper": lax.linalg.eigh(a, lower=False, symmetrize_input=False)[1],
        "qr": lax.linalg.qr(a),
        "pivoted": lax.linalg.qr(a, pivoting=True),
        "lu": lax.linalg.lu(a),
        "eig": lax.linalg.eig(a),
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_matrices(dtype: str) -> None:
    cases = special(dtype)
    a = np.stack(list(cases.values()))
    with np.errstate(invalid="ignore"):
        h = (a / 2 + adjoint(a) / 2).astype(dtype)
    tree = ox.tree.structure(ox.eval_shape(_all_of, a, h))
    mine = tree.unflatten(portable(_all_of, a, h))
    for i, name in enumerate(cases):
        one = ox.tree.map(lambda x, i=i: x[i], mine)
        if name in ("with NaN", "with infinity"):
            for x in (*one["svd"], *one["eigh"], *one["eig"], one["qr"][0], one["pivoted"][0]):
                assert np.isnan(x).all(), name
            assert np.isnan(one["lu"][0]).any() or name == "with infinity"
            continue
        _check_special(one, a[i], h[i], dtype)


def _check_special(one: dict[str, Any], a: Values, h: Values, dtype: str) -> None:
    wide = np.asarray(a, "c16")
    exact = np.linalg.svd(wide, compute_uv=False)
    size = exact[0] or 1.0
    u, s, vh, alone = one["svd"]
    close((u * s.astype("f8")) @ vh.astype("c16"), wide, dtype, size=size)
    orthonormal(u, dtype)
    orthonormal(adjoint(vh), dtype)
    for found in (s, alone):
        close(found, exact, dtype, size=size)
        assert (np.diff(found) <= 0).all()
    v, w = one["eigh"]
    close(np.asarray(h, "c16") @ v, v * w.astype("f8"), dtype, size=size)
    orthonormal(v, dtype)
    close(w, np.linalg.eigvalsh(np.asarray(h, "c16")), dtype, size=size)
    assert (np.diff(w) >= 0).all()
    for uplo in ("lower", "upper"):
        close(one[uplo], np.linalg.eigvalsh(wide, uplo[0].upper()), dtype, size=2 * size)
    w, left, right = (x.astype("c16") for x in one["eig"])
    close(wide @ right, right * w, dtype, size=size)
    close(adjoint(left) @ wide, w[:, None] * adjoint(left), dtype, size=size)
    for vectors in (left, right):
        close(np.linalg.norm(vectors, axis=0), np.ones(N), dtype)
        sizes = np.abs(vectors)
        real = np.where(vectors.imag == 0, sizes, 0).max(0)
        assert (real >= sizes.max(0) * (1 - 1e-5)).all()
    close(np.sum(w), np.trace(wide), dtype, size=size)
    q, r = one["qr"]
    close(q @ r.astype("c16"), wide, dtype, size=size)
    orthonormal(q, dtype)
    q, r, order = one["pivoted"]
    close(q @ r.astype("c16"), wide[:, order], dtype, size=size)
    orthonormal(q, dtype)
    ends = np.abs(np.diagonal(r)).astype("f8")
    assert (ends[1:] <= ends[:-1] * (1 + 1e-3) + size * 1e-6).all()
    assert sorted(order) == list(range(N))
    factors, pivots, order = one["lu"]
    lower = np.tril(factors, -1).astype("c16") + np.eye(N)
    close(lower @ np.triu(factors), wide[order], dtype, size=size)
    assert np.abs(np.tril(factors, -1)).max() <= 2**0.5 * 1.001
    assert (order == _permutation(pivots, N)).all()


def _permutation(pivots: Values, rows: int) -> Values:
    order = np.arange(rows)
    for i, p in enumerate(pivots):
        order[[i, p]] = order[[p, i]]
    return order


SHAPES = [
    ("float32", (1, 1)),
    ("float64", (7, 4)),
    ("complex64", (4, 7)),
    ("complex128", (2, 3, 45, 33)),
    ("float32", (33, 90)),
    ("float64", (200, 200)),
    ("complex128", (200, 3)),
]


@pytest.mark.parametrize(("dtype", "shape"), SHAPES)
def test_factors_are_those_of_lapack(dtype: str, shape: tuple[int, ...]) -> None:
    def factors(a: Any) -> Any:
        reduced = lax.linalg.qr(a, full_matrices=False)
        return lax.linalg.lu(a), geqrf_p.bind(a), lax.linalg.qr(a), reduced

    a = random(dtype, *shape)
    mine, theirs = portable(factors, a), lapack(factors, a)
    for x, y in zip(mine, theirs, strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if x.dtype == np.int32:
            np.testing.assert_array_equal(x, y)
        else:
            close(x, y, dtype, size=np.abs(y).max() or 1, times=4000)
    lu, _, order = mine[:3]
    size = np.linalg.norm(a, 2, (-2, -1)).max()
    k = min(shape[-2:])
    lower = np.tril(lu, -1)[..., :k] + np.eye(shape[-2], k)
    rows = np.take_along_axis(a, order[..., None], -2)
    close(lower @ np.triu(lu)[..., :k, :], rows, dtype, size=size)
    for q, r in (mine[5:7], mine[7:9]):
        close(q @ r, a, dtype, size=size)
        orthonormal(q, dtype)


@pytest.mark.parametrize(("dtype", "shape"), SHAPES)
def test_singular_vectors_of_any_shape(dtype: str, shape: tuple[int, ...]) -> None:
    def factors(a: Any) -> Any:
        return lax.linalg.svd(a), lax.linalg.svd(a, full_matrices=False)

    a, k = random(dtype, *shape), min(shape[-2:])
    exact = np.linalg.svd(a.astype("c16"), compute_uv=False)
    found = portable(factors, a)
    shapes = [x.shape for x in lapack(factors, a)]
    assert [x.shape for x in found] == shapes
    for u, s, vh in (found[:3], found[3:]):
        close(s, exact, dtype, size=exact.max())
        product = (u[..., :k] * s[..., None, :]) @ vh[..., :k, :]
        close(product, a, dtype, size=exact.max())
        orthonormal(u, dtype)
        orthonormal(adjoint(vh), dtype)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_eigenvectors_of_large_matrices(dtype: str) -> None:
    a = random(dtype, 2, 100, 100)
    a = a + adjoint(a)
    v, w = portable(lax.linalg.eigh, a)
    exact = np.linalg.eigvalsh(a.astype("c16"))
    close(w, exact, dtype, size=np.abs(exact).max())
    close(a @ v, v * w[..., None, :], dtype, size=np.abs(exact).max())
    orthonormal(v, dtype)


@pytest.mark.parametrize("shape", [(2, 2), (3, 3), (2, 5, 5), (60, 60)])
def test_eigenvalues_and_what_is_left_out(shape: tuple[int, ...]) -> None:
    def values(a: Any) -> Any:
        right = lax.linalg.eig(a, compute_left_eigenvectors=False)
        return numpy.linalg.eigvals(a), right, lax.linalg.eig(a, compute_right_eigenvectors=False)

    a = random("float64", *shape)
    found, w, right, v, left = portable(values, a)
    exact = np.linalg.eigvals(a)
    for x in (found, w, v):
        distances = np.abs(x[..., :, None] - exact[..., None, :])
        for axis in (-1, -2):
            close(distances.min(axis), np.zeros(shape[:-1]), "float64", times=4000)
    close(a @ right, right * w[..., None, :], "float64", size=np.abs(exact).max())
    close(adjoint(a) @ left, left * v[..., None, :].conj(), "float64", size=np.abs(exact).max())


def test_matrices_without_elements() -> None:
    square = (lax.linalg.eigh, lax.linalg.eig, lax.linalg.cholesky, numpy.linalg.inv)

    def factors(*xs: Any) -> Any:
        return [
            (lax.linalg.lu(x), lax.linalg.qr(x), lax.linalg.svd(x), lax.linalg.qr(x, pivoting=True))
            for x in xs
        ] + [f(xs[-1]) for f in square]

    args = [np.zeros(s, "float32") for s in ((0, 3), (3, 0), (0, 2, 2), (2, 0, 0))]
    for x, y in zip(portable(factors, *args), lapack(factors, *args), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        if x.dtype != np.int32:
            np.testing.assert_array_equal(x, y)


def test_reflectors_that_are_not_of_a_decomposition() -> None:
    for dtype, (m, n, k) in (("float64", (7, 5, 3)), ("complex64", (50, 40, 40))):
        a, taus = random(dtype, m, n), random(dtype, k, seed=1) / m
        taus[1] = 0
        (found,) = portable(lax.linalg.householder_product, a, taus)
        product = np.eye(m, dtype="c16")
        for i in range(k):
            v = np.append(np.append(np.zeros(i), 1), a[i + 1 :, i])
            product = product @ (np.eye(m) - taus[i] * np.outer(v, v.conj()))
        size = np.abs(product).max()
        close(found, product[:, :n], dtype, size=size, times=4000)


def _of_lu(a: Any, b: Any) -> Any:
    factors = olympus.scipy.linalg.lu_factor(a)
    return (
        numpy.linalg.solve(a, b),
        numpy.linalg.inv(a),
        numpy.linalg.det(a),
        numpy.linalg.slogdet(a),
        olympus.scipy.linalg.lu(a),
        olympus.scipy.linalg.lu_solve(factors, b, trans=2),
        olympus.scipy.linalg.expm(a),
    )


def _of_singular_values(a: Any, b: Any) -> Any:
    return (
        numpy.linalg.pinv(a),
        numpy.linalg.lstsq(a, b),
        numpy.linalg.matrix_rank(a),
        numpy.linalg.cond(a),
        [numpy.linalg.norm(a, order) for order in (2, -2, "nuc")],
        olympus.scipy.linalg.polar(a),
    )


def _of_positive(a: Any, b: Any) -> Any:
    gram = a @ numpy.conj(a.T) + numpy.eye(6)
    factor = olympus.scipy.linalg.cho_factor(gram, lower=True)
    return (
        numpy.linalg.cholesky(gram),
        olympus.scipy.linalg.cho_solve(factor, b),
        olympus.scipy.linalg.solve_triangular(a, b, trans="C", unit_diagonal=True),
        numpy.linalg.cholesky(-gram),
        numpy.linalg.eigvalsh(gram),
    )


@pytest.mark.parametrize("fun", [_of_lu, _of_singular_values, _of_positive])
def test_functions_built_on_decompositions_match_lapack(fun: Callable[..., Any]) -> None:
    for dtype in ("float64", "complex128"):
        args = random(dtype, 6, 6), random(dtype, 6, 2, seed=1)
        for x, y in zip(portable(fun, *args), lapack(fun, *args), strict=True):
            assert x.dtype == y.dtype
            np.testing.assert_allclose(x, y, rtol=1e-9, atol=1e-11)


def test_derivatives_are_the_primitives_own() -> None:
    def loss(x: Any) -> Any:
        s = numpy.linalg.svd(x, compute_uv=False)
        q = numpy.linalg.qr(x, mode="complete")[0]
        w, v = numpy.linalg.eigh(x.T @ x)
        return numpy.sum(numpy.sin(s)) + numpy.sum(q**3) + numpy.sum(w * v[0] ** 2)

    def of_each(x: Any) -> Any:
        return ox.vmap(ox.grad(loss))(x), ox.grad(lambda y: numpy.linalg.det(y @ y.T))(x[0, :3])

    x = random("float64", 2, 5, 3)
    for mine, theirs in zip(portable(of_each, x), lapack(of_each, x), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-9)


def test_the_cpu_accepts_the_jacobi_algorithm() -> None:
    a = random("float64", 6, 4)
    u, s, vh = lax.linalg.svd(a, full_matrices=False, algorithm=lax.linalg.SvdAlgorithm.JACOBI)
    close(np.asarray(u * s) @ vh, a, "float64", size=s[0])
    jacobi = lax.linalg.EighImplementation.JACOBI
    _, w = lax.linalg.eigh(a.T @ a, implementation=jacobi)
    close(w, np.asarray(s)[::-1] ** 2, "float64", size=s[0] ** 2)
    text = ox.jit(lambda x: lax.linalg.eigh(x, implementation=jacobi)).trace(a[:4]).lower()
    assert "lapack" not in text.as_text()


ALONE: dict[str, Callable[[Any], Any]] = {
    "lu": lax.linalg.lu,
    "qr": lax.linalg.qr,
    "pivoted": lambda x: lax.linalg.qr(x, pivoting=True),
    "geqrf": lambda x: lax.linalg.householder_product(*geqrf_p.bind(x)),
    "svd": lax.linalg.svd,
    "singular values": lambda x: lax.linalg.svd(x, compute_uv=False),
    "eigh": lax.linalg.eigh,
    "cholesky": lax.linalg.cholesky,
    "solve": lambda x: numpy.linalg.solve(x, x),
    "lstsq": lambda x: numpy.linalg.lstsq(x, x),
    "pinv": numpy.linalg.pinv,
    "expm": olympus.scipy.linalg.expm,
    "eig": lax.linalg.eig,
    "eigvals": numpy.linalg.eigvals,
}


@pytest.mark.parametrize("target", [H200, TPU], ids=["gpu", "tpu"])
@pytest.mark.parametrize("name", ALONE)
def test_no_call_of_lapack_is_lowered(name: str, target: Any) -> None:
    for dtype in DTYPES:
        traced = ox.jit(ALONE[name]).trace(ox.ShapeDtypeStruct((4, 4), dtype))
        assert "custom_call" not in traced.lower(target).as_text()
    assert traced.lower(target).as_text() == traced.lower(target).as_text()


def test_one_function_of_a_module_serves_equal_matrices() -> None:
    spec = ox.ShapeDtypeStruct((40, 40), "float32")

    def twice(x: Any, y: Any) -> Any:
        return lax.linalg.lu(x), lax.linalg.lu(y), lax.linalg.lu(y[:3])

    text = ox.jit(twice).trace(spec, spec).lower(H200).as_text()
    assert text.count("call @lu(") == 2 and text.count("call @lu_0(") == 1
    assert text.count("func.func private @lu") == 2


@pytest.mark.parametrize("doubles", [True, False])
def test_doubles_are_lowered_whatever_the_switch(doubles: bool) -> None:
    traced = ox.jit(lax.linalg.svd).trace(ox.ShapeDtypeStruct((4, 3), "float64"))
    with ox.enable_x64(doubles):
        text = traced.lower(H200).as_text()
    assert "f64" in text and "f32" not in text


@needs_gpu_compiler
@pytest.mark.parametrize("dtype", ["float32", pytest.param("complex128", marks=pytest.mark.night)])
def test_all_compile_for_a_gpu(dtype: str) -> None:
    def factors(a: Any) -> Any:
        some = lax.linalg.lu(a), lax.linalg.eigh(a)  # and in svd are both decompositions by QR
        return some if dtype in ("float64", "complex64") else (some, lax.linalg.svd(a), _eig(a))

    traced = ox.jit(factors).trace(ox.ShapeDtypeStruct((2, 40, 40), dtype))
    assert "triangularSolve" in traced.lower(H200).compile().as_text()


def _eig(a: Any) -> Any:
    return lax.linalg.eig(a, compute_left_eigenvectors=False)
