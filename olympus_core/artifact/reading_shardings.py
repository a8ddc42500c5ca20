"""The reader of a manifest's shardings: each must cut its array, on a mesh of all the devices.

A sharding that is believed without this makes wrong answers, or ends the process.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypeVar

from olympus_bundle.json_value import JsonValue
from olympus_bundle.manifest import ArrayInfo, Signature
from olympus_core import xla
from olympus_core.artifact.shardings import (
    MAX_AXES,
    StoredPlacement,
    StoredSharding,
    StoredShardings,
    tiling,
)
from olympus_core.base.errors import ArtifactError, ShardingError
from olympus_core.placement.mesh import AbstractMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Tiling,
)

_T = TypeVar("_T")
#: Reads the sharding of an array of some rank.
_Parse = Callable[[JsonValue, int], _T]


def parse_placement(value: JsonValue, signature: Signature) -> StoredPlacement:
    """Parse the placement of a program of several devices.

    Raises:
      ArtifactError: it does not match `bundle.schema.json`, a mesh has another number of devices,
        or a sharding does not fit its array.
    """
    fields = value.fields("num_devices", "meshes", "arguments", "results")
    count = _count(fields["num_devices"], xla.MOST_DEVICES, 2)
    meshes = fields["meshes"].each(lambda part: _mesh(part, count))

    def parse(part: JsonValue, rank: int) -> StoredSharding | None:
        return None if part.value is None else _sharding(part, rank, meshes, count)

    return StoredPlacement(count, meshes, _both(fields, signature, parse))


def parse_shardings(
    value: JsonValue, signature: Signature, placement: StoredPlacement
) -> StoredShardings:
    """Parse the shardings of an executable: one for each argument and each result.

    Raises:
      ArtifactError: as `parse_placement` does.
    """
    fields = value.fields("arguments", "results")
    count, meshes = placement.num_devices, placement.meshes
    return _both(fields, signature, lambda part, rank: _sharding(part, rank, meshes, count))


def _both(
    fields: dict[str, JsonValue], signature: Signature, parse: _Parse[StoredSharding | None]
) -> StoredShardings:
    return StoredShardings(
        _all(fields["arguments"], signature.arguments, parse),
        _all(fields["results"], signature.results, parse),
    )


def _all(
    value: JsonValue,
    arrays: Sequence[ArrayInfo],
    parse: _Parse[StoredSharding | None],
) -> tuple[StoredSharding | None, ...]:
    """Return the shardings of arrays; each must be able to cut its array."""
    parts = value.each(lambda part: part)
    if len(parts) != len(arrays):
        raise ArtifactError(
            f"in its manifest, {value.where} has {len(parts)} shardings for {len(arrays)} arrays"
        )
    shardings = []
    for part, array in zip(parts, arrays, strict=True):
        sharding = parse(part, len(array.shape))
        counts = () if sharding is None else tiling(sharding, len(array.shape)).counts
        for i, count in enumerate(counts):
            if array.shape[i] % count:
                raise ArtifactError(
                    f"in its manifest, {part.where} cuts dimension {i} of {array.name!r} into "
                    f"{count} parts, and it has {array.shape[i]} elements"
                )
        shardings.append(sharding)
    return tuple(shardings)


def _mesh(value: JsonValue, count: int) -> AbstractMesh:
    fields = value.fields("axis_names", "axis_sizes")
    names = fields["axis_names"].each(_axis)
    sizes = fields["axis_sizes"].each(lambda part: _count(part, count))
    if len(names) > MAX_AXES or len(sizes) != len(names):
        value.refuse(f"{MAX_AXES} axes at most, each with a name and a size")
    if math.prod(sizes) != count:
        raise ArtifactError(
            f"in its manifest, {value.where} has {math.prod(sizes)} devices, and the program "
            f"{count}"
        )
    try:
        return AbstractMesh(sizes, names)
    except ShardingError as exc:
        raise ArtifactError(f"in its manifest, {value.where} is not a mesh: {exc}") from exc


def _count(value: JsonValue, most: int, least: int = 1) -> int:
    """Return an integer from `least` to `most`."""
    number = value.value
    if isinstance(number, int) and not isinstance(number, bool) and least <= number <= most:
        return number
    value.refuse(f"an integer from {least} to {most}")


def _axis(value: JsonValue) -> str | int:
    name = value.key()
    return name if isinstance(name, int) or name.isprintable() else value.refuse("printable text")


def _sharding(
    value: JsonValue, rank: int, meshes: Sequence[AbstractMesh], count: int
) -> StoredSharding:
    if "parts" in value.entries():
        return _tiling(value, rank, count)
    fields = value.fields("mesh", "spec")
    if not meshes:
        fields["mesh"].refuse("the position of a mesh in `meshes`, which is empty")
    mesh = meshes[_count(fields["mesh"], len(meshes) - 1, 0)]
    entries = fields["spec"].each(lambda part: part.each(_axis))
    if len(entries) > rank:
        raise ArtifactError(
            f"in its manifest, {fields['spec'].where} has {len(entries)} entries for an array of "
            f"{rank} dimensions"
        )
    used = Counter(axis for entry in entries for axis in entry)
    for axis, times in used.items():
        if axis not in mesh.axis_names or times > 1:
            wrong = "twice" if axis in mesh.axis_names else f"which is not one of {mesh}"
            raise ArtifactError(
                f"in its manifest, {fields['spec'].where} names the axis {axis!r:.80}, {wrong}"
            )
    return NamedSharding(mesh, PartitionSpec(*entries))


def _tiling(value: JsonValue, rank: int, count: int) -> Tiling:
    """Return the part of each device; every part is on the same number of devices."""
    fields = value.fields("parts", "places")
    parts = fields["parts"].each(lambda part: _count(part, count))
    places = fields["places"].each(
        lambda part: part.each(lambda number: _count(number, count - 1, 0))
    )
    if len(parts) != rank:
        fields["parts"].refuse(f"an array of {rank} numbers")
    fits = [len(place) == rank and all(map(int.__lt__, place, parts)) for place in places]
    if len(places) != count or not all(fits):
        fields["places"].refuse(f"an array with one of the parts for each of {count} devices")
    copies = Counter(places)
    if len(copies) != math.prod(parts) or len(set(copies.values())) != 1:
        fields["places"].refuse("an array in which each part occurs as often as any other")
    return Tiling(parts, places)
