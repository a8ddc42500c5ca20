"""Calls with slices of arrays that the called function reads in parts."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus as ox

NHWC = ("NHWC", "HWIO", "NHWC")


def depthwise(lax: Any, x: Any, kernels: Any, numbers: Any, **params: Any) -> Any:
    """Convolutions of each feature, each by the next kernel."""
    strides = (1,) * (x.ndim - 2)
    for i in range(kernels.shape[0]):
        x = lax.conv_general_dilated(
            x, kernels[i], strides, "SAME", dimension_numbers=numbers, **params
        )
    return x


@pytest.mark.parametrize(
    ("shape", "kernels", "numbers", "params"),
    [
        ((2, 6, 5, 8), (3, 3, 2, 1, 8), NHWC, {}),
        ((2, 8, 6, 5), (3, 8, 1, 3, 2), None, {"rhs_dilation": (1, 2)}),
        ((1, 6, 8), (4, 3, 1, 8), ("NWC", "WIO", "NWC"), {}),
        ((1, 3, 4, 3, 8), (3, 2, 1, 2, 1, 8), ("NDHWC", "DHWIO", "NDHWC"), {}),
    ],
    ids=["features last", "features first, holes", "one axis", "three axes"],
)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
def test_depthwise_kernels_are_read_at_positions(
    shape: tuple[int, ...], kernels: tuple[int, ...], numbers: Any, params: Any, dtype: str
) -> None:
    rng = np.random.default_rng(0)
    params = {**params, "feature_group_count": 8}
    with ox.enable_x64(dtype == "float64"), jax.enable_x64(dtype == "float64"):
        x, w = (jnp.asarray(rng.standard_normal(s), dtype) for s in (shape, kernels))
        args = np.asarray(x), np.asarray(w)
        ours = ox.jit(lambda x, w: depthwise(ox.lax, x, w, numbers, **params)).lower(*args)
        expected = jax.jit(lambda x, w: depthwise(jax.lax, x, w, numbers, **params))(x, w)
        found = ours.compile()(*args)
    text = ours.as_text()
    assert text.count("func.func") == 2
    assert text.count("stablehlo.dynamic_slice") == np.prod(kernels[1:]) // 8
    tolerance = {"bfloat16": 5e-2, "float32": 1e-5, "float64": 1e-12}[dtype]
    found, expected = (np.asarray(a).astype("f8") for a in (found, expected))
    np.testing.assert_allclose(found, expected, tolerance, tolerance * np.abs(expected).max())


def test_gradients_and_maps() -> None:
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s, np.float32) for s in ((2, 2, 6, 5, 8), (3, 3, 2, 1, 8)))

    def program(framework: Any) -> Callable[..., Any]:
        def loss(x: Any, w: Any) -> Any:
            out = depthwise(framework.lax, x, w, NHWC, feature_group_count=8)
            return framework.numpy.sum(out**2)

        return lambda x, w: framework.vmap(framework.grad(loss, (0, 1)), (0, None))(x, w)

    found = ox.jit(program(ox))(x, w)
    for a, b in zip(found, jax.jit(program(jax))(x, w), strict=True):
        np.testing.assert_allclose(a, b, 1e-4, 1e-4 * float(jnp.max(jnp.abs(b))))


def several(framework: Any, x: Any, first: Any, second: Any) -> Any:
    """Calls with two slices, with one slice as two operands, and with one slice."""
    np = framework.numpy

    @framework.jit
    def layer(x: Any, a: Any, b: Any) -> Any:
        return np.sin(x * a[0] + a[1]) * b[1] - b[0, ::-1]

    for i in (0, 2, 1):
        row = first[i]
        x = layer(x, row, second[:, i])
        x = layer(x, row, row)
    return layer(x, first[1], np.cos(second[:, 0]))


def of_two_arrays(framework: Any, x: Any, first: Any, second: Any) -> Any:
    layer = framework.jit(lambda x, a: framework.numpy.tanh(x * a[1] - a[0]))
    moved = framework.numpy.moveaxis(second, 1, 0)  # no argument
    for i in (2, 0, 1):
        x = layer(layer(x, first[i]), second[:, i])
        x = layer(x, moved[i])
    return layer(x, x[:2])


def in_loop(framework: Any, x: Any, first: Any, second: Any) -> Any:
    layer = framework.jit(lambda x, a: framework.numpy.tanh(x * a[1] - a[0]))

    def step(_: Any, x: Any) -> Any:
        return layer(layer(layer(x, first[0]), first[1]), first[2])

    return layer(framework.lax.fori_loop(0, 3, step, x), second[:, 0])


@pytest.mark.parametrize(
    ("fun", "calls", "parts"), [(several, 6, 8), (of_two_arrays, 6, 4), (in_loop, 0, 0)]
)
def test_calls_with_several_slices(fun: Callable[..., Any], calls: int, parts: int) -> None:
    rng = np.random.default_rng(0)
    args = [rng.standard_normal(s).astype("float32") for s in ((4, 5), (3, 2, 5), (2, 3, 5))]
    lowered = ox.jit(lambda *xs: fun(ox, *xs)).lower(*args)
    text = lowered.as_text()
    assert len(re.findall(r" call @.*tensor<i64>\)", text)) == calls
    assert text.count("stablehlo.dynamic_slice") == parts
    found, expected = lowered.compile()(*args), jax.jit(lambda *xs: fun(jax, *xs))(*args)
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


def test_two_calls_are_left() -> None:
    x, w = np.ones((2, 6, 5, 8), "float32"), np.ones((2, 3, 2, 1, 8), "float32")
    lowered = ox.jit(lambda x, w: depthwise(ox.lax, x, w, NHWC, feature_group_count=8)).lower(x, w)
    assert "dynamic_slice" not in lowered.as_text()
