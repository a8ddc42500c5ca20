"""The gradients of products: equal to JAX's, and transposed only where neither order is the one."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus as ox

# (shapes, dimension numbers, how many of the two gradients are transposed)
PRODUCTS = {
    "matrices": (((3, 4), (4, 5)), (((1,), (0,)), ((), ())), 0),
    "both transposed": (((4, 3), (5, 4)), (((0,), (1,)), ((), ())), 0),
    "tokens by weights": (((2, 3, 4), (4, 5)), (((2,), (0,)), ((), ())), 0),
    "weights by tokens": (((4, 5), (2, 3, 4)), (((0,), (2,)), ((), ())), 0),
    "two contracted": (((2, 3, 4), (3, 4, 5)), (((1, 2), (0, 1)), ((), ())), 0),
    "contracted crosswise": (((2, 3, 4), (4, 3, 5)), (((1, 2), (1, 0)), ((), ())), 2),
    "batched": (((2, 3, 4), (2, 4, 5)), (((2,), (1,)), ((0,), (0,))), 0),
    "batch axes behind": (((3, 4, 2), (4, 5, 2)), (((1,), (0,)), ((2,), (2,))), 2),
    "contracted in the middle": (((3, 4, 2), (4, 5)), (((1,), (0,)), ((), ())), 1),
    "vector": (((4,), (4, 5)), (((0,), (0,)), ((), ())), 0),
    "outer": (((4,), (5,)), (((), ()), ((), ())), 0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_gradients_are_jaxs_and_in_order(name: str) -> None:
    shapes, numbers, transposed = PRODUCTS[name]
    rng = np.random.default_rng(0)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)

    def gradients(framework: Any, x: Any, y: Any) -> Any:
        def product(x: Any, y: Any) -> Any:
            return framework.lax.dot_general(x, y, numbers)

        out, pull_back = framework.vjp(product, x, y)
        return pull_back(framework.numpy.cos(out))

    found, expected = gradients(ox, x, y), gradients(jax, x, y)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    program = ox.make_olympuspr(lambda x, y: gradients(ox, x, y))(x, y)
    assert [e.primitive.name for e in program.eqns].count("transpose") == transposed


@pytest.mark.parametrize(
    ("precision", "swapped"),
    [
        (None, True),
        ("highest", True),
        (("highest", "highest"), True),
        (("default", "highest"), False),
        (ox.lax.DotAlgorithmPreset.F32_F32_F32, False),
    ],
)
def test_factors_keep_a_precision_of_their_own(precision: Any, swapped: bool) -> None:
    x, y = np.ones((2, 3, 4), np.float32), np.ones((4, 5), np.float32)

    def weights(y: Any) -> Any:
        return ox.numpy.sum(ox.lax.dot_general(x, y, (((2,), (0,)), ((), ())), precision))

    program = ox.make_olympuspr(ox.grad(weights))(y)
    assert ("transpose" not in [e.primitive.name for e in program.eqns]) == swapped
    np.testing.assert_allclose(ox.jit(ox.grad(weights))(y), np.full((4, 5), 6.0))
