"""Gradients of windows: extremes of tiles need no scatter, and any function has derivatives."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox
from olympus.errors import TransformError
from olympus.test_util import check_grads

#: (shape, window, strides, padding, whether the windows are tiles of enough elements)
POOLS = {
    "tiles": ((2, 64, 64, 16), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", True),
    "tiles and a rest": ((2, 67, 65, 16), (1, 3, 2, 1), (1, 3, 2, 1), "VALID", True),
    "of one axis": ((2, 4097, 17), (1, 4, 1), (1, 4, 1), "VALID", True),
    "few elements": ((2, 4, 4, 3), (1, 2, 2, 1), (1, 2, 2, 1), "VALID", False),
    "the last axis": ((2, 16, 64, 64), (1, 1, 2, 2), (1, 1, 2, 2), "VALID", False),
    "gaps": ((2, 64, 64, 16), (1, 2, 2, 1), (1, 3, 3, 1), "VALID", False),
    "overlaps": ((2, 64, 64, 16), (1, 3, 3, 1), (1, 2, 2, 1), "VALID", False),
    "padding": ((2, 63, 65, 17), (1, 2, 2, 1), (1, 2, 2, 1), "SAME", False),
    "none": ((1, 2**17, 1), (2, 1, 1), (2, 1, 1), "VALID", False),
    "large windows": ((2, 70, 70, 16), (1, 5, 5, 1), (1, 5, 5, 1), "VALID", False),
}


def gradient(framework: Any, name: str, extremum: str) -> Any:
    """A function of an array and of what its windows' extremes are weighted by."""
    _, window, strides, padding, _ = POOLS[name]
    combine = getattr(framework.lax, extremum)
    init = -np.inf if extremum == "max" else np.inf

    def loss(x: Any, w: Any) -> Any:
        out = framework.lax.reduce_window(x, init, combine, window, strides, padding)
        return framework.numpy.sum(out * w)

    return framework.grad(loss)


def operands(name: str) -> list[Any]:
    """An array, with ties where windows are tiles, and weights.

    Which of equal elements elsewhere is selected is left to XLA, and differs with its version.
    """
    shape, window, strides, padding, are_tiles = POOLS[name]
    rng = np.random.default_rng(0)
    numbers = rng.integers(-3, 4, shape) if are_tiles else rng.permutation(math.prod(shape))
    x = numbers.reshape(shape).astype(np.float32)
    out = ox.eval_shape(
        lambda x: ox.lax.reduce_window(x, -np.inf, ox.lax.max, window, strides, padding), x
    )
    return [x, rng.standard_normal(out.shape).astype(np.float32)]


@pytest.mark.parametrize("extremum", ["max", "min"])
@pytest.mark.parametrize("name", POOLS)
def test_the_first_extreme_has_the_cotangent(name: str, extremum: str) -> None:
    xs = operands(name)
    found = ox.jit(gradient(ox, name, extremum))(*xs)
    expected = jax.jit(gradient(jax, name, extremum))(*xs)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_infinities_are_not_selected_however_large_the_array_is() -> None:
    x, w = operands("tiles")
    x[:, :2, :2] = -np.inf
    x[:, 2, 2] = np.nan
    found = np.asarray(ox.jit(gradient(ox, "tiles", "max"))(x, w))
    parts = [
        ox.jit(gradient(ox, "tiles", "max"))(x[:, i : i + 2], w[:, i // 2 : i // 2 + 1])
        for i in (0, 2)
    ]
    np.testing.assert_array_equal(found[:, :4], np.concatenate(parts, axis=1))
    assert not found[:, :2, :2].any()


@pytest.mark.parametrize("name", POOLS)
def test_tiles_are_not_scattered(name: str) -> None:
    text = ox.jit(gradient(ox, name, "max")).trace(*operands(name)).lower().as_text()
    assert ("stablehlo.scatter" not in text) == POOLS[name][-1]


def test_mapped_tiles_are_those_of_each_array() -> None:
    function = gradient(ox, "tiles", "max")
    xs = [np.stack([x, -x, 2 * x]) for x in operands("tiles")]
    found = ox.jit(ox.vmap(function))(*xs)
    for i, out in enumerate(np.asarray(found)):
        np.testing.assert_array_equal(out, ox.jit(function)(*[x[i] for x in xs]))


WINDOWS: dict[str, dict[str, Any]] = {
    "plain": {},
    "strides": {"window_strides": (2, 1), "padding": "SAME"},
    "padding": {"padding": ((1, 0), (2, 1)), "window_dilation": (2, 1)},
    "dilation": {"base_dilation": (1, 2)},
    "one": {"padding": ((0, -3), (0, 0))},
}


@pytest.mark.parametrize("name", WINDOWS)
def test_a_function_of_elementwise_operations_has_all_derivatives(name: str) -> None:
    """JAX has only the forward derivative."""
    rng = np.random.default_rng(1)
    x, t = rng.uniform(0.5, 1.5, (2, 5, 6)).astype(np.float32)

    def products(framework: Any, v: Any) -> Any:
        one = np.float32(1)
        return framework.lax.reduce_window(v, one, lambda a, b: a * b, (2, 3), **WINDOWS[name])

    got, want = (fw.jvp(lambda v, fw=fw: products(fw, v), (x,), (t,)) for fw in (ox, jax))
    for ours, theirs in zip(got, want, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=1e-6)
    check_grads(lambda v: products(ox, v), (x,), order=2, atol=3e-2, rtol=3e-2)


def test_arrays_that_are_reduced_together_have_derivatives() -> None:
    rng = np.random.default_rng(2)
    xs = tuple(rng.uniform(0.5, 1.5, (2, 7)).astype(np.float32))

    def sums(framework: Any, *arrays: Any) -> Any:
        inits = np.float32(0), np.float32(1)
        combine = lambda a, b: (a[0] + b[0], a[1] * b[1])  # noqa: E731
        return framework.lax.reduce_window(arrays, inits, combine, (3,))

    got, want = (fw.jvp(lambda *v, fw=fw: sums(fw, *v), xs, xs) for fw in (ox, jax))
    for ours, theirs in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    check_grads(lambda *v: sums(ox, *v), xs, order=1, atol=3e-2, rtol=3e-2)


def test_the_derivative_of_another_function_is_refused() -> None:
    def last(a: Any, b: Any) -> Any:
        return ox.lax.cond(b > 0, lambda: b, lambda: a)

    def reduced(x: Any) -> Any:
        return ox.lax.reduce_window(x, np.float32(0), last, (2,))

    with pytest.raises(TransformError, match="reduce_window needs a function made of elementwise"):
        ox.jvp(reduced, (np.ones(3, np.float32),), (np.ones(3, np.float32),))
