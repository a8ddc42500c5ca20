"""Collectives in groups of the devices along an axis give the results of JAX."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import olympus
from olympus.errors import ShardingError, UnsupportedError
from olympus.sharding import PartitionSpec
from tests.devices.meshes import both

GROUPS = [[0, 2], [3, 1]]
UNEVEN = [[3, 0, 1], [2]]
X = np.sin(np.arange(64, dtype=np.float32)).reshape(16, 4)
MESHES = dict(zip((olympus, jax), (s.mesh for s in both("x", "y")), strict=True))

REDUCING = {
    "psum": lambda m, x: m.lax.psum(x, "y", axis_index_groups=GROUPS),
    "pmean": lambda m, x: m.lax.pmean(x, "y", axis_index_groups=GROUPS),
    "pmax": lambda m, x: m.lax.pmax(x, "y", axis_index_groups=GROUPS),
    "pmin": lambda m, x: m.lax.pmin(x, "y", axis_index_groups=GROUPS),
    "psum uneven": lambda m, x: m.lax.psum(x, "y", axis_index_groups=UNEVEN),
    "pmax uneven": lambda m, x: m.lax.pmax(x, "y", axis_index_groups=UNEVEN),
}
OTHERS = {
    "all_gather": lambda m, x: m.lax.all_gather(x, "y", axis_index_groups=GROUPS).sum(0) * x,
    "all_gather tiled": lambda m, x: m.lax.all_gather(
        x, "y", axis_index_groups=GROUPS, tiled=True, axis=1
    ),
    "psum_scatter": lambda m, x: m.lax.psum_scatter(
        x, "y", axis_index_groups=GROUPS, tiled=True, scatter_dimension=1
    ),
    "all_to_all": lambda m, x: m.lax.all_to_all(x, "y", 1, 1, axis_index_groups=GROUPS, tiled=True),
}
ALL = REDUCING | OTHERS
SUMS = [name for name in REDUCING if not name.startswith(("pmax", "pmin"))]


def mapped(m: Any, name: str, **options: Any) -> Any:
    spec = m.sharding.PartitionSpec("y")
    body = lambda x: ALL[name](m, x)  # noqa: E731
    return m.shard_map(body, mesh=MESHES[m], in_specs=spec, out_specs=spec, **options)


def check_equal(mine: Any, oracle: Any) -> None:
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_values_and_derivatives_are_those_of_jax(name: str) -> None:
    for options in (
        {"check_vma": False},
        {"check_vma": False, "axis_names": {"y"}},
        *([] if name in SUMS else [{}]),
    ):
        f, g = (m.jit(mapped(m, name, **options)) for m in (olympus, jax))
        check_equal(f(X), g(X))
        if name in SUMS or name in OTHERS:  # JAX has no derivative of these
            mine, oracle = (
                m.jit(m.grad(lambda x, h=h: (h(x) ** 2).sum()))(X)
                for m, h in ((olympus, f), (jax, g))
            )
            check_equal(mine, oracle)


@pytest.mark.parametrize("name", ALL)
def test_pmap_and_vmap_accept_groups(name: str) -> None:
    parts = X.reshape(4, 4, 4)
    mine, oracle = (m.pmap(lambda x, m=m: ALL[name](m, x), axis_name="y") for m in (olympus, jax))
    check_equal(mine(parts), oracle(parts))
    batch = np.stack([X, 2 * X, X - 1])
    mine = olympus.jit(olympus.vmap(mapped(olympus, name, check_vma=False)))
    single = jax.jit(mapped(jax, name, check_vma=False))  # JAX has no vmap of all_to_all in groups
    check_equal(mine(batch), np.stack([np.asarray(single(x)) for x in batch]))


@pytest.mark.parametrize("name", SUMS)
def test_a_sum_in_groups_is_refused_in_a_checked_body(name: str) -> None:
    with pytest.raises(UnsupportedError, match="no axis_index_groups along 'y'"):
        mapped(olympus, name)(X)


@pytest.mark.parametrize("name", ["psum", "all_gather"])
def test_a_flag_that_is_equal_only_in_a_group_is_refused(name: str) -> None:
    def body(x: Any) -> Any:
        flag = ALL[name](olympus, x).sum() > 0
        return olympus.lax.cond(flag, lambda v: olympus.lax.psum(v, "y"), lambda v: v, x)

    spec = PartitionSpec("y")
    f = olympus.shard_map(
        body, mesh=MESHES[olympus], in_specs=spec, out_specs=spec, check_vma=False
    )
    with pytest.raises(ShardingError, match="may differ along the axis 'y'"):
        f(X)
