"""The gradients of cumulative reductions at ties, zeros, infinities and NaNs."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox

NAN, INF = np.nan, np.inf
WEIGHTS = np.array([1, 2, 4, 8, 16], np.float32)


def _gradient(package: Any, name: str, x: list[float], reverse: bool) -> Any:
    def total(x: Any) -> Any:
        return (getattr(package.lax, name)(x, reverse=reverse) * WEIGHTS).sum()

    values = np.array(x, np.float32)
    eager = np.asarray(package.grad(total)(values))
    np.testing.assert_allclose(package.jit(package.grad(total))(values), eager, rtol=1e-5)
    return eager


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", ["cummax", "cummin"])
@pytest.mark.parametrize("x", [[1, 3, 2, 5, 4], [1, NAN, 2, 5, 3], [1, 5, NAN, NAN, 6]])
def test_outputs_that_are_nan_give_no_cotangent(name: str, x: list[float], reverse: bool) -> None:
    gradient, expected = (_gradient(p, name, x, reverse) for p in (ox, jax))
    np.testing.assert_array_equal(gradient, expected)


def test_the_latest_of_equal_extremes_has_the_derivative() -> None:
    x = [2.0, 2.0, 1.0, 2.0, 3.0]
    np.testing.assert_array_equal(_gradient(ox, "cummax", x, False), [1, 6, 0, 8, 16])
    np.testing.assert_array_equal(_gradient(ox, "cummin", x, True), [0, 0, 7, 8, 16])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("name", ["cummax", "cummin", "cumprod", "cumlogsumexp"])
def test_each_axis_has_the_gradient_of_the_peer(name: str, axis: int, reverse: bool) -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(2, 2, 3, 4)).astype(np.float32)
    if name == "cumprod":
        x[0, 1], x[1, :, 2] = 0, 0

    def gradient(package: Any) -> Any:
        def total(x: Any) -> Any:
            return (getattr(package.lax, name)(x, axis=axis, reverse=reverse) * weights).sum()

        return package.jit(package.grad(total))(x)

    np.testing.assert_allclose(gradient(ox), gradient(jax), rtol=1e-4, atol=1e-6)


def test_infinite_elements_have_the_derivative_of_an_infinite_log_sum() -> None:
    x = [1.0, 0.0, INF, 2.0, -INF]
    share = np.exp(1) / (np.exp(1) + 1)
    expected = [1 + 2 * share, 2 - 2 * share, 4 + 8 + 16, 0, 0]
    np.testing.assert_allclose(_gradient(ox, "cumlogsumexp", x, False), expected, rtol=1e-5)
    assert np.isnan(_gradient(ox, "cumlogsumexp", [1, NAN, 2, 5, 3], False)).all()
    gradient = _gradient(ox, "cumlogsumexp", [-INF, -INF, 0.0, 0.0, INF], True)
    np.testing.assert_allclose(gradient, [0, 0, 0, 0, 31])


def test_the_tangent_of_cumprod_has_no_nan_beside_an_infinity() -> None:
    _, tangent = ox.jvp(lambda x: ox.lax.cumprod(x), (np.array([INF, 2.0, 3.0]),), (np.ones(3),))
    np.testing.assert_array_equal(tangent, [1, INF, INF])
