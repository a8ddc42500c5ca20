"""The same meshes, specs and shardings in OLYMPUS and in JAX, also drawn ones."""

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
    *["check_same_parts", "ours", "parts_by_device", "theirs"],
]

MESH = ((2, 4), ("x", "y"))


class Drawn(NamedTuple):
    """The sizes, names and device order of a mesh, a spec, and a shape that the spec divides."""

    sizes: tuple[int, ...]
    names: tuple[str, ...]
    is_reversed: bool
    spec: tuple[Any, ...]
    shape: tuple[int, ...]


def devices(module: Any, count: int, is_reversed: bool) -> Any:
    ordered = module.devices()[:count]
    return ordered[::-1] if is_reversed else ordered


def ours(
    sizes: Sequence[int], names: Sequence[str], spec: Sequence[Any], is_reversed: bool = False
):
    devices_of_mesh = devices(olympus, int(np.prod(sizes)), is_reversed)
    return NamedSharding(
        Mesh(np.array(devices_of_mesh).reshape(sizes), names), PartitionSpec(*spec)
    )


def theirs(
    sizes: Sequence[int], names: Sequence[str], spec: Sequence[Any], is_reversed: bool = False
):
    devices_of_mesh = devices(jax, int(np.prod(sizes)), is_reversed)
    mesh = jax.sharding.Mesh(np.array(devices_of_mesh).reshape(sizes), names)
    return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*spec))


def both(*spec: Any) -> tuple[Any, Any]:
    """Return a sharding on the mesh of 2 x 4 devices in both packages."""
    return ours(*MESH, spec), theirs(*MESH, spec)


@st.composite
def drawn_meshes(draw: st.DrawFn) -> tuple[Any, Any]:
    """A mesh of all 8 devices in a drawn order, in both packages."""
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
    cuts = [
        draw(st.integers(0, ndim)) for _ in order
    ]  # the dimension that each axis splits; `ndim` means none
    spec = [tuple(n for n, d in zip(order, cuts, strict=True) if d == i) for i in range(ndim)]
    size = dict(zip(names, sizes, strict=True))
    shape = [draw(st.integers(1, 2)) * int(np.prod([size[n] for n in e], dtype=int)) for e in spec]
    entries = tuple(None if not e else e[0] if len(e) == 1 else e for e in spec)
    return Drawn(sizes, names, draw(st.booleans()), entries, tuple(shape))


def parts_by_device(sharding: Any, shape: Sequence[int]) -> dict[int, Any]:
    """Return the slices of each device by its number, with explicit bounds."""
    indices = sharding.devices_indices_map(tuple(shape))
    return {
        device.id: tuple(s.indices(n)[:2] for s, n in zip(index, shape, strict=True))
        for device, index in indices.items()
    }


def check_same_parts(mine: Any, oracle: Any) -> None:
    """Check that both arrays have the same elements, and each device the same part of them."""
    np.testing.assert_allclose(np.asarray(mine), np.asarray(oracle), rtol=2e-5, atol=2e-5)
    assert np.asarray(mine).dtype == np.asarray(oracle).dtype
    assert parts_by_device(mine.sharding, mine.shape) == parts_by_device(
        oracle.sharding, oracle.shape
    )
    for a, b in zip(mine.addressable_shards, oracle.addressable_shards, strict=True):
        assert (a.device.id, a.replica_id) == (b.device.id, b.replica_id)
        np.testing.assert_allclose(np.asarray(a.data), np.asarray(b.data), rtol=2e-5, atol=2e-5)
