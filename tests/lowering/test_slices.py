"""Slices of arguments that products read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import olympus as ox
from olympus.interop.jax import jit


def chain(x: Any, weights: Any) -> Any:
    for w in weights:
        x = jnp.tanh(x @ w)
    return x


def nested(x: Any, weights: Any) -> Any:
    for pair in weights:
        x = jnp.tanh(x @ pair[0]) @ pair[1]
    return x


def in_function(x: Any, weights: Any) -> Any:
    layer = jax.jit(lambda x, w: jnp.tanh(x @ w))
    for w in weights:
        x = layer(x, w)
    return x


def along_last(x: Any, weights: Any) -> Any:
    return jnp.tanh(x @ weights[0][:, :4]) + jnp.tanh(x @ weights[0][:, 4:])


def convolutions(x: Any, weights: Any) -> Any:
    for w in weights:
        x = jax.lax.conv_general_dilated(x[None], w, (1,), "SAME")[0]
    return x


def drawn(*shape: int) -> Any:
    return jnp.asarray(np.random.default_rng(len(shape)).standard_normal(shape), "float32")


def modules(fun: Callable[..., Any], *args: Any) -> list[str]:
    """The StableHLO of JAX, and of OLYMPUS's `jit`."""
    return [j(lambda *xs: fun(*xs)).lower(*args).as_text() for j in (jax.jit, jit)]


@pytest.mark.parametrize(
    ("fun", "shapes", "count"),
    [
        (chain, [(3, 8), (4, 8, 8)], 4),
        (lambda x, w: jax.grad(lambda w: chain(x, w).sum())(w), [(3, 8), (4, 8, 8)], 4),
        (nested, [(3, 8), (4, 2, 8, 8)], 4),
        (in_function, [(3, 8), (4, 8, 8)], 4),
        (along_last, [(3, 8), (1, 8, 8)], 0),  # of an operation's result
        (lambda x, w: along_last(x, [w]), [(3, 8), (8, 8)], 2),
        (convolutions, [(2, 9), (3, 2, 2, 3)], 3),
    ],
    ids=["chain", "gradient", "nested", "function", "of a result", "last axis", "convolutions"],
)
def test_slices_that_products_read_are_dynamic_and_equal(
    fun: Callable[..., Any], shapes: list[tuple[int, ...]], count: int
) -> None:
    args = [drawn(*shape) for shape in shapes]
    theirs, ours = modules(fun, *args)
    assert "stablehlo.dynamic_slice" not in theirs
    assert ours.count("stablehlo.dynamic_slice") == count
    found, expected = jit(fun)(*args), jax.jit(fun)(*args)
    np.testing.assert_array_equal(np.asarray(found), np.asarray(expected))


@pytest.mark.parametrize(
    ("fun", "shapes"),
    [
        (lambda x: jnp.roll(x, 1) + jnp.roll(x, -1), [(8,)]),
        (lambda x, w: x * w[0] + w[1], [(8,), (2, 8)]),  # no product reads them
        (lambda x, w: x @ w[0], [(3, 8), (4, 8, 8)]),  # one
        (lambda x, w: (x @ w[::2, :4]) @ w[:4, ::2], [(3, 4), (8, 8)]),  # with strides
        (lambda x, w: x @ w[:4, :4] + x @ w[4:, 4:], [(3, 4), (8, 8)]),  # along two axes
    ],
    ids=["no product", "elementwise", "one slice", "strides", "two axes"],
)
def test_others_are_left(fun: Callable[..., Any], shapes: list[tuple[int, ...]]) -> None:
    theirs, ours = modules(fun, *[drawn(*shape) for shape in shapes])
    assert theirs.count("stablehlo.slice ") == ours.count("stablehlo.slice ") > 0
    assert "stablehlo.dynamic_slice" not in ours


def test_the_kernels_of_slices_are_equal() -> None:
    weights = drawn(6, 16, 16)
    text = jit(chain).lower(drawn(4, 16), weights).compile().as_text()
    parameters = [x.partition(")")[0] for x in text.split("%fused_computation")[1:]]
    kernels = [x for x in parameters if "f32[6,16,16]" in x]
    assert len(kernels) == 6
    assert all("s64[3]" in x for x in kernels)  # the position is an operand


def own_chain(x: Any, weights: Any) -> Any:
    for i in range(weights.shape[0]):
        x = ox.numpy.tanh(x @ weights[i])
    return x


def own_iteration(x: Any, weights: Any) -> Any:
    for w in weights:
        x = ox.numpy.tanh(x @ w)
    return x


@pytest.mark.parametrize("fun", [own_chain, own_iteration])
def test_own_programs_for_the_cpu_have_them(fun: Callable[..., Any]) -> None:
    args = np.asarray(drawn(4, 16)), np.asarray(drawn(6, 16, 16))
    traced = ox.jit(fun).trace(*args)
    lowered, for_gpu = traced.lower(), traced.lower(lowering_platforms="gpu")
    assert lowered.as_text().count("stablehlo.dynamic_slice") == 6
    assert "dynamic_slice" not in for_gpu.as_text()
    assert lowered.cost().flops == for_gpu.cost().flops == 6 * 2 * 4 * 16 * 16
    expected = args[0]
    for w in args[1]:
        expected = np.tanh(expected @ w)
    np.testing.assert_allclose(lowered.compile()(*args), expected, rtol=1e-4, atol=1e-5)


def test_a_program_as_it_is_has_no_dynamic_slices() -> None:
    args = drawn(3, 8), drawn(4, 8, 8)
    assert "dynamic_slice" not in jit(chain, as_is=True).lower(*args).as_text()


def test_a_long_chain_of_views_is_searched() -> None:
    def fun(x: Any, weights: Any) -> Any:
        first, second = weights[0], weights[1]
        for _ in range(600):
            first, second = (w.astype("bfloat16").astype("float32") for w in (first, second))
        return x @ first + x @ second

    lowered = ox.jit(fun).lower(np.ones((3, 3), "float32"), np.ones((2, 3, 3), "float32"))
    assert lowered.as_text().count("stablehlo.dynamic_slice") == 2
