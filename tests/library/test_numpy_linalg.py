"""olympus.numpy.linalg and olympus.lax.linalg against JAX: values, derivatives, failures."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus import artifact
from olympus.errors import ArgumentError, DTypeError, ShapeError, TransformError
from tests.library.oracle import Row, check, check_derivatives, row
from tests.marks import needs_gpu_compiler

rng = np.random.default_rng(0)


def matrix(*shape: int, dtype: str = "float64") -> np.ndarray[Any, Any]:
    x = rng.normal(size=shape)
    return (x + 1j * rng.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)


A, A3, C = matrix(4, 4), matrix(2, 4, 4), matrix(4, 4, dtype="complex128")
TALL, VECTOR, COLUMNS = matrix(5, 3), matrix(4), matrix(4, 2)
POSITIVE = {"real": A @ A.T + np.eye(4), "complex": C @ C.conj().T + np.eye(4)}
ORDERS = (None, 1, -1, 2, -2, np.inf, -np.inf, "fro", "nuc")


@pytest.fixture
def x64():
    with ox.enable_x64(True), jax.enable_x64(True):
        yield


def linalg(name: str, *args: Any, label: str = "", **options: Any) -> Row:
    shapes = [getattr(x, "shape", x) for x in args]
    row_name = f"{name} {shapes} {options} {label}"
    return row(
        row_name,
        lambda np_like, *given: getattr(np_like.linalg, name)(*given, **options),
        *args,
        rtol=1e-8,
        atol=1e-9,
    )


DECOMPOSITIONS = [
    linalg("cholesky", POSITIVE["real"]),
    linalg("cholesky", POSITIVE["complex"], upper=True),
    linalg("cholesky", POSITIVE["complex"], symmetrize_input=False),
    linalg("cholesky", -POSITIVE["real"], label="NaN"),
    linalg("cholesky", np.stack([POSITIVE["real"], -POSITIVE["real"]]), label="one NaN"),
    *[linalg("qr", x, mode=m) for m in ("reduced", "complete", "raw") for x in (TALL, TALL.T, C)],
    linalg("qr", TALL, mode="r"),
    linalg("eigh", A + A.T),
    linalg("eigh", A, UPLO="U", symmetrize_input=False),
    linalg("eigvalsh", POSITIVE["complex"]),
    linalg("eig", A),
    linalg("eigvals", C),
    *[linalg("svd", x, full_matrices=f) for f in (True, False) for x in (TALL, TALL.T, A3)],
    linalg("svd", C, compute_uv=False),
    linalg("svd", A + A.T, compute_uv=False, hermitian=True),
    linalg("svdvals", TALL),
]

EQUATIONS = [
    *[linalg("solve", a, b) for a in (A, A3, C) for b in (VECTOR, COLUMNS, A3)],
    linalg("solve", A3[:, None], matrix(3, 4, 1)),
    linalg("inv", A3),
    linalg("pinv", TALL),
    linalg("pinv", C, 0.1),
    linalg("pinv", A3, np.array([0.1, 0.5])),
    linalg("pinv", A + A.T, hermitian=True),
    linalg("lstsq", TALL, TALL[:, 0]),
    linalg("lstsq", TALL, TALL, 0.5),
    linalg("lstsq", TALL.T, COLUMNS[:3], -1.0),
    linalg("tensorinv", matrix(2, 2, 4), ind=2),
    linalg("tensorsolve", matrix(2, 2, 4), COLUMNS[:2]),
    linalg("tensorsolve", matrix(2, 4, 2), COLUMNS[:2], axes=(1,)),
    linalg("det", A3),
    linalg("det", C),
    *[linalg("det", A[:n, :n]) for n in (1, 2, 3)],
    linalg("slogdet", A3),
    linalg("slogdet", C),
    linalg("slogdet", np.zeros((2, 2)), label="zero"),
    linalg("slogdet", A, method="qr"),
    linalg("matrix_rank", np.stack([A, A @ np.diag([1.0, 1, 0, 0])])),
    linalg("matrix_rank", A + A.T, 0.5, hermitian=True),
    linalg("matrix_rank", VECTOR),
    linalg("matrix_power", A, n=-3),
    *[linalg("cond", A3, p=p) for p in ORDERS if p != "nuc"],
    linalg("cond", np.zeros((2, 2)), p=1, label="infinite"),
    *[linalg("norm", TALL, ord=o, keepdims=k) for o in ORDERS for k in (True, False)],
    linalg("norm", A3, ord=2, axis=(0, 2)),
    linalg("matrix_norm", A3, ord="nuc"),
]

EMPTY = [
    linalg(name, np.zeros(shape))
    for name, shapes in {
        "inv": [(0, 0), (0, 2, 2)],
        "det": [(0, 0)],
        "slogdet": [(0, 0)],
        "qr": [(3, 0), (0, 3)],
        "svd": [(2, 0)],
        "cholesky": [(0, 0), (0, 2, 2)],
        "eigh": [(0, 0)],
    }.items()
    for shape in shapes
] + [linalg("solve", np.zeros((3, 0, 0)), np.zeros((3, 0, 2)))]


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.usefixtures("x64")
def test_decompositions(jit: bool) -> None:
    check(DECOMPOSITIONS if jit else DECOMPOSITIONS[::3], jit=jit)


@pytest.mark.parametrize("jit", [True, False])
@pytest.mark.usefixtures("x64")
def test_equations(jit: bool) -> None:
    check(EQUATIONS if jit else EQUATIONS[::3], jit=jit)


@pytest.mark.usefixtures("x64")
def test_empty_matrices() -> None:
    check(EMPTY)


def test_single_precision_and_integers() -> None:
    single = {x.dtype.char: x.astype("F" if x.dtype.kind == "c" else "f") for x in (A, C)}
    rough = {"rtol": 1e-4, "atol": 1e-4}
    rows = [
        row(f"{name} {x.dtype}", lambda n, x, f=name: getattr(n.linalg, f)(x), x, **rough)
        for name in ("inv", "det", "qr", "svdvals", "pinv")
        for x in (*single.values(), np.array([[2, 1], [1, 3]]))
    ]
    check(rows)


def _total(f: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda n, x: n.sum(n.sin(f(n, x)))


SMOOTH: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "cholesky": (_total(lambda n, x: n.linalg.cholesky(x @ x.T + np.eye(4))), A),
    "solve": (_total(lambda n, x: n.linalg.solve(x, COLUMNS)), A),
    "right-hand side": (_total(lambda n, x: n.linalg.solve(A3, x)), VECTOR),
    "inv": (_total(lambda n, x: n.linalg.inv(x)), A3[:, :3, :3]),
    "det": (_total(lambda n, x: n.linalg.det(x)), A3),
    "slogdet": (_total(lambda n, x: n.linalg.slogdet(x)[1]), A),
    "pinv": (_total(lambda n, x: n.linalg.pinv(x)), TALL),
    "wide pinv": (_total(lambda n, x: n.linalg.pinv(x)), TALL.T),
    "lstsq": (_total(lambda n, x: n.linalg.lstsq(x, TALL[:, :2])[0]), TALL),
    "nuclear norm": (lambda n, x: n.linalg.norm(x, "nuc"), TALL),
    "singular values": (_total(lambda n, x: n.linalg.svd(x, compute_uv=False)), TALL),
    "eigenvalues": (_total(lambda n, x: n.linalg.eigvalsh(x + x.T)), A),
    "r": (_total(lambda n, x: n.linalg.qr(x, mode="r")), TALL),
    "power": (_total(lambda n, x: n.linalg.matrix_power(x, -2)), A),
}


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.usefixtures("x64")
def test_first_and_second_derivatives(name: str) -> None:
    check_derivatives(*SMOOTH[name])


@pytest.mark.usefixtures("x64")
def test_reverse_of_reverse_is_the_hessian() -> None:
    f, x = SMOOTH["solve"]

    def one(x: Any) -> Any:
        return f(ox.numpy, x)

    twice = ox.jit(ox.jacrev(ox.jacrev(one)))(x)
    np.testing.assert_allclose(twice, ox.jit(ox.hessian(one))(x), rtol=1e-9, atol=1e-9)


@pytest.mark.usefixtures("x64")
def test_complex_logarithm_of_the_determinant_has_a_derivative() -> None:
    direction = matrix(4, 4, dtype="complex128")
    tangents = ox.jvp(ox.numpy.linalg.slogdet, (C,), (direction,))[1]
    expected = jax.jvp(jax.numpy.linalg.slogdet, (C,), (direction,))[1]
    for a, b in zip(tangents, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9)


@pytest.mark.usefixtures("x64")
def test_gradient_of_det_of_singular_matrices() -> None:
    singular = A.copy()
    singular[3] = singular[0]
    adjugate = jax.grad(jax.numpy.linalg.det)(singular)
    np.testing.assert_allclose(ox.grad(ox.numpy.linalg.det)(singular), adjugate, atol=1e-12)
    assert not np.any(ox.grad(ox.numpy.linalg.det)(np.zeros((4, 4))))


@pytest.mark.usefixtures("x64")
def test_hessian_of_a_gaussian_process() -> None:
    x, y = np.linspace(0, 1, 6), np.sin(np.arange(6.0))

    def likelihood(package: Any) -> Callable[[Any], Any]:
        n = package.numpy

        def negative(theta: Any) -> Any:
            gap = (x[:, None] - x) / n.exp(theta[0])
            kernel = n.exp(theta[1] - gap * gap) + n.exp(theta[2]) * np.eye(6)
            factor = n.linalg.cholesky(kernel)
            scaled = package.lax.linalg.triangular_solve(factor, y, left_side=True, lower=True)
            return n.sum(scaled**2) / 2 + n.sum(n.log(n.diagonal(factor)))

        return negative

    theta = np.array([-1.0, 0.5, -2.0])
    hessian = ox.jit(ox.hessian(likelihood(ox)))(theta)
    np.testing.assert_allclose(hessian, jax.jit(jax.hessian(likelihood(jax)))(theta), rtol=1e-9)
    np.testing.assert_allclose(hessian, np.asarray(hessian).T, rtol=1e-9)


def test_one_matrix_for_many_right_hand_sides_is_decomposed_once() -> None:
    spec = ox.ShapeDtypeStruct
    solve_each = ox.vmap(ox.numpy.linalg.solve, in_axes=(None, 0))
    text = str(ox.jit(solve_each).trace(spec((4, 4), "float32"), spec((7, 4), "float32")).olympuspr)
    assert "f32[4,7] = factored_solve" in text and "f32[7,4,4]" not in text
    text = ox.jit(ox.grad(lambda a, b: ox.numpy.linalg.solve(a, b).sum())).trace(
        spec((4, 4), "float32"), spec((4,), "float32")
    )
    assert text.lower().as_text().count("getrf") == 1


def test_only_the_lower_triangle_is_read() -> None:
    lower = np.tril(POSITIVE["real"]).astype("float32")

    def factor(x: Any) -> Any:
        return ox.lax.linalg.cholesky(x, symmetrize_input=False)

    np.testing.assert_allclose(factor(lower), np.linalg.cholesky(POSITIVE["real"]), rtol=1e-4)
    gradient = np.asarray(ox.grad(lambda x: factor(x).sum())(lower))
    assert not np.triu(gradient, 1).any() and gradient[3, 0] != 0


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (
        lambda: ox.numpy.linalg.cholesky(TALL),
        ShapeError,
        "input to cholesky must be a square matrix",
    ),
    (lambda: ox.numpy.linalg.inv(VECTOR), ShapeError, r"inv needs square .* float32\[4\]"),
    (lambda: ox.numpy.linalg.solve(A, TALL), ShapeError, "input to solve must be a square matrix"),
    (lambda: ox.numpy.linalg.lstsq(A, TALL), ShapeError, "lstsq needs a of"),
    (lambda: ox.numpy.linalg.qr(A, mode="thin"), ArgumentError, "modes 'reduced'"),
    (lambda: ox.numpy.linalg.eigh(A, UPLO="X"), ArgumentError, "triangle 'L' or 'U'"),
    (lambda: ox.numpy.linalg.slogdet(A, method="svd"), ArgumentError, "methods 'lu' and 'qr'"),
    (lambda: ox.numpy.linalg.norm(A, ord=3), ValueError, "orders 'fro', 'nuc'"),
    (lambda: ox.numpy.linalg.cond(np.zeros((0, 2))), ShapeError, "matrices with elements"),
    (lambda: ox.numpy.linalg.tensorinv(A, 0), ArgumentError, "ind=0"),
    (lambda: ox.numpy.linalg.tensorsolve(A, TALL), ShapeError, "tensorsolve needs"),
    (lambda: ox.numpy.linalg.pinv(A, 0.1, rcond=0.1), ArgumentError, "and got both"),
    (lambda: ox.lax.linalg.svd(A, subset_by_index=(0, 2)), ArgumentError, "computes all 4 values"),
    (lambda: ox.lax.linalg.svd(A, algorithm="fast"), ArgumentError, "DIVIDE_AND_CONQUER"),
    (lambda: ox.lax.linalg.lu(A.astype("float16")), DTypeError, r"lu needs .*float16\[4,4\]"),
    (
        lambda: ox.lax.linalg.triangular_solve(A, TALL),
        ShapeError,
        r"triangular_solve: \(4, 4\) and .* Axis -1 of the second must have the length 4",
    ),
    (
        lambda: ox.lax.linalg.triangular_solve(A3, matrix(3, 4, 4)),
        ShapeError,
        "triangular_solve needs operands of one batch shape",
    ),
    (
        lambda: ox.grad(lambda x: ox.numpy.linalg.svd(x)[0].sum())(TALL),
        TransformError,
        "full_matrices=True",
    ),
    (
        lambda: ox.grad(lambda x: ox.numpy.linalg.eig(x)[1].real.sum())(A),
        TransformError,
        "only on request",
    ),
]


def _gaussian(a: Any, b: Any) -> Any:
    factor = ox.lax.linalg.cholesky(a)
    return ox.lax.linalg.triangular_solve(factor, b, left_side=True, lower=True)


@needs_gpu_compiler
def test_cholesky_and_triangular_solve_compile_for_a_gpu() -> None:
    spec = ox.ShapeDtypeStruct((2, 64, 64), "float32")
    lowered = ox.jit(_gaussian).trace(spec, spec).lower(ox.target("gpu", "h200"))
    assert "stablehlo.cholesky" in lowered.as_text()
    assert "triangularSolve" in lowered.compile().as_text()


CALL = """
import numpy as np
from olympus import artifact
a = np.diag(np.array([2, 4], "float32"))
solve = artifact.load("solve.olympus").compiled(recompile=False)
np.testing.assert_allclose(solve(a, np.ones(2, "float32")), [0.5, 0.25])
print("solved")
"""


def test_a_saved_solve_calls_lapack_in_another_process(tmp_path: Path) -> None:
    spec = ox.ShapeDtypeStruct
    args = spec((2, 2), "float32"), spec((2,), "float32")
    traced = ox.jit(ox.numpy.linalg.solve).trace(*args)
    lowered = traced.lower()
    artifact.save(
        tmp_path / "solve.olympus",
        lowered.compile(),
        lowered=lowered,
        name="solve",
        olympuspr_text=str(traced.olympuspr),
        entry="olympus.numpy.linalg:solve",
    )
    path = os.pathsep.join([str(Path(ox.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", CALL],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "solved\n"), done.stderr


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_slogdet_of_narrow_floats_has_their_dtype(dtype: str) -> None:
    matrix = np.asarray([[2.0, 1.0], [1.0, 3.0]], np.float32)
    results = [
        package.numpy.linalg.slogdet(package.numpy.asarray(matrix, dtype)) for package in (jax, ox)
    ]
    for theirs, mine in zip(*results, strict=True):
        assert mine.dtype == theirs.dtype == dtype
        np.testing.assert_allclose(float(mine), float(theirs), rtol=0.01)
