"""The text of arrays."""

from __future__ import annotations

import jax.numpy
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ConcretizationTypeError

jnp = ox.numpy


def test_arrays_are_printed_with_the_options_of_numpy() -> None:
    x = np.array([1.0, 1e-9, 12345.678], "float32")
    assert jnp.array_repr(jnp.asarray(x)) == repr(jnp.asarray(x))
    assert repr(jnp.zeros(0)) == repr(jax.numpy.zeros(0)) == "Array([], shape=(0,), dtype=float32)"
    assert jnp.array_repr(jnp.zeros((0, 3))) == "Array([], shape=(0, 3), dtype=float32)"
    assert jnp.array_repr(x) == repr(x)
    assert jnp.array_str(jnp.asarray(x), precision=2, suppress_small=True) == np.array_str(
        x, precision=2, suppress_small=True
    )
    with jnp.printoptions(precision=2, suppress=True):
        assert jnp.get_printoptions()["precision"] == 2
        assert repr(jnp.asarray([1.23456])) == "Array([1.23], dtype=float32)"
    before = jnp.get_printoptions()["threshold"]
    try:
        jnp.set_printoptions(threshold=4)
        assert "..." in str(jnp.arange(100))
    finally:
        jnp.set_printoptions(threshold=before)
    with pytest.raises(ConcretizationTypeError):
        ox.jit(lambda x: jnp.array_str(x))(x)
