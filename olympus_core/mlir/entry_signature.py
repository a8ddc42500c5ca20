"""The entry function of a portable StableHLO artifact: its types, donations, devices and meshes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from olympus_core.base.errors import ArtifactError
from olympus_core.mlir import bindings as mlir

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir

_DONATED = ("tf.aliasing_output", "jax.buffer_donor")


class EntrySignature(NamedTuple):
    """The arguments and results of a program's entry function; `donated` are indices of arguments.

    `num_devices` is the module's number of devices, and `meshes` are the sizes of its meshes.
    """

    arguments: tuple[ir.Type, ...]
    results: tuple[ir.Type, ...]
    donated: frozenset[int]
    num_devices: int
    meshes: tuple[tuple[int, ...], ...]


def read_entry(content: bytes) -> EntrySignature:
    """Return the types of the program in a portable StableHLO artifact, the result of `portable`.

    Raises:
      ArtifactError: the bytes are not such an artifact, or have no function `main`.
    """
    module = _deserialized(content)  # its operations live as long as it does
    with mlir.readable("the program"):
        main = _main(module)
        attributes = list(main.operation.attributes.get("arg_attrs") or [])
        donated = [
            i
            for i, attribute in enumerate(attributes)
            if any(name in attribute for name in _DONATED)
        ]
        types = tuple(main.type.inputs), tuple(main.type.results)
        return EntrySignature(
            *types, frozenset(donated), _num_devices(module), declared_meshes(module)
        )


def _num_devices(module: ir.Module) -> int:
    """Return the partitions times the replicas."""
    attributes = module.operation.attributes
    names = [name for name in ("mhlo.num_partitions", "mhlo.num_replicas") if name in attributes]
    return math.prod(int(attributes[name].value) for name in names)


def declared_meshes(module: ir.Module) -> tuple[tuple[int, ...], ...]:
    """Return the sizes of the axes of each mesh that the module declares."""
    _sdy = mlir.sdy_attributes()
    operations = [view for view in module.body.operations if view.operation.name == "sdy.mesh"]
    meshes = [_sdy.MeshAttr(view.operation.attributes["mesh"]) for view in operations]
    return tuple(tuple(_sdy.MeshAxisAttr(axis).size for axis in mesh.axes) for mesh in meshes)


def _deserialized(content: bytes) -> ir.Module:
    if not content.startswith(mlir.BYTECODE):  # the parser would read it as text
        raise ArtifactError("the program is not StableHLO bytecode")
    return mlir.verified(
        lambda: mlir.hlo.deserialize_portable_artifact(mlir.context(), content), "the program"
    )


def _main(module: ir.Module) -> Any:
    for function in module.body.operations:
        if isinstance(function, mlir.func.FuncOp) and function.name.value == "main":
            return function
    raise ArtifactError("the program has no function 'main'")
