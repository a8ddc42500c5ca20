"""The number of devices, the meshes and the shardings of a module from another tool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from olympus_core.base.errors import UsageError
from olympus_core.execution.spmd import Placement
from olympus_core.mlir import bindings as mlir
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
)
from olympus_core.raising.meshes import Meshes
from olympus_core.raising.unraisable import UnraisableError
from olympus_core.stages.interface import Interface
from olympus_core.xla.runtime.program_formats import main_function

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

Shardings = tuple[Sharding | None, ...]

_PARTITIONS, _REPLICAS = "mhlo.num_partitions", "mhlo.num_replicas"
_SHARDY = "sdy.sharding"


def prepare_devices(module: ir.Module) -> None:
    """Set the number of partitions of a module to the number of devices of its meshes.

    Raises UsageError for several replicas, for several devices without a mesh, and for meshes of
    different sizes.
    """
    attributes = module.operation.attributes
    replicas, partitions = (
        int(attributes[name].value) if name in attributes else 1
        for name in (_REPLICAS, _PARTITIONS)
    )
    if replicas > 1:
        raise UsageError(
            f"the program is for {replicas} replicas, and programs that are read are for the "
            "devices of a mesh"
        )
    sizes = {size for size in Meshes(module).sizes() if size > 1}
    if len(sizes) > 1:
        first, second = sorted(sizes)[:2]
        raise UsageError(
            f"the program has meshes of {first} and of {second} devices, and all must have as many"
        )
    if not sizes and partitions > 1:
        raise UsageError(
            f"the program is for {partitions} devices, and it declares no mesh",
            hint="declare it with sdy.mesh",
        )
    count = max(sizes, default=1)
    if partitions not in (1, count):
        raise UsageError(f"the program is for {partitions} devices, and its mesh has {count}")
    if count > 1:
        attributes[_PARTITIONS] = mlir.i32_attr(count)


def entry_shardings(module: ir.Module) -> tuple[Shardings, Shardings]:
    """Return the shardings of the arguments and results of `main`, each None if unspecified.

    Raises UnraisableError for a sharding without an equal PartitionSpec, and if a function
    other than `main` has shardings.
    """
    meshes = Meshes(module)
    main = main_function(module)
    for view in module.body.operations:
        if view.operation.name == "func.func" and view.operation != main.operation:
            rows = _rows(view.operation, "arg_attrs") + _rows(view.operation, "res_attrs")
            if any(_SHARDY in row for row in rows):
                raise UnraisableError("a function other than main has shardings")
    ins, outs = (
        _shardings(_rows(main.operation, name), len(types), meshes)
        for name, types in (("arg_attrs", main.type.inputs), ("res_attrs", main.type.results))
    )
    return ins, outs


def _rows(function: ir.Operation, name: str) -> list[ir.DictAttr]:
    return list(function.attributes.get(name) or [])


def _shardings(rows: Sequence[ir.DictAttr], count: int, meshes: Meshes) -> Shardings:
    """Return a sharding for each of `count` arrays; empty if no array has one."""
    found = [meshes.named(row[_SHARDY]) if _SHARDY in row else None for row in rows]
    return tuple(found) if any(x is not None for x in found) else ()


def declared_placement(signature: Interface, module: ir.Module) -> Placement | None:
    """Return the placement of a module that is compiled unchanged, on the devices of its meshes."""
    meshes = Meshes(module)
    count = max(meshes.sizes(), default=1)
    if count <= 1:  # 0 if no mesh has axes, as that of a callback on one device
        return None
    own = [s for s in (*signature.in_shardings, *signature.out_shardings) if s is not None]
    whole = [NamedSharding(m, PartitionSpec()) for m in meshes.ordered() if m.size == count]
    return Placement(None, count, (*own, *whole))
