"""olympus.scipy against JAX: values and derivatives of linear algebra and special functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import jax.scipy.linalg
import jax.scipy.special
import numpy as np
import pytest
import scipy.linalg
import scipy.special

import olympus as ox
import olympus.scipy
from olympus.errors import ArgumentError, DTypeError, ShapeError
from tests.day import by_day
from tests.library.oracle import Row, check, check_derivatives, row

rng = np.random.default_rng(0)
A, A3, TALL = rng.normal(size=(4, 4)), rng.normal(size=(2, 4, 4)), rng.normal(size=(5, 3))
C = A + 1j * rng.normal(size=(4, 4))
VECTOR, COLUMNS = rng.normal(size=4), rng.normal(size=(4, 2))
THREE, ROWS = rng.normal(size=3), rng.normal(size=(2, 3))
POSITIVE, HERMITIAN = A @ A.T + np.eye(4), C @ C.conj().T + np.eye(4)
X, Y = rng.uniform(0.1, 3, 7), rng.uniform(0.1, 3, 7)
UNIT, WIDE = rng.uniform(0.01, 0.99, 7), 3 * rng.normal(size=7)
SCIPY = {ox.numpy: olympus.scipy, jax.numpy: jax.scipy}


@pytest.fixture(autouse=True)
def x64():
    """Use float64, for a precise comparison."""
    with ox.enable_x64(True), jax.enable_x64(True):
        yield


def of(part: str, name: str, *args: Any, **options: Any) -> Row:
    """Return a row of a function of olympus.scipy.<part> and of jax.scipy.<part>."""
    label = f"{name} {[getattr(x, 'shape', x) for x in args]} {options}"

    def call(np_like: Any, *given: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # JAX, for batches of vectors
            return getattr(getattr(SCIPY[np_like], part), name)(*given, **options)

    return row(label, call, *args, rtol=1e-8, atol=1e-8)


def linalg(name: str, *args: Any, **options: Any) -> Row:
    return of("linalg", name, *args, **options)


def special(name: str, *args: Any, **options: Any) -> Row:
    return of("special", name, *args, **options)


def then(name: str, solve: Callable[[Any, Any], Any], *args: Any) -> Row:
    """Return a row of two functions of olympus.scipy.linalg, one after the other."""
    label = f"{name} {[x.shape for x in args]}"
    return row(label, lambda n, *given: solve(SCIPY[n].linalg, *given), *args, rtol=1e-8, atol=1e-8)


RIGHT = (VECTOR, COLUMNS, A3)

DECOMPOSITIONS = [
    *[linalg("cholesky", x, lower=low) for x in (POSITIVE, HERMITIAN) for low in (True, False)],
    *[linalg("lu", x, permute_l=p) for x in (A, TALL, TALL.T) for p in (True, False)],
    linalg("lu_factor", C),
    *[linalg("qr", TALL, mode=m, pivoting=p) for m in ("full", "economic", "r") for p in (0, 1)],
    linalg("eigh", A + A.T),
    linalg("eigh", HERMITIAN, eigvals_only=True),
    linalg("svd", TALL),
    linalg("svd", TALL, full_matrices=False),
    linalg("svd", TALL, compute_uv=False),
    *[linalg("polar", x, side=s, method="svd") for x in (TALL, C) for s in ("left", "right")],
    linalg("polar", TALL),
]

#: real matrices with complex eigenvalues, and complex ones
SPIRAL = np.asarray([[1.0, 4, 0, 1], [-3, 1, 2, 0], [0, 0, 2, 5], [0, 1, -4, 2]])
FORMS = [
    *[linalg("schur", x, output=o) for x in (A, A3, C) for o in ("real", "complex")],
    *[linalg("hessenberg", x, calc_q=q) for x in (A, A3, C) for q in (True, False)],
    linalg("hessenberg", np.ones((0, 0)), calc_q=True),
    linalg("hessenberg", np.ones((1, 1)), calc_q=True),
    *[then("rsf2csf", lambda m, a: m.rsf2csf(*m.schur(a)), x) for x in (SPIRAL, C, POSITIVE)],
    *[linalg("sqrtm", x) for x in (A, C, POSITIVE, SPIRAL, np.diag([0.0, 0, 4]), np.eye(1))],
    *[
        linalg("solve_sylvester", x, y, np.ones((4, y.shape[0])), method=m)
        for x in (A, C)
        for y in (SPIRAL, THREE[:, None] * np.eye(3) + np.triu(np.ones((3, 3))))
        for m in ("schur", "eigen")
    ],
    linalg("solve_sylvester", A, -A, A),
    linalg("solve_sylvester", A3, SPIRAL, np.stack([A, A.T])),
    *[
        linalg("qr_multiply", x, c, mode=mode, pivoting=p, conjugate=conj)
        for x, right, left in ((TALL, np.ones((2, 5)), np.ones((3, 2))), (C, C, C), (C, C[0], C[0]))
        for c, mode in ((right, "right"), (left, "left"))
        for p in (True, False)
        for conj in (True, False)
    ],
    *[linalg("eigh_tridiagonal", VECTOR, THREE, eigvals_only=True, select_range=(1, 2), select=s)
      for s in ("a", "i")],
    linalg("eigh_tridiagonal", VECTOR + 0j, THREE * 1j, eigvals_only=True),
    linalg("eigh_tridiagonal", VECTOR[:1], THREE[:0], eigvals_only=True),
]  # fmt: skip


def absolute_vectors(m: Any, d: Any, e: Any) -> Any:
    values, vectors = m.eigh_tridiagonal(d, e)
    return values, abs(vectors)


FORMS.append(then("vectors of eigh_tridiagonal", absolute_vectors, VECTOR, THREE))
EQUATIONS = [
    linalg("det", A),
    linalg("inv", A3),
    linalg("solve", A, COLUMNS),
    linalg("solve", np.triu(HERMITIAN), COLUMNS, assume_a="pos"),
    linalg("solve", np.tril(POSITIVE), VECTOR, assume_a="pos", lower=True),
    *[
        then("cho_solve", lambda m, a, b, w=w: m.cho_solve(m.cho_factor(a, w), b), HERMITIAN, b)
        for b in RIGHT
        for w in (True, False)
    ],
    *[
        then("lu_solve", lambda m, a, b, t=t: m.lu_solve(m.lu_factor(a), b, trans=t), a, b)
        for a in (C, A3)
        for b in RIGHT
        for t in (0, 1, 2)
    ],
    *[
        linalg("solve_triangular", a, b, trans=t, lower=low, unit_diagonal=low)
        for a in (C, A3)
        for b in RIGHT
        for t in (0, "T", 2)
        for low in (True, False)
    ],
]

STRUCTURED = [
    *[linalg("fiedler_companion", np.arange(1.0, n + 2)) for n in range(8)],
    linalg("fiedler_companion", ROWS + 4),
    linalg("toeplitz", THREE),
    linalg("toeplitz", THREE + 1j),
    *[linalg("toeplitz", *x) for x in ((THREE, VECTOR), (VECTOR, THREE), (ROWS, VECTOR))],
    linalg("toeplitz", np.array([1, 2]), np.array([3, 4, 5])),
    *[linalg("hankel", *x) for x in ((THREE,), (THREE, VECTOR), (VECTOR, THREE), (ROWS, VECTOR))],
    *[linalg("circulant", x) for x in (VECTOR, ROWS, np.ones(1))],
    *[linalg("companion", x) for x in (VECTOR, ROWS, np.array([1, 2]))],
    *[linalg("leslie", f, s) for f, s in ((VECTOR, THREE), (VECTOR, ROWS))],
    *[linalg("fiedler", x) for x in (VECTOR, ROWS)],
    *[
        linalg("convolution_matrix", x, n=n, mode=m)
        for x in (THREE, ROWS)
        for n in (1, 2, 3, 5)
        for m in ("full", "same", "valid")
    ],
    linalg("block_diag", A, THREE, 2.0, COLUMNS),
    linalg("block_diag"),
    linalg("block_diag", np.ones((2, 2), int), np.ones((1, 3))),
    *[linalg(name, n=4) for name in ("hilbert", "helmert", "hadamard", "dft")],
    linalg("helmert", n=4, full=True),
    *[linalg("dft", n=5, scale=s) for s in ("n", "sqrtn")],
]

EXPONENTIALS = [
    *[linalg("expm", x) for x in (A, 20 * A, C, 1e9 * A, np.zeros((2, 2)))],
    linalg("expm", A3 * np.array([0.1, 9.0])[:, None, None]),
    linalg("expm", np.triu(A), upper_triangular=True),
    linalg("expm_frechet", A, A.T),
    linalg("expm_frechet", A, A.T, compute_expm=False),
]

EDGES = np.array([0.0, -0.0, -1.0, -2.0, np.nan])
TAILS = np.concatenate([WIDE, [-9.0, -11, -25, -100, 3, 7, 9, 12]])
OF_ONE = {
    "gammaln": WIDE,
    "gamma": WIDE,
    "gammasgn": np.concatenate([WIDE, EDGES]),
    "loggamma": WIDE,
    "digamma": X,
    "erf": WIDE,
    "erfc": WIDE,
    "erfinv": UNIT,
    "logit": UNIT,
    "expit": WIDE,
    "entr": np.concatenate([WIDE, [0.0]]),
    "ndtr": 3 * WIDE,
    "log_ndtr": TAILS,
    "factorial": np.concatenate([X, [-1.0, 0, 5]]),
    "softmax": A,
    "log_softmax": A,
    "logsumexp": A,
    "i0": WIDE,
}
OF_TWO = ("betaln", "beta", "poch", "boxcox", "boxcox1p", "xlogy", "xlog1py", "rel_entr", "kl_div")
ZEROS = (np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0]))

SPECIAL = [
    *[special(name, x) for name, x in OF_ONE.items()],
    *[special(name, X[:, None], Y) for name in OF_TWO],
    *[special(name, 1.5, Y) for name in OF_TWO],
    *[special(name, *ZEROS) for name in OF_TWO],
    special("softmax", A, axis=1),
    special("gammaln", np.array([3, 4])),
    special("zeta", 1 + X, Y),
    special("polygamma", np.arange(7), Y),
    special("comb", np.arange(7), X),
    special("comb", 3 * X, 2.0, repetition=True),
    special("multigammaln", X + 3, d=3),
]


@pytest.mark.parametrize("jit", by_day([True, False], [True]))
@pytest.mark.parametrize(
    "rows", [DECOMPOSITIONS, EQUATIONS, FORMS], ids=["decompositions", "equations", "forms"]
)
def test_linalg(rows: list[Row], jit: bool) -> None:
    if jit:
        check(rows, weak=False)
    else:
        check(rows[::3], jit=False, weak=False)


@pytest.mark.parametrize("argnums", [0, 1])
def test_derivatives_of_zeta(argnums: int) -> None:
    def slopes(side: Any, zeta: Any) -> Any:
        slope = side.vmap(side.grad(zeta, argnums))
        second = side.vmap(side.grad(side.grad(zeta, argnums), 0))
        places = np.array([1.1, 1.5, 2.5, 7.0, 20.0]), np.array([0.3, 1.0, 12.0, 4.0, 2.0])
        with side.enable_x64(True):
            return np.array([slope(*places), second(*places)])

    ours = slopes(ox, ox.scipy.special.zeta)
    np.testing.assert_allclose(ours, slopes(jax, jax.scipy.special.zeta), rtol=1e-9)


def test_lists_are_arrays() -> None:
    matrix = [[2.0, 1.0], [1.0, 3.0]]
    names = ["cholesky", "cho_factor", "eigh", "lu", "lu_factor", "polar", "qr", "svd"]

    def call(part: str, name: str, *lists: Any) -> Row:
        return row(name, lambda m: getattr(getattr(SCIPY[m], part), name)(*lists), rtol=1e-8)

    rows = [call("linalg", name, matrix) for name in names]
    rows += [call("special", name, [0.5, 0.25]) for name in ("ndtr", "log_ndtr", "spence")]
    check([*rows, call("special", "expn", [1, 2], [0.5, 0.25])])


def test_matrices_of_a_structure() -> None:
    check(STRUCTURED, weak=False)


@pytest.mark.parametrize("kind", ["symmetric", "lower", "upper"])
def test_binomial_coefficients_are_exact(kind: str) -> None:
    result = olympus.scipy.linalg.pascal(12, kind)
    np.testing.assert_array_equal(result, scipy.linalg.pascal(12, kind))
    result = olympus.scipy.linalg.invpascal(8, kind)
    np.testing.assert_array_equal(result, scipy.linalg.invpascal(8, kind))
    result = olympus.scipy.linalg.invhilbert(8)
    np.testing.assert_array_equal(result, scipy.linalg.invhilbert(8, exact=True))


@pytest.mark.parametrize("name", ["exp", "sin", "cos"])
@pytest.mark.parametrize("matrix", [A, C, POSITIVE], ids=["real", "complex", "symmetric"])
def test_functions_of_matrices(name: str, matrix: Any) -> None:
    expected = scipy.linalg.funm(matrix, lambda x: getattr(np, name)(x + 0j))
    result, error = olympus.scipy.linalg.funm(matrix, getattr(ox.numpy, name), disp=False)
    np.testing.assert_allclose(result, expected, rtol=1e-8, atol=1e-8)
    assert 0 < error < 1e-10
    np.testing.assert_array_equal(
        olympus.scipy.linalg.funm(matrix, getattr(ox.numpy, name)), result
    )


def test_matrix_exponentials() -> None:
    check(EXPONENTIALS, weak=False)


def test_special_functions() -> None:
    check(SPECIAL, weak=False)


def test_special_functions_in_single_precision() -> None:
    for name, x in OF_ONE.items():
        if name in ("gammasgn", "i0", "logsumexp", "softmax", "log_softmax"):
            continue
        result = np.asarray(getattr(olympus.scipy.special, name)(x.astype("float32")))
        assert result.dtype == np.float32
        expected = getattr(scipy.special, name)(x.astype("float32").astype("float64"))
        if name == "loggamma":
            expected = np.where(x > 0, expected, np.nan)
        np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-5)


def _total(part: str, name: str, *rest: Any) -> Callable[[Any, Any], Any]:
    return lambda n, x: n.sum(n.sin(getattr(getattr(SCIPY[n], part), name)(x, *rest)))


SMOOTH: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "solve": (
        lambda n, x: n.sum(SCIPY[n].linalg.solve(x @ x.T + np.eye(4), COLUMNS, assume_a="pos")),
        A,
    ),
    "cho_solve": (
        lambda n, x: n.sum(
            SCIPY[n].linalg.cho_solve(SCIPY[n].linalg.cho_factor(x @ x.T + np.eye(4)), VECTOR)
        ),
        A,
    ),
    "lu_solve": (
        lambda n, x: n.sum(SCIPY[n].linalg.lu_solve(SCIPY[n].linalg.lu_factor(x), VECTOR, trans=1)),
        A,
    ),
    "expm": (_total("linalg", "expm"), 3 * A),
    "toeplitz": (_total("linalg", "toeplitz"), THREE),
    "block_diag": (_total("linalg", "block_diag", COLUMNS), THREE),
    **{
        name: (_total("special", name), x[x > 0] if name in ("gamma", "gammaln", "entr") else x)
        for name, x in OF_ONE.items()
        if name in ("gammaln", "gamma", "digamma", "logit", "expit", "ndtr", "log_ndtr", "entr")
    },
    **{f"first of {name}": (_total("special", name, Y), X) for name in OF_TWO},
    "second of xlogy": (lambda n, y: n.sum(SCIPY[n].special.xlogy(X, y)), Y),
    "xlogy at 0": (lambda n, x: n.sum(SCIPY[n].special.xlogy(x, X[:2])), np.array([0.0, 1.0])),
    "xlogy of a number": (lambda n, x: n.sum(SCIPY[n].special.xlogy(X, x)), np.asarray(1.5)),
}


#: Functions of which another one tests the rule of derivatives: they take longest.
COMPOSED = {"cho_solve", "lu_solve", "first of beta", "first of poch"}


@pytest.mark.parametrize("name", by_day(SMOOTH, SMOOTH.keys() - COMPOSED))
def test_first_and_second_derivatives(name: str) -> None:
    check_derivatives(*SMOOTH[name])


def test_errors() -> None:
    s = olympus.scipy
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: s.linalg.solve(A, VECTOR, assume_a="odd"), ArgumentError, "'gen', 'sym'"),
        (lambda: s.linalg.solve_triangular(A, VECTOR, trans=3), ArgumentError, "trans"),
        (lambda: s.linalg.lu_solve(s.linalg.lu_factor(A), VECTOR, 3), ArgumentError, "trans 0, 1"),
        (lambda: s.linalg.cho_solve((A, True), THREE), ShapeError, "cho_solve needs square"),
        (lambda: s.linalg.qr(A, mode="thin"), ArgumentError, "'full', 'economic' and 'r'"),
        (lambda: s.linalg.eigh(A, A), NotImplementedError, "Only the b=None case of eigh"),
        (lambda: s.linalg.polar(A, side="up"), ArgumentError, "'left' and 'right'"),
        (lambda: s.linalg.polar(A, method="qr"), ArgumentError, "Unknown polar decomposition"),
        (lambda: s.linalg.polar(TALL.T), NotImplementedError, "method='qdwh' only supports"),
        (lambda: s.linalg.schur(A, "odd"), ArgumentError, "'real' or 'complex'"),
        (lambda: s.linalg.schur(TALL), ShapeError, "schur needs square"),
        (lambda: s.linalg.hessenberg(TALL), ShapeError, "hessenberg needs square"),
        (lambda: s.linalg.rsf2csf(A, np.eye(3)), ShapeError, "one size"),
        (lambda: s.linalg.sqrtm(A3), ShapeError, "one square matrix"),
        (lambda: s.linalg.sqrtm(A, 2), NotImplementedError, "blocked"),
        (lambda: s.linalg.solve_sylvester(A, A, TALL), ShapeError, "incompatible"),
        (lambda: s.linalg.solve_sylvester(A, A, A, method="odd"), ArgumentError, "methods"),
        (lambda: s.linalg.qr_multiply(A, A, "up"), ArgumentError, "mode must be"),
        (lambda: s.linalg.qr_multiply(A, TALL), ShapeError, "not compatible"),
        (lambda: s.linalg.eigh_tridiagonal(VECTOR, VECTOR), ShapeError, "vectors"),
        (lambda: s.linalg.eigh_tridiagonal(VECTOR, THREE + 0j), TypeError, "one dtype"),
        (lambda: s.linalg.eigh_tridiagonal(VECTOR, THREE, select="i"), ValueError, "specified"),
        (lambda: s.linalg.eigh_tridiagonal(VECTOR, THREE, select="x"), ValueError, "'a', 'i'"),
        (lambda: s.linalg.eigh_tridiagonal(VECTOR, THREE, select="v"), NotImplementedError, "'v'"),
        (lambda: s.linalg.fiedler_companion(THREE[:0]), ShapeError, "nonzero"),
        (lambda: s.linalg.invpascal(3, "odd"), ArgumentError, "kinds"),
        (lambda: s.linalg.expm(TALL), ShapeError, "input to expm must be a square matrix"),
        (lambda: s.linalg.expm_frechet(A, TALL), ShapeError, "of one shape"),
        (lambda: s.linalg.hankel(1.0), ShapeError, "hankel needs vectors"),
        (lambda: s.linalg.companion(np.ones(1)), ShapeError, "two coefficients"),
        (lambda: s.linalg.leslie(THREE, THREE), ShapeError, "one less"),
        (lambda: s.linalg.block_diag(A3), ShapeError, "block_diag needs matrices"),
        (lambda: s.linalg.convolution_matrix(THREE, 0), ShapeError, "n > 0"),
        (lambda: s.linalg.convolution_matrix(THREE, 2, "odd"), ArgumentError, "modes"),
        (lambda: s.linalg.hadamard(3), ShapeError, "power of 2"),
        (lambda: s.linalg.helmert(0), ShapeError, "n >= 1"),
        (lambda: s.linalg.pascal(3, "odd"), ArgumentError, "kinds"),
        (lambda: s.linalg.dft(3, "odd"), ArgumentError, "scales"),
        (lambda: s.linalg.dft(3, dtype="float32"), DTypeError, "complex dtype"),
        (lambda: s.special.log_ndtr(0.0, 31), ArgumentError, "order from 0 to 30"),
        (lambda: s.special.log_ndtr(np.float16(0)), DTypeError, "float32 and float64"),
        (lambda: s.special.polygamma(1.5, X), DTypeError, "integer order"),
        (lambda: s.special.factorial(3, exact=True), ArgumentError, "exact=True"),
        (lambda: s.special.gammaln(C), DTypeError, "gammaln does not accept dtype complex128"),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()


def test_slopes_of_entropies_of_zero() -> None:
    def slopes(n: Any, x: Any) -> Any:
        package, s = (ox, olympus.scipy) if n is ox.numpy else (jax, jax.scipy)
        grad = package.grad
        at_scalar = grad(s.special.entr)(0.0), grad(lambda x: s.special.xlogy(x, x))(0.0)
        return at_scalar, package.vmap(grad(s.special.entr))(x)

    check([row("entropies", slopes, [0.0, 0.5, -1.0])])


def test_the_normal_distribution_of_scalars_is_not_weak() -> None:
    check(
        [
            row("ndtr", lambda n: SCIPY[n].special.ndtr(2.0)),
            row("log_ndtr", lambda n: SCIPY[n].special.log_ndtr(2.0)),
        ]
    )


def test_expm_of_half_floats_is_refused() -> None:
    with pytest.raises(DTypeError, match="expm does not take float16"):
        olympus.scipy.linalg.expm(np.ones((2, 2), "float16"))
