"""The shardings of a program's results that its types, its context and its layouts determine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from olympus_core import xla
from olympus_core.base.avals import ShapedArray
from olympus_core.execution.spmd import shardings_in
from olympus_core.ir.olympuspr import Olympuspr
from olympus_core.placement.layout import Layout
from olympus_core.placement.mesh import AnyMesh, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding, Sharding, SingleDeviceSharding


def typed_results(
    avals: Sequence[ShapedArray],
    requested: Sequence[Sharding | None],
    like: Iterable[Sharding | AnyMesh | None],
) -> tuple[Sharding | None, ...]:
    """Return the shardings of results: the requested ones, or else the shardings in their types.

    They are on a mesh with devices of `like`, or else on an abstract mesh.  Where the function
    uses another abstract mesh, they are on one of its axes with the devices of a mesh of that size.
    """
    if all(a.explicit is None for a in avals):
        return tuple(requested)
    meshes = [x.mesh if isinstance(x, NamedSharding) else x for x in like]
    concrete = {m.shape_tuple: m for m in meshes if isinstance(m, Mesh)}
    requested = [*requested] or [None] * len(avals)
    shardings = []
    for aval, own in zip(avals, requested, strict=True):
        typed: NamedSharding | None = aval.explicit
        if own is None and typed is not None and typed.mesh.are_all_axes_explicit:
            mesh = concrete.get(typed.mesh.shape_tuple)
            mesh = _reshaped(concrete.values(), typed.mesh) if mesh is None else mesh
            own = typed if mesh is None else typed.update(mesh=mesh.of_types(typed.mesh.axis_types))
        shardings.append(own)
    return tuple(shardings)


def _reshaped(meshes: Iterable[Mesh], like: AnyMesh) -> Mesh | None:
    """Return the devices of the first mesh of the size of `like`, with the axes of `like`."""
    found = next((m for m in meshes if m.size == like.size), None)
    return found and Mesh(found.devices.reshape(like.axis_sizes), like.axis_names, like.axis_types)


def on_context_mesh(
    avals: Sequence[ShapedArray], requested: Sequence[Sharding | None], mesh: AnyMesh | None
) -> tuple[Sharding | None, ...]:
    """Return the shardings of results that a program has with the mesh of the context.

    They are the requested ones, or else on the mesh: whole on each device if all axes are explicit,
    and otherwise the compiler's choice.
    """
    if not isinstance(mesh, Mesh):
        return tuple(requested)
    requested = [*requested] or [None] * len(avals)
    entry = None if mesh.are_all_axes_explicit else PartitionSpec.UNCONSTRAINED
    return tuple([
        NamedSharding(mesh, PartitionSpec(*[entry] * aval.ndim)) if own is None else own
        for aval, own in zip(avals, requested, strict=True)
    ])  # fmt: skip


def laid_results(
    program: Olympuspr, requested: tuple[Sharding | None, ...], ins: Sequence[Sharding | None]
) -> tuple[Sharding | None, ...]:
    """Return the shardings of results, with the layouts that the program chooses for them."""
    laid = {v for eqn in program.eqns if eqn.primitive.chooses_layout for v in eqn.outputs}
    if laid.isdisjoint(program.outvars):
        return requested
    inner = (place for _, place in shardings_in(program) if isinstance(place, Sharding))
    places = (s for s in (*ins, *inner, SingleDeviceSharding(xla.default_device())) if s)
    place = next(places)
    shardings = []
    for var, own in zip(program.outvars, requested or [None] * len(program.outvars), strict=True):
        if own is None and var in laid:
            own = place
            if isinstance(place, NamedSharding):
                entries = [PartitionSpec.UNCONSTRAINED] * var.aval.ndim
                own = NamedSharding(place.mesh, PartitionSpec(*entries))
            own = own.with_layout(Layout.AUTO)
        shardings.append(own)
    return tuple(shardings)
