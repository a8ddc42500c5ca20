"""Functions of functions: `vectorize`, `apply_along_axis`, `fromfunction`, against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, ShapeError
from tests.library.oracle import check, check_derivatives, row

jnp = ox.numpy
X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


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


def test_a_vectorized_function_has_the_name_and_docstring() -> None:
    def named(x: Any) -> Any:
        """Its own."""
        return x

    vectorized_function = jnp.vectorize(named)
    assert (vectorized_function.__name__, vectorized_function.__doc__) == ("named", "Its own.")


@pytest.mark.parametrize("jit", [True, False])
def test_functions_of_functions_agree_with_jax(jit: bool) -> None:
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


def test_fromfunction_passes_keywords_unchanged() -> None:
    values = jnp.fromfunction(lambda i, f: f(i), (3,), f=jnp.square)
    np.testing.assert_array_equal(values, [0, 1, 4])


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
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
    (lambda: jnp.vectorize(jnp.add)(X, X[:, :2]), ShapeError, "shapes for broadcasting"),
    (lambda: jnp.apply_along_axis(jnp.sum, 3, X), ShapeError, "out of bounds"),
    (lambda: jnp.fromfunction(jnp.add, (2, -1)), ShapeError, "no negative dimension"),
]
