"""The shardings of the arrays of a bundle's program, without devices, and as plain data.

A program of several devices numbers them; the caller selects the devices when it is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from olympus_core import xla
from olympus_core.base.errors import UnsupportedError, UsageError
from olympus_core.execution.spmd import leaves_open, on_devices
from olympus_core.placement.chosen_sharding import TiledSharding
from olympus_core.placement.mesh import AbstractMesh, AnyMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
    Tiling,
)

#: The largest number of axes of a mesh: well below NumPy's limit for an array.
MAX_AXES = 16

#: A spec on a mesh without devices, or, if no spec describes it, the part of each device.
StoredSharding = NamedSharding | Tiling


@dataclass(frozen=True)
class StoredShardings:
    """The sharding of each argument and of each result; None where the compiler chooses it."""

    arguments: tuple[StoredSharding | None, ...]
    results: tuple[StoredSharding | None, ...]

    def to_data(self, meshes: Sequence[AbstractMesh]) -> dict[str, Any]:
        """Return JSON-like data; a mesh is its position in `meshes`."""
        return {
            "arguments": [_data(sharding, meshes) for sharding in self.arguments],
            "results": [_data(sharding, meshes) for sharding in self.results],
        }


@dataclass(frozen=True)
class StoredPlacement:
    """The number of devices of a program, and the shardings of its arrays.

    The axes of `meshes`, the most specific first, name the parts of the compiler's choices.
    """

    num_devices: int
    meshes: tuple[AbstractMesh, ...]
    shardings: StoredShardings

    def to_data(self) -> dict[str, Any]:
        """Return JSON-like data in the form of `bundle.schema.json`."""
        meshes = [
            {"axis_names": list(mesh.axis_names), "axis_sizes": list(mesh.axis_sizes)}
            for mesh in self.meshes
        ]
        shardings = self.shardings.to_data(self.meshes)
        return {"num_devices": self.num_devices, "meshes": meshes, **shardings}


def _data(sharding: StoredSharding | None, meshes: Sequence[AbstractMesh]) -> Any:
    if sharding is None:
        return None
    if isinstance(sharding, Tiling):
        return {"parts": list(sharding.counts), "places": [list(p) for p in sharding.places]}
    spec = [list(sharding.spec.axes(i)) for i in range(len(sharding.spec))]
    return {"mesh": meshes.index(_abstract(sharding.mesh)), "spec": spec}


def without_devices(sharding: Sharding | None, ndim: int) -> StoredSharding | None:
    """Return a sharding of arrays of `ndim` dimensions in its stored form.

    Return None if it leaves a dimension to the compiler.
    """
    if sharding is None or leaves_open(sharding):
        return None
    if not isinstance(sharding, NamedSharding):
        return sharding.tiling(ndim)
    if sharding.spec.has_sets:
        raise UnsupportedError(
            f"a bundle has no arguments or results with unreduced or reduced axes: {sharding.spec}",
            hint="sum them in the program, by olympus.sharding.reshard(x, P(...))",
        )
    names = _names(sharding.mesh)
    spec = [tuple(names[axis] for axis in sharding.spec.axes(i)) for i in range(len(sharding.spec))]
    return NamedSharding(_abstract(sharding.mesh), PartitionSpec(*spec))


def tiling(stored: StoredSharding, ndim: int) -> Tiling:
    """Return the tiling of an array of `ndim` dimensions by a stored sharding."""
    return stored if isinstance(stored, Tiling) else stored.tiling(ndim)


def put_on_devices(stored: StoredSharding | None, devices: tuple[Any, ...]) -> Sharding | None:
    """Return a stored sharding on the devices of the program, in the program's order."""
    if isinstance(stored, Tiling):
        return TiledSharding(devices, stored)
    return on_devices(stored, devices)


def meshes_of(name: str, shardings: Iterable[Sharding | None]) -> tuple[AbstractMesh, ...]:
    """Return the distinct meshes of shardings.

    Raises:
      UsageError: a bundle of the function `name` cannot store one, which has too many devices or
        axes.
    """
    named = (s for s in shardings if isinstance(s, NamedSharding))
    meshes = tuple(dict.fromkeys(_abstract(s.mesh) for s in named))
    for mesh in meshes:
        if mesh.size > xla.MOST_DEVICES or len(mesh.axis_names) > MAX_AXES:
            raise UsageError(
                f"'{name}' has the mesh {mesh} of {mesh.size} devices, and a bundle stores meshes "
                f"of {xla.MOST_DEVICES} devices and {MAX_AXES} axes at most"
            )
    return meshes


def _abstract(mesh: AnyMesh) -> AbstractMesh:
    """Return the axes of a mesh, by their stored names."""
    return AbstractMesh(mesh.axis_sizes, tuple(_names(mesh).values()))


def _names(mesh: AnyMesh) -> dict[Any, str | int]:
    """Return the stored name of each axis of a mesh: its own, or a number, as in `_0`.

    It is a number if the name is neither an integer nor printable text, as for a `pmap` without an
    axis name.
    """
    names: dict[Any, str | int] = {}
    for i, axis in enumerate(mesh.axis_names):
        plain = isinstance(axis, str | int) and not isinstance(axis, bool)
        name = axis if plain and str(axis).isprintable() else f"_{i}"
        while name is not axis and name in (*mesh.axis_names, *names.values()):
            name = f"_{name}"
        names[axis] = name
    return names
