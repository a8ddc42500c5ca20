"""Arrays are iterated over in blocks, lazily, however long they are."""

from __future__ import annotations

import itertools

import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ConcretizationTypeError
from olympus_core.execution import eager

jnp = ox.numpy


def programs() -> int:
    return eager._operation.cache_info().currsize + eager._program.cache_info().currsize


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [(5,), (300,), (3, 2), (0, 4), (2, 0)])
def test_the_elements_are_those_of_the_array(shape, dtype):
    x = jnp.asarray(np.arange(np.prod(shape)).reshape(shape) % 3).astype(dtype)
    rows = list(x)
    assert len(rows) == shape[0]
    for row, expected in zip(rows, np.asarray(x), strict=True):
        assert isinstance(row, ox.Array) and row.dtype == x.dtype
        np.testing.assert_array_equal(np.asarray(row), expected)


def test_a_long_array_compiles_nothing():
    x = jnp.arange(2_000_000)
    before = programs()
    first, second, *_ = itertools.islice(x, 3)
    assert (int(first), int(second)) == (0, 1)
    with pytest.raises(ValueError, match="too many values"):
        first, second = x
    assert sum(1 for _ in itertools.islice(x, 10_000)) == 10_000
    assert programs() == before


def test_a_weak_array_has_weak_elements():
    assert [row.weak_type for row in jnp.asarray([1, 2]).astype("int32")] == [False, False]
    assert next(iter(ox.lax.broadcast(2.0, (3,)))).weak_type


def test_no_dimensions():
    with pytest.raises(TypeError, match="0-d array"):
        iter(jnp.float32(1))
    with pytest.raises(TypeError, match="0-d array"):
        ox.jit(lambda x: list(x))(1.0)


def test_membership_is_that_of_a_list_of_numbers():
    x = jnp.arange(6.0)
    assert 5 in x and 7 not in x and jnp.float32(2) in x
    assert 1_999_999 in jnp.arange(2_000_000)
    with pytest.raises(ConcretizationTypeError, match="boolean conversion"):
        ox.jit(lambda y: 1 in y)(x)
    for matrix in (x.reshape(2, 3), jax.numpy.ones((2, 3))):
        with pytest.raises(ValueError, match="search array must be one-dimensional"):
            _ = 5 in matrix


@pytest.mark.parametrize("length", [3, 128, 129, 300])
def test_traced_arrays_and_their_derivatives(length):
    def weighted(x):
        return sum(value * i for i, value in enumerate(x))

    x = jnp.linspace(0, 1, length)
    expected = np.arange(float(length), dtype=np.float32)
    for gradient in (ox.grad(weighted), ox.jit(ox.grad(weighted))):
        np.testing.assert_array_equal(np.asarray(gradient(x)), expected)
    batch = jnp.stack([x, 2 * x])
    sums = ox.vmap(lambda row: sum(row))(batch)
    np.testing.assert_allclose(np.asarray(sums), np.asarray(batch).sum(1), rtol=1e-4)


def test_constants_of_a_program():
    table = jnp.arange(200)
    assert int(ox.jit(lambda i: sum(row * i for row in table))(2)) == 2 * 199 * 100


def test_keys():
    keys = ox.random.split(ox.random.key(0), 200)
    for i, key in zip(range(3), keys, strict=False):
        np.testing.assert_array_equal(ox.random.key_data(key), ox.random.key_data(keys[i]))
    assert len(list(keys)) == 200
