"""Collectives over several axes in any order of their names give the results of JAX."""

from __future__ import annotations

import types
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.errors import ArgumentError, OlympusError, ShardingError
from olympus.sharding import PartitionSpec
from tests.devices.meshes import both, ours, theirs
from tests.drawn import examples

OURS = types.SimpleNamespace(m=olympus, np=jnp, lax=lax, P=PartitionSpec, side=0)
ORACLE = types.SimpleNamespace(
    m=jax, np=jax.numpy, lax=jax.lax, P=jax.sharding.PartitionSpec, side=1
)
SIZES = {"x": 2, "y": 2, "z": 2}
X = np.random.default_rng(0).standard_normal((64, 8)).astype(np.float32)

COLLECTIVES = {
    "psum": lambda p, x, names: p.lax.psum(x, names),
    "pmax": lambda p, x, names: p.lax.pmax(x, names),
    "all_gather": lambda p, x, names: p.lax.all_gather(x, names, axis=1),
    "all_gather tiled": lambda p, x, names: p.lax.all_gather(x, names, tiled=True),
    "psum_scatter": lambda p, x, names: p.lax.psum_scatter(
        x[: 2 ** len(names)], names, tiled=False
    ),
    "psum_scatter tiled": lambda p, x, names: p.lax.psum_scatter(
        x, names, scatter_dimension=1, tiled=True
    ),
    "ppermute": lambda p, x, names: p.lax.ppermute(
        x, names, [(i, (3 * i + 1) % 2 ** len(names)) for i in range(2 ** len(names))]
    ),
    "pshuffle": lambda p, x, names: p.lax.pshuffle(
        x, names, [(5 * i + 3) % 2 ** len(names) for i in range(2 ** len(names))]
    ),
    "all_to_all": lambda p, x, names: p.lax.all_to_all(x[: 2 ** len(names)], names, 0, 1),
    "all_to_all tiled": lambda p, x, names: p.lax.all_to_all(x, names, 0, 1, tiled=True),
    "axis_index": lambda p, x, names: x * 0 + p.lax.axis_index(names),
}


def run(p: Any, collective: Any, names: tuple[str, ...], is_reversed: bool, check: bool) -> Any:
    spec = ("x", "y", "z")
    make = (ours, theirs)[p.side]
    mesh = make(tuple(SIZES.values()), spec, (), is_reversed).mesh

    def body(x: Any) -> Any:
        result = collective(p, x, names)
        return p.np.ravel(result) + 0 * p.np.sum(x)  # the sum varies along all axes

    f = p.m.shard_map(body, mesh=mesh, in_specs=p.P(spec), out_specs=p.P(spec), check_vma=check)
    return np.asarray(p.m.jit(f)(X))


@pytest.mark.parametrize("name", COLLECTIVES)
@given(
    names=st.permutations(["x", "y", "z"]),
    count=st.integers(1, 3),
    is_reversed=st.booleans(),
    check=st.booleans(),
)
@examples(4)
def test_the_order_of_names_has_the_meaning_of_jax(
    name: str, names: list[str], count: int, is_reversed: bool, check: bool
) -> None:
    chosen = tuple(names[:count])
    if name in ("ppermute", "pshuffle") and list(chosen) != sorted(chosen):
        with pytest.raises(ArgumentError, match="in the order of the mesh"):
            run(OURS, COLLECTIVES[name], chosen, is_reversed, check)
        return
    mine, oracle = (run(p, COLLECTIVES[name], chosen, is_reversed, check) for p in (OURS, ORACLE))
    np.testing.assert_allclose(mine, oracle, rtol=1e-5, atol=1e-5)


def summed(p: Any, cast: bool = False) -> Any:
    """Return the sum along both axes of a value that varies along one of them."""

    def body(x: Any) -> Any:
        x = p.lax.pcast(x, "y", to="varying") if cast else x
        return p.lax.psum(x, ("x", "y"))

    mesh = both()[p.side].mesh
    return p.m.shard_map(body, mesh=mesh, in_specs=p.P("x"), out_specs=p.P())(X)


def test_a_sum_of_a_value_that_is_equal_along_an_axis_is_refused() -> None:
    with pytest.raises(ValueError, match="axis_name"):
        summed(ORACLE)
    with pytest.raises(ShardingError, match=r"along 'x' and is the same.*along 'y'") as error:
        summed(OURS)
    assert "lax.pcast(x, 'y', to='varying')" in (error.value.hint or "")
    np.testing.assert_allclose(summed(OURS, True), summed(ORACLE, True), rtol=1e-5)


def test_an_axis_that_is_named_twice_is_refused() -> None:
    for name in COLLECTIVES:
        with pytest.raises(OlympusError, match="different axes"):
            run(OURS, COLLECTIVES[name], ("x", "x"), False, False)
