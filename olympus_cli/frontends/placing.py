"""Where the arrays of a target lie: its mesh and shardings, as the compiler takes them."""

from __future__ import annotations

import os
from typing import Any

import olympus
from olympus import tree
from olympus.errors import ShardingError, UsageError
from olympus.sharding import MOST_DEVICES, AbstractMesh, NamedSharding, PartitionSpec
from olympus_cli.spec.mesh import OutSharding, ShardingSpec
from olympus_cli.spec.model import TargetSpec

__all__ = ["ask_for_devices", "check_placement", "out_shardings", "placed"]

_COUNT = "OLYMPUS_NUM_CPU_DEVICES"


def ask_for_devices(count: int) -> None:
    """Let the CPU have as many devices as a program needs, where the user does not say.

    It must be called in the program's own process, and has an effect before anything asks for its
    devices alone.
    """
    if count > 1:
        os.environ.setdefault(_COUNT, str(count))


def _sharding(said: ShardingSpec, spec: TargetSpec) -> NamedSharding:
    mesh = AbstractMesh(tuple(spec.mesh.values()), tuple(spec.mesh))
    return NamedSharding(mesh, PartitionSpec(*said))


def placed(structs: Any, said: ShardingSpec | None, spec: TargetSpec) -> Any:
    """The types of an argument's arrays, with a sharding that is said of each of them.

    Raises:
        UsageError: it cannot cut one of them into equal parts.
    """
    if said is None or not spec.mesh:
        return structs
    sharding = _sharding(said, spec)

    def one(struct: Any) -> olympus.ShapeDtypeStruct:
        try:
            return olympus.ShapeDtypeStruct(struct.shape, struct.dtype, sharding=sharding)
        except ShardingError as error:
            raise UsageError(f"the sharding of an argument of {spec.name}: {error}") from error

    return tree.map(one, structs)


def out_shardings(said: OutSharding, spec: TargetSpec) -> Any:
    """What `jit` takes for the shardings of results."""
    if isinstance(said, dict):
        return {key: out_shardings(each, spec) for key, each in said.items()}
    return None if said is None or not spec.mesh else _sharding(said, spec)


def check_placement(traced: olympus.stages.Traced, spec: TargetSpec) -> None:
    """Let the CPU have the devices that the program's own meshes ask for, where none are named.

    Raises:
        UsageError: the program does not run on the devices of the target's mesh.
    """
    where = traced.placement()
    if where is not None and where.devices is None and where.num_devices <= MOST_DEVICES:
        ask_for_devices(where.num_devices)  # too late where the program has looked at them
    if not spec.mesh:
        return
    if where is None and spec.num_devices > 1:
        raise UsageError(
            f"{spec.name} has a mesh of {spec.num_devices} devices, and no argument or result has "
            "a sharding",
            hint='such as args.x = { shape = "f32[64,8]", sharding = ["'
            + next(iter(spec.mesh))
            + '"] }',
        )
    if where is not None and where.num_devices != spec.num_devices:
        raise UsageError(
            f"{spec.name} has a mesh of {spec.num_devices} devices, and its function asks for "
            f"{where.num_devices}"
        )
