"""Gradients of the extremes of windows: those of tiles need no scatter."""

from __future__ import annotations

import math
from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox

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
