"""Sets, functions of functions, fits, buffers and printing of olympus.numpy, against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, ConcretizationError, DTypeError, ShapeError
from tests.library.oracle import check, check_derivatives, row

jnp = ox.numpy
A, B = np.array([5, 3, 3, 9]), np.array([3, 7, 9, 9])
F, G = np.array([np.nan, 1, np.nan, 2.5]), np.array([np.nan, 2.5, 3])
MANY = np.arange(200, dtype=np.float32) % 83
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
SETS = ("union1d", "intersect1d", "setdiff1d", "setxor1d")


def sets(name: str, a: Any, b: Any, **options: Any) -> Any:
    return row(
        f"{name} {a.dtype}{a.shape} {options}",
        lambda n, a, b: getattr(n, name)(a, b, **options),
        a,
        b,
    )


PAIRS = [(A, B), (A.reshape(2, 2), np.float32([9, 4])), (A, A[:0]), (A[:0], A), (A > 4, B > 7)]


def test_sets_of_known_arrays() -> None:
    rows = [sets(name, a, b) for name in SETS for a, b in PAIRS]
    rows += [sets(name, F, G) for name in SETS[:3]]
    rows += [sets(name, A[1:2], B[:3], assume_unique=True) for name in SETS[1:]]
    check([*rows, sets("intersect1d", A, B, return_indices=True)], jit=False)


@pytest.mark.parametrize("jit", [True, False])
def test_sets_of_a_given_size(jit: bool) -> None:
    sizes = ({"size": 6}, {"size": 6, "fill_value": -1}, {"size": 1})
    rows = [sets(name, A, B, **s) for name in SETS for s in sizes]
    rows += [sets("setdiff1d", A, B, assume_unique=True, size=4)]
    rows += [sets("setxor1d", A[:2], B[:3], assume_unique=True, size=4)]
    rows += [sets("intersect1d", A, B, return_indices=True, size=5)]
    check(rows, jit=jit)


@pytest.mark.parametrize("jit", [True, False])
def test_isin(jit: bool) -> None:
    check(
        [
            *[sets("isin", a, b, invert=i) for a, b in (*PAIRS, (F, G), (A + 1j, B))
              for i in (False, True)],
            *[sets("isin", MANY, MANY[::3] * 2, method=m)
              for m in ("auto", "compare_all", "binary_search", "sort")],
            row("scalar", lambda n, b: n.isin(3, b), B),
        ],
        jit=jit,
    )  # fmt: skip


PACKAGE = {jnp: ox, jax.numpy: jax}


def vectorized(id: str, f: Any, *args: Any, **options: Any) -> Any:
    return row(id, lambda n, *xs: n.vectorize(lambda *v: f(n, *v), **options)(*xs), *args)


@pytest.mark.parametrize("jit", [True, False])
def test_vectorize(jit: bool) -> None:
    check(
        [
            vectorized("elements", lambda n, x, y: n.where(x > y, x, y), X, X[0, :1]),
            vectorized("ones", lambda n, x, y: x + y, X[:, :1], X[:1, :, None, 0]),
            vectorized("lone axis", lambda n, x: x + 1, X[:1, :, :1]),
            vectorized("tuple", lambda n, x: (x, x + 1), X),
            vectorized("core", lambda n, m, v: m @ v, X, X[0, 0], signature="(m,n),(n)->(m)"),
            vectorized("two results", lambda n, v: (v.sum(), v * 2), X, signature="(k)->(),(k)"),
            vectorized("number", lambda n, v: v[:3], X, signature="(4)->(3)"),
            row("excluded", lambda n, x: n.vectorize(lambda x, f: f(x), excluded={1})(x, n.sin), X),
            row("excluded name", lambda n, x: n.vectorize(lambda x, k=0: x + k, excluded={"k"})(
                x, k=2), X),
        ],
        jit=jit,
    )  # fmt: skip


def test_vectorize_is_differentiated() -> None:
    def total(n: Any, x: Any) -> Any:
        norm = n.vectorize(lambda v: n.sqrt(n.sum(v * v)), signature="(k)->()")
        return n.sum(norm(x))

    with ox.enable_x64(True), jax.enable_x64(True):
        check_derivatives(total, 1 + np.arange(6.0).reshape(2, 3))


def test_the_name_of_a_vectorized_function() -> None:
    def named(x: Any) -> Any:
        """Its own."""
        return x

    made = jnp.vectorize(named)
    assert (made.__name__, made.__doc__) == ("named", "Its own.")


@pytest.mark.parametrize("jit", [True, False])
def test_functions_of_functions(jit: bool) -> None:
    check(
        [
            *[row(f"along {i}", lambda n, x, i=i: n.apply_along_axis(n.cumsum, i, x), X)
              for i in (0, 1, 2, -3)],
            row("along, reduced", lambda n, x: n.apply_along_axis(n.sum, 1, x), X),
            row("along, outer", lambda n, x: n.apply_along_axis(n.outer, 1, x, n.arange(2.0)), X),
            row("fromfunction", lambda n: n.fromfunction(lambda i, j: i + 10 * j, (2, 3))),
            row("of ints", lambda n: n.fromfunction(
                lambda i, j: n.stack([i, j + 1]), (2, 3), dtype=int)),
        ],
        jit=jit,
    )  # fmt: skip


def test_fromfunction_passes_keywords_as_they_are() -> None:
    made = jnp.fromfunction(lambda i, f: f(i), (3,), f=jnp.square)
    np.testing.assert_array_equal(made, [0, 1, 4])


POINTS = np.linspace(0, 2, 9).astype("float32")
VALUES = np.sin(3 * POINTS)


@pytest.mark.parametrize("jit", [True, False])
def test_polyfit(jit: bool) -> None:
    check(
        [
            row(
                f"polyfit {options}",
                lambda n, x, y, w, o=options: n.polyfit(x, y, 3, **({"w": w} | o)),
                POINTS,
                y,
                1 + POINTS,
                rtol=2e-3,
                atol=2e-4,
            )
            for options in ({}, {"w": None}, {"rcond": 1e-3}, {"cov": True}, {"cov": "unscaled"})
            for y in (VALUES, np.stack([VALUES, POINTS], 1))
        ]
        + [row("full", lambda n, x, y: n.polyfit(x, y, 2, full=True)[:4], POINTS, VALUES,
               rtol=1e-3, atol=1e-4)],
        jit=jit,
    )  # fmt: skip


def test_polyfit_is_exact_and_differentiated() -> None:
    with ox.enable_x64(True), jax.enable_x64(True):
        x = np.linspace(-1, 1, 12)
        np.testing.assert_allclose(jnp.polyfit(x, 3 * x**2 - x + 2, 2), [3, -1, 2], rtol=1e-12)
        check_derivatives(lambda n, y: n.sum(n.sin(n.polyfit(x, y, 2))), np.cos(x))


def test_roots() -> None:
    def sorted_roots(n: Any, p: Any, **options: Any) -> Any:
        found = n.roots(p, **options)
        return found[np.lexsort((np.asarray(found.imag), np.asarray(found.real)))]

    check([
        *[row(f"{p}", lambda n, p: sorted_roots(n, p), p, rtol=1e-4, atol=1e-5)
          for p in ([1, -3, 2], [0, 0, 1, -3, 2, 0, 0], [1, 0, 1], [2, 1], [0, 0], [7], [1, 2, 3])],
        row("ints", lambda n, p: sorted_roots(n, p), np.array([1, 0, -4]), rtol=1e-4, atol=1e-5),
    ], jit=False)  # fmt: skip
    p = np.array([1.0, -6, 11, -6], "float32")
    found = ox.jit(lambda p: jnp.roots(p, strip_zeros=False))(p)
    np.testing.assert_allclose(np.sort(np.asarray(found).real), [1, 2, 3], rtol=1e-4)
    with pytest.raises(ConcretizationError, match="strip zeros while tracing") as caught:
        ox.jit(jnp.roots)(p)
    assert caught.value.hint == "pass strip_zeros=False"


def test_buffers_and_iterables() -> None:
    check([
        row("doubles", lambda n: n.frombuffer(np.arange(3.0).tobytes())),
        row("bytes", lambda n: n.frombuffer(b"abcd", dtype="uint8", count=2, offset=1)),
        row("bytearray", lambda n: n.frombuffer(bytearray(8), dtype="int16")),
    ], jit=False)  # fmt: skip
    # the oracle refuses it
    np.testing.assert_array_equal(jnp.fromiter(iter(range(4)), "float32", count=3), [0, 1, 2])


def test_printing() -> None:
    x = np.array([1.0, 1e-9, 12345.678], "float32")
    assert jnp.array_repr(jnp.asarray(x)) == repr(jnp.asarray(x))
    assert jnp.array_repr(jnp.zeros((0, 3))) == "Array([], shape=(0, 3), dtype=float32)"
    assert jnp.array_repr(x) == repr(x)
    assert jnp.array_str(jnp.asarray(x), precision=2, suppress_small=True) == np.array_str(
        x, precision=2, suppress_small=True
    )
    with jnp.printoptions(precision=2, suppress=True):
        assert jnp.get_printoptions()["precision"] == 2
        assert repr(jnp.asarray([1.23456])) == "Array([1.23], dtype=float32)"
    before = jnp.get_printoptions()["threshold"]
    try:
        jnp.set_printoptions(threshold=4)
        assert "..." in str(jnp.arange(100))
    finally:
        jnp.set_printoptions(threshold=before)
    with pytest.raises(ConcretizationError):
        ox.jit(lambda x: jnp.array_str(x))(x)


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: jnp.isin(A, B, method="hash"), ArgumentError, "'hash'"),
    (lambda: jnp.isin([1], B), DTypeError, "isin needs arrays"),
    *[
        (
            lambda name=name: ox.jit(getattr(jnp, name))(A, B),
            ConcretizationError,
            "needs (its|a) size",
        )
        for name in SETS
    ],
    (lambda: jnp.vectorize(abs, signature="(m->()"), ArgumentError, "not a signature"),
    (lambda: jnp.vectorize(abs, excluded={-1}), ArgumentError, "positions >= 0"),
    (lambda: jnp.vectorize(abs, signature="(),()->()")(X), ArgumentError, "2 arguments, and 1"),
    (lambda: jnp.vectorize(abs, signature="(m)->()")(1.0), ShapeError, r"core dimensions \(m\)"),
    (lambda: jnp.vectorize(abs, signature="(m)->()")(X), ShapeError, "result 0"),
    (lambda: jnp.vectorize(abs, signature="(m)->(),()")(X), ArgumentError, "2 results"),
    (
        lambda: jnp.vectorize(jnp.dot, signature="(m),(m)->()")(X, X[0, 0, :2]),
        ShapeError,
        "'m' of argument 1 has the size 2",
    ),
    (lambda: jnp.vectorize(jnp.add)(X, X[:, :2]), ShapeError, "do not broadcast"),
    (lambda: jnp.apply_along_axis(jnp.sum, 3, X), ShapeError, "out of bounds"),
    (lambda: jnp.fromfunction(jnp.add, (2, -1)), ShapeError, "no negative dimension"),
    (lambda: jnp.polyfit(POINTS, VALUES, -1), ArgumentError, "degree >= 0"),
    (lambda: jnp.polyfit(POINTS, VALUES[:2], 1), ShapeError, "as many values"),
    (lambda: jnp.polyfit(POINTS[:0], VALUES[:0], 1), ShapeError, "vector of points"),
    (lambda: jnp.polyfit(POINTS, VALUES, 1, w=VALUES[:2]), ShapeError, "weight for each of 9"),
    (lambda: jnp.polyfit(POINTS[:2], VALUES[:2], 1, cov=True), ShapeError, "more than 2 points"),
    (lambda: jnp.roots(X), ShapeError, "vector of coefficients"),
    (lambda: jnp.frombuffer(b"abc", dtype="int32"), ArgumentError, "cannot read the buffer"),
    (lambda: jnp.fromiter(["a"], "int32"), ArgumentError, "cannot read the elements"),
]


@pytest.mark.parametrize(("call", "error", "text"), WRONG)
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
