"""Incomplete gamma and beta functions and the normal distribution, against SciPy and JAX."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import jax.scipy.special
import jax.scipy.stats
import numpy as np
import pytest
import scipy.special

import olympus as ox
import olympus.scipy
from olympus.errors import DTypeError, ShapeError
from tests.library.oracle import Row, check, row

PACKAGE = {ox.numpy: ox, jax.numpy: jax}
rng = np.random.default_rng(0)
A, B = 10 ** rng.uniform(-2, 4, (2, 500))
NEAR = np.abs(A + np.sqrt(A) * rng.normal(size=500) * 3)
WIDE = 10 ** rng.uniform(-4, 4, 500)
UNIT = np.clip(rng.beta(A, B), 1e-6, 1 - 1e-6)
EDGES = [-1.0, 0.0, 0.5, 2.0, np.inf, np.nan]


@pytest.fixture
def x64():
    with ox.enable_x64(True), jax.enable_x64(True):
        yield


@pytest.mark.parametrize("x", [NEAR, WIDE], ids=["near", "wide"])
def test_incomplete_gamma_functions_are_exact(x64: None, x: Any) -> None:
    for ours, theirs in ((ox.lax.igamma, scipy.special.gammainc),
                         (ox.lax.igammac, scipy.special.gammaincc)):  # fmt: skip
        expected = theirs(A, x)
        shown = expected > 1e-250
        np.testing.assert_allclose(np.asarray(ours(A, x))[shown], expected[shown], rtol=1e-10)


def test_incomplete_beta_function_is_exact(x64: None) -> None:
    expected = scipy.special.betainc(A, B, UNIT)
    shown = expected > 1e-250
    np.testing.assert_allclose(
        np.asarray(ox.lax.betainc(A, B, UNIT))[shown], expected[shown], rtol=1e-9
    )


def test_single_precision() -> None:
    a, b, x, u = (v.astype("float32") for v in (A, B, NEAR, UNIT))
    for result, expected in (
        (ox.lax.igamma(a, x), scipy.special.gammainc(a.astype(float), x.astype(float))),
        (ox.lax.igammac(a, x), scipy.special.gammaincc(a.astype(float), x.astype(float))),
        (ox.lax.betainc(a, b, u), scipy.special.betainc(*(v.astype(float) for v in (a, b, u)))),
    ):
        assert result.dtype == np.float32
        np.testing.assert_allclose(result, expected, rtol=1e-3, atol=3e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_upper_gamma_function_where_a_is_small(x64: None, dtype: str) -> None:
    """For a <= 1/4 and x <= 1, Q is about a E1(x), far below the rounding of 1 - P."""
    a = np.array([0.0, 1e-30, 1e-12, 1e-6, 1e-3, 0.02, 0.1, 0.25, 0.26], dtype)[:, None]
    x = np.array([1e-30, 1e-3, 0.1, 0.5, 0.9, 1.0, 1.0001, 3], dtype)
    expected = scipy.special.gammaincc(a.astype(float), x.astype(float))
    result = np.asarray(ox.lax.igammac(a, x))
    assert result.dtype == dtype
    np.testing.assert_allclose(result, expected, rtol=1e-12 if dtype == "float64" else 8e-6)


def test_edges(x64: None) -> None:
    a, x = map(np.array, zip(*itertools.product(EDGES, EDGES), strict=True))
    np.testing.assert_allclose(ox.lax.igamma(a, x), scipy.special.gammainc(a, x))
    np.testing.assert_allclose(ox.lax.igammac(a, x), scipy.special.gammaincc(a, x))
    ends = [-0.5, 0.0, 0.3, 1.0, 1.5, np.nan]
    a, b, x = map(np.array, zip(*itertools.product(EDGES, EDGES, ends), strict=True))
    undefined = (a == b) & np.isin(a, [0, np.inf])  # SciPy returns a limit there, and JAX nan
    expected = np.where(undefined, np.nan, scipy.special.betainc(a, b, x))
    np.testing.assert_allclose(ox.lax.betainc(a, b, x), expected)


def slope(f: Callable[..., Any], args: list[Any], i: int) -> Any:
    """Return the derivative of f in argument i by differences of the fourth order."""
    h = 1e-3 * args[i]

    def at(k: int) -> Any:
        return np.asarray(f(*args[:i], args[i] + k * h, *args[i + 1 :]))

    return (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * h)


FUNCTIONS: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "igamma": (
        ox.lax.igamma,
        scipy.special.gammainc,
        (rng.uniform(0.2, 9, 60), rng.uniform(0.2, 9, 60)),
    ),
    "igammac": (
        ox.lax.igammac,
        scipy.special.gammaincc,
        (rng.uniform(0.2, 9, 60), rng.uniform(0.2, 9, 60)),
    ),
    "betainc": (
        ox.lax.betainc,
        scipy.special.betainc,
        (rng.uniform(0.2, 9, 60), rng.uniform(0.2, 9, 60), rng.uniform(0.05, 0.95, 60)),
    ),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_first_and_second_derivative(x64: None, name: str) -> None:
    ours, theirs, args = FUNCTIONS[name]
    places = range(len(args))

    def gradients(*xs: Any) -> Any:
        return ox.grad(lambda *v: ox.numpy.sum(ours(*v)), argnums=tuple(places))(*xs)

    first = ox.jit(gradients)(*args)
    for i in places:
        np.testing.assert_allclose(first[i], slope(theirs, list(args), i), rtol=1e-7, atol=1e-8)
    compiled = ox.jit(lambda i, *xs: gradients(*xs), static_argnums=0)
    hessians = ox.jit(ox.vmap(ox.hessian(ours, argnums=tuple(places))))(*args)
    for i, j in itertools.product(places, places):
        expected = slope(lambda *xs, i=i: compiled(i, *xs)[i], list(args), j)
        np.testing.assert_allclose(hessians[i][j], expected, rtol=1e-6, atol=1e-7)


def test_derivatives_in_a_of_other_names(x64: None) -> None:
    a, x = (v.astype("float64") for v in FUNCTIONS["igamma"][2])
    check([
        row("igamma_grad_a", lambda n, a, x: PACKAGE[n].lax.igamma_grad_a(a, x), a, x, rtol=1e-8),
        row("random_gamma_grad", lambda n, a, x: PACKAGE[n].lax.random_gamma_grad(a, x), a, x,
            rtol=1e-8),
    ])  # fmt: skip


def special(name: str, *args: Any) -> Row:
    return row(
        f"{name} {args}", lambda n, *xs: getattr(PACKAGE[n].scipy.special, name)(*xs, *rest(args)),
        *[x for x in args if isinstance(x, np.ndarray)], rtol=1e-5, atol=1e-6,
    )  # fmt: skip


def rest(args: tuple[Any, ...]) -> list[Any]:
    return [x for x in args if not isinstance(x, np.ndarray)]


@pytest.mark.parametrize("jit", [True, False])
def test_types_of_special_functions(jit: bool) -> None:
    x, half = np.linspace(0.1, 3, 5, dtype="float32"), np.ones(3, "float16")
    rows = [
        *[special(n, *a) for n in ("gammainc", "gammaincc")
          for a in ((x, 2), (np.arange(1, 4), 1.5), (2, 1), (2.0, 1.0), (half, 0.5))],
        special("betainc", x, 2, 0.5),
        special("betainc", 1, 2, 0.5),
        special("betainc", x[:, None], x, np.float32(0.25)),
        special("ndtri", x / 4),
        special("ndtri", 0.25),
    ]  # fmt: skip
    check(rows if jit else rows[::5], jit=jit)


TAILS = np.array([-60, -20, -3, -0.1, 0, 0.5, 3, 9, 40, np.inf, -np.inf, np.nan], "float32")
NORMAL = ("cdf", "isf", "logcdf", "logpdf", "logsf", "pdf", "ppf", "sf")


@pytest.mark.parametrize("jit", [True, False])
def test_normal_distribution(jit: bool) -> None:
    # the upper tail of isf is exact; JAX subtracts from 1
    p = np.array([0, 1e-3, 0.1, 0.5, 0.99, 1, 2, np.nan], "float32")
    rows = [
        row(
            f"{name} {others}",
            lambda n, x, name=name, others=others: getattr(PACKAGE[n].scipy.stats.norm, name)(
                x, *others
            ),
            p if name in ("ppf", "isf") else TAILS,
            rtol=1e-5,
            atol=1e-6,
        )
        for name in NORMAL
        for others in ((), (0.5, 2.0), (1, np.float32(3)))
    ]
    check(rows if jit else rows[::5], jit=jit)


def test_far_upper_quantiles_are_exact() -> None:
    far = np.float32(1e-30)
    np.testing.assert_allclose(olympus.scipy.stats.norm.isf(far), 11.464025, rtol=1e-6)


def test_quantiles_in_the_tails(x64: None) -> None:
    p = np.concatenate([10.0 ** -np.arange(1, 300, 7), 1 - 10.0 ** -np.arange(1, 15)])
    np.testing.assert_allclose(olympus.scipy.special.ndtri(p), scipy.special.ndtri(p), rtol=1e-13)
    x = scipy.special.ndtri(p)
    slopes = ox.vmap(ox.grad(olympus.scipy.special.ndtri))(p)
    np.testing.assert_allclose(slopes, np.sqrt(2 * np.pi) * np.exp(x**2 / 2), rtol=1e-9)


def test_errors() -> None:
    lax, s = ox.lax, olympus.scipy
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: lax.igamma(np.float32(1), np.float16(1)), DTypeError, "the same dtypes"),
        (
            lambda: lax.igamma(np.int32([1]), np.int32([1])),
            DTypeError,
            "does not accept dtype int32",
        ),
        (lambda: lax.betainc(np.ones(2), np.ones(3), 0.5), ShapeError, "shapes for broadcasting"),
        (lambda: s.special.gammainc([1.0], 2.0), DTypeError, "gammainc requires ndarray"),
        (lambda: s.special.ndtri(np.float16(0.5)), DTypeError, "float32 and float64"),
        (lambda: s.stats.norm.pdf("x"), TypeError, "type .*str"),
    ]
    for call, error, text in wrong:
        with pytest.raises(error, match=text):
            call()


def test_inverse_of_the_complementary_error_function() -> None:
    x = np.float32([0, 1e-30, 1e-8, 0.1, 0.5, 0.9, 1, 1.0000001, 1.5, 1.9, 1.9999998, 2])
    want = scipy.special.erfcinv(x.astype(np.float64))
    for function in (ox.scipy.special.erfcinv, ox.jit(ox.scipy.special.erfcinv)):
        assert np.allclose(function(x), want, rtol=3e-6, atol=0)
    assert np.isnan(ox.scipy.special.erfcinv(np.float32([-0.1, 2.1, np.nan]))).all()
    slopes = ox.vmap(ox.grad(ox.scipy.special.erfcinv))(x[1:-1])
    exact = -np.sqrt(np.pi) / 2 * np.exp(want[1:-1] ** 2)
    assert np.allclose(slopes, exact, rtol=2e-4)
    assert ox.scipy.special.erfcinv(np.float16(0.5)).dtype == np.float16
    with pytest.raises(ValueError, match="complex"):
        ox.scipy.special.erfcinv(1j)


def test_logarithms_and_polynomials_of_lax() -> None:
    x = np.float32([0.5, 1, 3])
    lax = ox.lax
    for wrap in (lambda f: f, ox.jit):
        assert np.allclose(wrap(lax.log2)(x), np.log2(x))
        assert np.allclose(wrap(lax.one_minus_square)(x), 1 - x * x)
        assert np.allclose(wrap(lambda x: lax.polynomial(x, [1.0, 5.0, x]))(x), 1 + 5 * x + x**3)
    assert np.allclose(ox.vmap(ox.grad(lax.log2))(x), 1 / (x * np.log(2)))
    assert np.allclose(ox.grad(lambda x: lax.polynomial(x, [1.0, 5.0, 2.0]))(3.0), 17)
    assert repr(lax.polynomial(3.0, [1.0, 5.0, 2.0])) == "Array(34., dtype=float32, weak_type=True)"
    assert repr(lax.polynomial(np.int32(3), [1, 2])) == "Array(7, dtype=int32)"
    assert lax.polynomial(x, []).tolist() == [0, 0, 0]
    for function in (lax.log2, lax.one_minus_square, lambda x: lax.polynomial(x, [1, 2])):
        with pytest.raises(TypeError):
            function(np.asarray([True]))


CONFLUENT = np.asarray(list(itertools.product(
    [-2.5, -2.0, -0.5, 0.3, 1.0, 2.5], [0.4, 1.0, 5.5],
    [-120.0, -60.0, -20.0, -3.0, -0.5, 0.0, 0.1, 2.0, 10.0, 45.0, 70.0],
)), np.float32).T  # fmt: skip
GAUSS = np.asarray(list(itertools.product(
    [-2.0, 0.3, 1.0, 2.5], [-0.5, 0.7, 1.0], [0.6, 1.5, 4.0],
    [-30.0, -3.0, -1.0, -0.5, 0.0, 0.2, 0.7, 0.95, 1.0],
)), np.float32).T  # fmt: skip


@pytest.mark.parametrize(
    ("name", "operands", "tolerance"), [("hyp1f1", CONFLUENT, 3e-4), ("hyp2f1", GAUSS, 5e-5)]
)
def test_hypergeometric_functions(name: str, operands: Any, tolerance: float) -> None:
    mine = getattr(ox.scipy.special, name)
    with np.errstate(over="ignore"):
        want = getattr(scipy.special, name)(*operands.astype(np.float64)).astype(np.float32)
    got = np.asarray(ox.jit(mine)(*operands))
    ordinary = (np.abs(want) < 1e30) & (np.abs(want) > 1e-30)
    assert np.allclose(got[ordinary], want[ordinary], rtol=tolerance, atol=1e-6)
    assert np.isinf(got[np.isinf(want)]).all()
    point = (0.7, 1.3, 2.1, 0.4)[: len(operands)]
    for place in range(len(point)):
        step = 1e-5 * np.eye(len(point))[place]
        exact = getattr(scipy.special, name)
        slope = (exact(*(point + step)) - exact(*(point - step))) / 2e-5
        assert np.isclose(ox.grad(mine, argnums=place)(*point), slope, rtol=1e-4)
    assert repr(mine(*(1 for _ in point[1:]), 0)) == "Array(1., dtype=float32, weak_type=True)"
    assert mine(*(np.float16(1) for _ in point[1:]), np.float16(0)).dtype == np.float16
    with pytest.raises(TypeError, match=r"complex|c64"):
        mine(*point[1:], 1j)
