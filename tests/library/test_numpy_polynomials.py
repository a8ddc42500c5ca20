"""Fits and roots of polynomials against JAX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, ConcretizationTypeError, ShapeError
from tests.library.oracle import check, check_derivatives, row

jnp = ox.numpy
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
        roots = n.roots(p, **options)
        return roots[np.lexsort((np.asarray(roots.imag), np.asarray(roots.real)))]

    check([
        *[row(f"{p}", lambda n, p: sorted_roots(n, p), p, rtol=1e-4, atol=1e-5)
          for p in ([1, -3, 2], [0, 0, 1, -3, 2, 0, 0], [1, 0, 1], [2, 1], [0, 0], [7], [1, 2, 3])],
        *[row(f"{p}, not stripped", lambda n, p: n.roots(n.asarray(p), strip_zeros=False), p)
          for p in ([0.0, 1, 2], [0.0, 0, 1, 2, 0], [0.0, 0], [0.0, 0, 0, 2])],
        row("ints", lambda n, p: sorted_roots(n, p), np.array([1, 0, -4]), rtol=1e-4, atol=1e-5),
    ], jit=False, jit_oracle=False)  # fmt: skip
    p = np.array([1.0, -6, 11, -6], "float32")
    roots = ox.jit(lambda p: jnp.roots(p, strip_zeros=False))(p)
    np.testing.assert_allclose(np.sort(np.asarray(roots).real), [1, 2, 3], rtol=1e-4)
    with pytest.raises(ConcretizationTypeError, match="strip zeros while tracing") as caught:
        ox.jit(jnp.roots)(p)
    assert caught.value.hint == "pass strip_zeros=False"


WRONG: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: jnp.polyfit(POINTS, VALUES, -1), ArgumentError, "degree >= 0"),
    (lambda: jnp.polyfit(POINTS, VALUES[:2], 1), ShapeError, "as many values"),
    (lambda: jnp.polyfit(POINTS[:0], VALUES[:0], 1), ShapeError, "vector of points"),
    (lambda: jnp.polyfit(POINTS, VALUES, 1, w=VALUES[:2]), ShapeError, "weight for each of 9"),
    (lambda: jnp.polyfit(POINTS[:2], VALUES[:2], 1, cov=True), ShapeError, "more than 2 points"),
    (lambda: jnp.roots(POINTS[None]), ShapeError, "vector of coefficients"),
]
