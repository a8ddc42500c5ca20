"""`serialize_executable`: compiled programs as bytes, with trees of any classes."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import olympus as ox
from olympus.errors import ArgumentError, ArtifactError, UsageError
from olympus.experimental.serialize_executable import deserialize_and_load, serialize

X = np.arange(8, dtype=np.float32)


class Pair(NamedTuple):
    """A tree of a class of the user, which no bundle stores."""

    a: Any
    b: Any


@pytest.mark.parametrize("package", [ox, jax])
def test_a_program_is_called_like_before(package: Any) -> None:
    s = importlib.import_module(f"{package.__name__}.experimental.serialize_executable")

    def f(p: Any, *, k: Any) -> Any:
        return {"sum": p.a + k, "pair": Pair(p.b * 2, [p.a])}

    compiled = package.jit(f).lower(Pair(X, X + 1), k=X).compile()
    content, in_tree, out_tree = s.serialize(compiled)
    assert isinstance(content, bytes)
    assert (in_tree, out_tree) == (compiled.in_tree, compiled.out_tree)
    loaded = s.deserialize_and_load(content, in_tree, out_tree, "cpu", package.devices()[:1])
    result, expected = loaded(Pair(X, X + 1), k=X), compiled(Pair(X, X + 1), k=X)
    assert isinstance(result["pair"], Pair)
    for a, b in zip(package.tree.leaves(result), package.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(a, b)
    with pytest.raises(TypeError):
        loaded(X, k=X)


@pytest.mark.parametrize("package", [ox, jax])
def test_a_program_of_several_devices(package: Any) -> None:
    s = importlib.import_module(f"{package.__name__}.experimental.serialize_executable")
    mesh = package.make_mesh((8,), ("x",), (package.sharding.AxisType.Auto,))
    rows = package.sharding.NamedSharding(mesh, package.P("x"))
    x = package.device_put(X, rows)
    compiled = package.jit(lambda x: package.numpy.cumsum(x) * 2, out_shardings=rows).lower(x)
    content, in_tree, out_tree = s.serialize(compiled.compile())
    loaded = s.deserialize_and_load(
        content, in_tree, out_tree, execution_devices=package.devices()[:8]
    )
    y = loaded(x)
    assert y.sharding.shard_shape(y.shape) == (1,)
    np.testing.assert_allclose(y, np.cumsum(X) * 2)


def test_mistakes() -> None:
    content, in_tree, out_tree = serialize(ox.jit(lambda x: x + 1).lower(X).compile())
    loaded = deserialize_and_load(content, in_tree, out_tree)
    with pytest.raises(ValueError, match="Compilation does not support serialization"):
        serialize(loaded)
    with pytest.raises(ArtifactError):
        deserialize_and_load(content[:-40], in_tree, out_tree)
    with pytest.raises(ArgumentError, match="1 arguments and 1 results, and have 1 and 2"):
        deserialize_and_load(content, in_tree, ox.tree.structure((0, 0)))
    called = ox.experimental.buffer_callback.buffer_callback(lambda *_: None, X)
    with pytest.raises(UsageError, match="on buffers, by buffer_callback"):
        serialize(ox.jit(called).lower(X).compile())
