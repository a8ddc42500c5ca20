"""The same mesh, specs and shardings in both packages, and draws of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from hypothesis import strategies as st

import olympus
from olympus.sharding import Mesh, NamedSharding, PartitionSpec

__all__ = [
    *["MESH", "Drawn", "both", "drawn", "drawn_meshes"],
    *["ours", "places", "same_places", "theirs"],
]

MESH = ((2, 4), ("x", "y"))


class Drawn(NamedTuple):
    """A mesh by its sizes, names and order of devices, a spec, and a shape that it divides."""

    sizes: tuple[int, ...]
    names: tuple[str, ...]
    turned: bool
    spec: tuple[Any, ...]
    shape: tuple[int, ...]


def devices(module: Any, count: int, turned: bool) -> Any:
    found = module.devices()[:count]
    return found[::-1] if turned else found


def ours(sizes: Sequence[int], names: Sequence[str], spec: Sequence[Any], turned: bool = False):
    there = devices(olympus, int(np.prod(sizes)), turned)
    return NamedSharding(Mesh(np.array(there).reshape(sizes), names), PartitionSpec(*spec))


def theirs(sizes: Sequence[int], names: Sequence[str], spec: Sequence[Any], turned: bool = False):
    there = devices(jax, int(np.prod(sizes)), turned)
    mesh = jax.sharding.Mesh(np.array(there).reshape(sizes), names)
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))


def both(*spec: Any) -> tuple[Any, Any]:
    """A sharding on the usual mesh of 2 x 4, in both packages."""
    return ours(*MESH, spec), theirs(*MESH, spec)


@st.composite
def drawn_meshes(draw: st.DrawFn) -> tuple[Any, Any]:
    """A mesh of all 8 devices in some order, in both packages."""
    sizes = draw(st.sampled_from([(2, 4), (4, 2), (2, 2, 2), (8,)]))
    order = draw(st.permutations(range(8)))
    names = ("x", "y", "z")[: len(sizes)]
    mine, oracle = (
        np.array([module.devices()[i] for i in order]).reshape(sizes) for module in (olympus, jax)
    )
    return Mesh(mine, names), jax.sharding.Mesh(oracle, names)


@st.composite
def drawn(draw: st.DrawFn, rank: int | None = None) -> Drawn:
    sizes = draw(st.sampled_from([(8,), (2, 4), (4, 2), (2, 2, 2), (2, 3), (1, 4), (1,)]))
    names = ("x", "y", "z")[: len(sizes)]
    order = draw(st.permutations(names))
    ndim = draw(st.integers(0, 3)) if rank is None else rank
    cuts = [draw(st.integers(0, ndim)) for _ in order]  # the dimension of each axis; ndim is none
    spec = [tuple(n for n, d in zip(order, cuts, strict=True) if d == i) for i in range(ndim)]
    size = dict(zip(names, sizes, strict=True))
    shape = [draw(st.integers(1, 2)) * int(np.prod([size[n] for n in e], dtype=int)) for e in spec]
    entries = tuple(None if not e else e[0] if len(e) == 1 else e for e in spec)
    return Drawn(sizes, names, draw(st.booleans()), entries, tuple(shape))


def places(sharding: Any, shape: Sequence[int]) -> dict[int, Any]:
    """The slices of each device, by its number, without `None` for a bound."""
    found = sharding.devices_indices_map(tuple(shape)).items()
    return {
        device.id: tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True))
        for device, index in found
    }


def same_places(mine: Any, oracle: Any) -> None:
    """Both arrays have the same elements, and each device has the same part of them."""
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=2e-5, atol=2e-5)
    assert np.asarray(mine).dtype == np.asarray(oracle).dtype
    assert places(mine.sharding, mine.shape) == places(oracle.sharding, oracle.shape)
    for a, b in zip(mine.addressable_shards, oracle.addressable_shards, strict=True):
        assert (a.device.id, a.replica_id) == (b.device.id, b.replica_id)
        np.testing.assert_allclose(np.asarray(a.data), np.asarray(b.data), rtol=2e-5, atol=2e-5)
