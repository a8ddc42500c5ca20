"""The shardings that a compiler chooses, which may have no PartitionSpec."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from olympus_core.base.errors import ShardingError
from olympus_core.placement.mesh import Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding, Sharding, SingleDeviceSharding, Tiling


class TiledSharding(Sharding):
    """A sharding of arrays of one rank that no spec on the program's mesh describes.

    The compiler may choose one, for example for a reshape that splits an axis of the mesh in two.
    """

    __slots__ = ("_devices", "_tiling")

    def __init__(self, devices: tuple[Any, ...], tiling: Tiling) -> None:
        self._devices, self._tiling = devices, tiling

    @property
    def devices(self) -> tuple[Any, ...]:
        return self._devices

    def tiling(self, ndim: int) -> Tiling:
        if ndim != len(self._tiling.counts):
            raise ShardingError(
                f"{self!r} is for arrays of {len(self._tiling.counts)} dimensions, and one has "
                f"{ndim}"
            )
        return self._tiling

    @property
    def is_fully_replicated(self) -> bool:
        return all(count == 1 for count in self._tiling.counts)

    def __repr__(self) -> str:
        return f"TiledSharding({len(self._devices)} devices, parts={self._tiling.counts})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TiledSharding):
            return NotImplemented
        return (self._devices, self._tiling) == (other._devices, other._tiling)

    def __hash__(self) -> int:
        return hash((self._devices, self._tiling))


def whole_on(device: Any, like: Iterable[Sharding]) -> Sharding:
    """Return the sharding of an array on one device: on the first mesh of `like`, if any.

    >>> whole_on(device, [NamedSharding(mesh, P("data"))]).spec
    P()
    """
    for sharding in like:
        if isinstance(sharding, NamedSharding) and isinstance(sharding.mesh, Mesh):
            return NamedSharding(sharding.mesh, PartitionSpec())
    return SingleDeviceSharding(device)


def named_like(mesh: Mesh, tiling: Tiling) -> Sharding:
    """Return the sharding on `mesh` with the tiling `tiling`.

    It is a NamedSharding if a spec describes it. As in JAX, the last entry of the spec is that of
    the last dimension that is split.
    """
    sizes = mesh.axis_sizes
    places = np.array(tiling.places, np.int64).reshape(*sizes, len(tiling.counts))
    entries = []
    for d, count in enumerate(tiling.counts):
        # the step of the part number along each axis: the major axis has the largest step
        steps = [
            (int(np.take(places[..., d], 1, i).flat[0] - places[..., d].flat[0]), i)
            for i, size in enumerate(sizes)
            if size > 1
        ]
        axes = [i for step, i in sorted(steps, reverse=True) if step > 0]
        entries.append(tuple(mesh.axis_names[i] for i in axes) if count > 1 else ())
    while entries and not entries[-1]:
        entries.pop()
    names = [name for entry in entries for name in entry]
    if len(set(names)) == len(names):
        sharding = NamedSharding(mesh, PartitionSpec(*entries))
        if sharding.tiling(len(tiling.counts)) == tiling:
            return sharding
    return TiledSharding(mesh.flat_devices, tiling)
