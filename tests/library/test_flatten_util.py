"""ravel_pytree against JAX: vectors, dtypes, and the restored tree."""

from __future__ import annotations

import jax
import jax.flatten_util
import numpy as np
import pytest

import olympus
import olympus.flatten_util

BOTH = pytest.mark.parametrize("ox", [olympus, jax], ids=["olympus", "jax"])
TREES = {
    "empty": {},
    "scalar": 3.0,
    "weak scalars": (1.0, 2.0),
    "scalars": {"a": 1, "b": 2.0},
    "one array": [np.arange(6, dtype=np.float32).reshape(2, 3)],
    "one dtype": {"a": np.float32(1), "b": np.ones((2, 0, 3), np.float32), "c": (None,)},
    "small": {"a": np.arange(3, dtype=np.int8), "b": np.ones(2, np.float16)},
    "complex": (np.arange(3, dtype=np.int32), np.ones(2, np.complex64) * 2j),
    "bools": [True, np.array([[False, True]])],
}


@pytest.mark.parametrize("value", TREES.values(), ids=TREES)
def test_a_tree_is_raveled_and_restored_as_by_jax(value):
    vector, unravel = olympus.flatten_util.ravel_pytree(value)
    expected, back = jax.flatten_util.ravel_pytree(value)
    assert (vector.dtype, vector.weak_type) == (expected.dtype, expected.weak_type)
    np.testing.assert_array_equal(vector, expected)
    again = olympus.flatten_util.ravel_pytree(olympus.tree.map(lambda x: x, value))[1]
    assert again == unravel and hash(again) == hash(unravel)
    restored, expected_tree = unravel(vector), back(expected)
    assert str(olympus.tree.structure(restored)) == str(jax.tree.structure(expected_tree))
    for x, y in zip(olympus.tree.leaves(restored), jax.tree.leaves(expected_tree), strict=True):
        assert (x.dtype, x.shape) == (y.dtype, y.shape)
        np.testing.assert_array_equal(x, y)


@BOTH
def test_a_vector_that_does_not_fit_is_refused(ox):
    _, unravel = ox.flatten_util.ravel_pytree({"a": 1, "b": 2.0})
    with pytest.raises(ValueError, match="9"):
        unravel(ox.numpy.zeros(9))
    with pytest.raises(TypeError, match="float16"):
        unravel(ox.numpy.zeros(2, ox.numpy.float16))


@BOTH
def test_a_function_of_a_tree_is_differentiated_by_its_vector(ox):
    params = {"w": np.full((2, 3), 0.5, np.float32), "b": np.zeros(3, np.float32)}

    def loss(p):
        return (ox.numpy.tanh(np.ones(2, np.float32) @ p["w"] + p["b"]) ** 2).sum()

    vector, unravel = ox.flatten_util.ravel_pytree(params)
    gradient = ox.jit(ox.grad(lambda v: loss(unravel(v))))(vector)
    expected, _ = ox.flatten_util.ravel_pytree(ox.grad(loss)(params))
    np.testing.assert_allclose(gradient, expected, rtol=1e-6)
    assert ox.hessian(lambda v: loss(unravel(v)))(vector).shape == (9, 9)
