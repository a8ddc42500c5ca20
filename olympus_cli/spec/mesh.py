"""The mesh of a target and the shardings of its arrays, in olympus.toml.

mesh = { data = 2, model = 4 }
args.x = { shape = "f32[64,1024]", sharding = ["data", ["model"]] }

A sharding has an entry for each dimension: the name of an axis, an array of names, or "" for a
dimension that is whole on every device.  Dimensions after the last entry are whole.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

import olympus
from olympus.sharding import MOST_DEVICES
from olympus_cli.spec.section import Section
from olympus_cli.text.nearest import did_you_mean

#: The size of each axis by name, in order.
MeshSpec: TypeAlias = Mapping[str, int]
#: The axes that each dimension is split along.
ShardingSpec: TypeAlias = tuple[tuple[str, ...], ...]
#: The sharding of all results, or of the items of a dict by key; None for the compiler's choice.
OutSharding: TypeAlias = "ShardingSpec | dict[str, OutSharding] | None"

_FORM = 'such as sharding = ["data", "", ["model", "expert"]]'


def mesh_of(section: Section) -> MeshSpec:
    """Return the mesh of a target; empty if it has none.

    Raises:
        SpecError: an axis has no valid name or size, or there are too many devices.
    """
    table = section.table("mesh")
    for name, size in table.data.items():
        if not name.isidentifier():
            form = "which is not a name of letters, digits and _"
            section.fail("mesh", f"has the axis {name!r}, {form}")
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= MOST_DEVICES:
            table.wrong(name, f"a whole number of devices from 1 to {MOST_DEVICES}", size)
    count = math.prod(table.data.values())
    if count > MOST_DEVICES:
        section.fail("mesh", f"has {count} devices, and at most {MOST_DEVICES} are allowed")
    return dict(table.data)


def sharding_of(section: Section, key: str, value: object, mesh: MeshSpec) -> ShardingSpec:
    """Return the sharding in the value of `key`.

    Raises:
        SpecError: it is not a sharding, names an axis that is not in the mesh, or one axis twice.
    """
    if isinstance(value, str):
        hint = f"write {key.rpartition('.')[2]} = [{json.dumps(value) if value else ''}]"
        section.fail(key, f"must be an array with an entry for each dimension; got {value!r}", hint)
    if not isinstance(value, list):
        section.wrong(key, f"an array with an entry for each dimension, {_FORM}", value)
    entries = tuple(_entry(section, f"{key}[{i}]", item) for i, item in enumerate(value))
    names = [name for entry in entries for name in entry]
    for name in names:
        if not mesh:
            hint = f"add a mesh to the target, such as mesh = {{ {name} = 8 }}"
            section.fail(key, f"names the axis {name!r}, and the target has no mesh", hint)
        if name not in mesh:
            near = did_you_mean(name, mesh, "its axes are")
            section.fail(key, f"names the axis {name!r}, which the mesh does not have", near)
        if names.count(name) > 1:
            section.fail(key, f"names the axis {name!r} twice: an axis can split one dimension")
    return entries


def _entry(section: Section, key: str, value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,) if value else ()
    if isinstance(value, list) and all(isinstance(name, str) and name for name in value):
        return tuple(value)
    section.wrong(key, f'the name of an axis, an array of names or "", {_FORM}', value)


class Misfit(NamedTuple):
    """The reason why a sharding cannot split an array, and a hint.

    `message` is the rest of a sentence that starts with the key: "has ..." or "splits ...".
    """

    message: str
    hint: str | None = None


def misfit_of(
    shape: Sequence[int], spec: ShardingSpec, mesh: MeshSpec, what: str = ""
) -> Misfit | None:
    """Return the reason why a sharding cannot split a shape into equal parts; None if it can.

    `what` names the array in the message, if it is not the shape beside the sharding.
    """
    if len(spec) > len(shape):
        entries = "1 entry" if len(spec) == 1 else f"{len(spec)} entries"
        return Misfit(
            f"has {entries}, one for each dimension, and {what or 'the shape'} has {len(shape)}",
            "write [] for a scalar" if not shape else None,
        )
    for i, (size, names) in enumerate(zip(shape, spec, strict=False)):
        count = math.prod(mesh[name] for name in names)
        if size % count:
            axes = " and ".join(f"{name!r} of {mesh[name]}" for name in names)
            return Misfit(
                f"splits dimension {i}{what and f' of {what}'}, which has {size} elements, along "
                f"the axis {axes}: they do not divide into {count} equal parts"
            )
    return None


def check_shape(
    section: Section, key: str, shape: Sequence[int], spec: ShardingSpec, mesh: MeshSpec
) -> None:
    """Raise SpecError if a sharding cannot split an array of a shape into equal parts."""
    misfit = misfit_of(shape, spec, mesh)
    if misfit is not None:
        section.fail(key, *misfit)


def out_sharding_of(section: Section, mesh: MeshSpec) -> OutSharding:
    """Return the sharding of a target's results: one for all, or one for each key of a dict.

    Raises:
        SpecError: as in `sharding_of`.
    """
    if "out-sharding" not in section.data:
        return None
    return _out(section, "out-sharding", section.data["out-sharding"], mesh)


def _out(section: Section, key: str, value: object, mesh: MeshSpec) -> OutSharding:
    if isinstance(value, dict):
        return {k: _out(section, f"{key}.{k}", item, mesh) for k, item in value.items()}
    return sharding_of(section, key, value, mesh)


def check_backends(section: Section, backends: Sequence[olympus.Target], mesh: MeshSpec) -> None:
    """Raise SpecError if a backend has fewer devices than the mesh."""
    size = math.prod(mesh.values())
    for backend in backends:
        most = backend.most_devices
        if most is not None and size > most:
            section.fail(
                "backends", f"has {backend.name} of {most} devices, and the mesh needs {size}"
            )


def sharding_text(spec: ShardingSpec) -> str:
    """Return a sharding as a TOML array.

    >>> sharding_text((("data",), (), ("model", "expert")))
    '["data", "", ["model", "expert"]]'
    """
    parts = []
    for names in spec:
        quoted = [f'"{name}"' for name in names]
        parts.append(f"[{', '.join(quoted)}]" if len(names) > 1 else (quoted or ['""'])[0])
    return f"[{', '.join(parts)}]"
