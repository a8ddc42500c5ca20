"""Convert the meshes and shardings of a module to OLYMPUS meshes and shardings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from olympus_core.mlir import bindings as mlir
from olympus_core.placement.mesh import AbstractMesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding
from olympus_core.raising.unraisable import UnraisableError

if TYPE_CHECKING:
    from olympus_core.mlir.bindings import ir


class Meshes:
    """The meshes of a module, by symbol."""

    def __init__(self, module: ir.Module) -> None:
        self._sdy = mlir.sdy_attributes()
        self._by_symbol: dict[str, Any] = {}
        for view in module.body.operations:
            operation = view.operation
            if operation.name == "sdy.mesh":
                symbol = mlir.ir.StringAttr(operation.attributes["sym_name"]).value
                self._by_symbol[symbol] = operation.attributes["mesh"]

    def sizes(self) -> list[int]:
        """Return the number of devices of each mesh, in the order of the module."""
        return [self._mesh(x, any_order=True).size for x in self._by_symbol.values()]

    def ordered(self) -> list[AbstractMesh]:
        """Return the meshes with devices in the order of the program."""
        meshes = []
        for attribute in self._by_symbol.values():
            try:
                meshes.append(self._mesh(attribute))
            except UnraisableError:
                continue
        return meshes

    def _mesh(self, attribute: Any, any_order: bool = False) -> AbstractMesh:
        mesh = self._sdy.MeshAttr(attribute)
        axes = [self._sdy.MeshAxisAttr(x) for x in mesh.axes]
        ids = list(mesh.device_ids)
        if ids and ids != list(range(len(ids))) and not any_order:
            raise UnraisableError("a mesh has its devices in another order than the program")
        return AbstractMesh([x.size for x in axes], tuple([x.name for x in axes]))

    def mesh(self, symbol: str) -> AbstractMesh:
        """Return a mesh; raise UnraisableError if its devices are not in program order."""
        if symbol not in self._by_symbol:
            raise UnraisableError(f"the mesh {symbol} is not declared")
        return self._mesh(self._by_symbol[symbol])

    def _mesh_of(self, sharding: Any) -> AbstractMesh:
        place = sharding.mesh_or_ref
        if isinstance(place, mlir.ir.FlatSymbolRefAttr):
            return self.mesh(place.value)
        return self._mesh(place)

    def named(self, attribute: ir.Attribute) -> NamedSharding | None:
        """Return the sharding of `#sdy.sharding<...>`; None for the whole array on one device.

        Raises UnraisableError for a sharding that no PartitionSpec describes, such as one along a
        part of an axis.
        """
        sharding = self._sdy.TensorShardingAttr(attribute)
        mesh = self._mesh_of(sharding)
        if mesh.size <= 1:  # 0 without axes
            return None
        dimensions = [self._entry(x) for x in sharding.dimension_shardings]
        if any(is_open and names for names, is_open in dimensions):
            raise UnraisableError("a sharding has a dimension that the compiler may split further")
        is_open = any(is_open for _, is_open in dimensions)
        if list(sharding.unreduced_axes) or (is_open and list(sharding.replicated_axes)):
            raise UnraisableError("a sharding has unreduced or replicated axes")
        entries = [PartitionSpec.UNCONSTRAINED if o else names for names, o in dimensions]
        return NamedSharding(mesh, _spec(entries))

    def names(self, attribute: ir.Attribute) -> list[str]:
        """Return the axes of `#sdy<manual_axes{...}>`."""
        return [str(x) for x in self._sdy.ManualAxesAttr(attribute)]

    def manual(
        self, attribute: ir.Attribute, names: Sequence[str]
    ) -> tuple[AbstractMesh | None, list[PartitionSpec]]:
        """Return the mesh and the specs of `#sdy.sharding_per_value<...>` of a manual computation.

        `names` are its manual axes. The mesh is None if there are no shardings.

        Raises UnraisableError for a spec along another axis.
        """
        mesh, specs = None, []
        for row in self._sdy.TensorShardingPerValueAttr(attribute).shardings:
            sharding = self._sdy.TensorShardingAttr(row)
            mesh = self._mesh_of(sharding)
            entries = [self._entry(x)[0] for x in sharding.dimension_shardings]
            if any(name not in names for entry in entries for name in entry):
                raise UnraisableError("a manual computation splits an array along other axes")
            specs.append(_spec(entries))
        return mesh, specs

    def _entry(self, attribute: Any) -> tuple[tuple[str, ...], bool]:
        """Return the axes of a dimension, and True if the compiler may add axes."""
        dimension = self._sdy.DimensionShardingAttr(attribute)
        axes = [self._sdy.AxisRefAttr(x) for x in dimension.axes]
        if dimension.priority is not None or any(x.sub_axis_info is not None for x in axes):
            raise UnraisableError("a sharding has a priority or a part of an axis")
        return tuple([x.name for x in axes]), not dimension.is_closed


def _spec(entries: Sequence[Any]) -> PartitionSpec:
    """Return the spec with one entry for each dimension, without unsplit dimensions at the end."""
    last = max((i for i, entry in enumerate(entries, 1) if entry), default=0)
    return PartitionSpec(*entries[:last])
