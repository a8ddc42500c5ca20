"""The mesh of a context, which PartitionSpecs without a mesh use."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, overload

import numpy as np

from olympus_core.base import source
from olympus_core.base.avals import ShapedArray
from olympus_core.base.context import enter_mesh, leave_mesh, state
from olympus_core.base.errors import ArgumentError, MissingMeshError
from olympus_core.ir import trace
from olympus_core.placement.mesh import AbstractMesh, AnyMesh, AxisType, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding


class set_mesh:
    """Set the mesh of PartitionSpecs without a mesh, from now on, or within a context.

    Then `jit(in_shardings=, out_shardings=)`, `lax.with_sharding_constraint` and `device_put` take
    a PartitionSpec for a NamedSharding, and `shard_map` needs no mesh. Programs run on the devices
    of the mesh, and new arrays are on all of them. It applies to this thread. None, and an empty
    mesh, are no mesh. With an AbstractMesh programs are lowered only.

    Raises ArgumentError for an invalid mesh, and in a function that is traced.

    >>> with set_mesh(make_mesh((2, 4), ("data", "model"), AxisType.Auto)):
    ...     step = jit(f, in_shardings=P("data"))(x)
    """

    __slots__ = ("_before", "_is_new", "_mesh")

    def __init__(self, mesh: AnyMesh | None) -> None:
        if mesh is not None and not isinstance(mesh, AnyMesh):
            raise ArgumentError(
                f"Expected mesh of type `olympus.sharding.Mesh`. Got {type(mesh)}: set_mesh "
                f"needs a mesh or None, and got {mesh!r:.80}",
                hint="pass olympus.make_mesh(...)",
            )
        _check_untraced()
        if mesh is not None and mesh.empty:
            mesh = None
        self._before, self._mesh, self._is_new = context_mesh(), mesh, True
        state.mesh = mesh

    def __enter__(self) -> None:
        """Set the mesh: again, if this is not the first use of the context."""
        _check_untraced()
        is_set = self._is_new and context_mesh() is self._mesh
        enter_mesh(self, self._mesh, self._before if is_set else context_mesh())
        self._is_new = False

    def __exit__(self, *exc: object) -> None:
        if not leave_mesh(self):  # it was not entered
            state.mesh = self._before


def _check_untraced() -> None:
    if not trace.at_base():
        raise ArgumentError(
            "`set_mesh` can only be used outside of `jax.jit`: it was called in a function that is "
            f"traced{source.current_location().place()}",
            hint="set the mesh before the function is called",
        )


NO_MESH = Mesh(np.empty((), object), ())


def get_mesh() -> AnyMesh:
    """Return the mesh that `set_mesh` set; an empty mesh without one.

    Raises ArgumentError in a function that is traced.

    >>> with set_mesh(make_mesh((2,), ("data",))):
    ...     get_mesh().axis_names
    ('data',)
    """
    if not trace.at_base():
        raise ArgumentError(
            "`get_mesh` can only be used outside of `jax.jit`. Maybe you want "
            "`jax.sharding.get_abstract_mesh()`: it was called in a function that is "
            f"traced{source.current_location().place()}",
            hint="use get_abstract_mesh()",
        )
    return context_mesh() or NO_MESH


def context_mesh() -> AnyMesh | None:
    """Return the mesh of the context; None without one."""
    mesh: AnyMesh | None = state.mesh
    return mesh


def current_mesh() -> AnyMesh | None:
    """Return the mesh of the enclosing `shard_map`, or else of the context; None without one."""
    manual = trace.manual_axes()
    return manual[-1].mesh if manual else context_mesh()


def abstract_mesh() -> AbstractMesh:
    """Return the mesh of the running code without its devices; an empty mesh if there is none.

    In a `shard_map`, the axes that it maps over have the type `AxisType.Manual`.

    >>> with set_mesh(make_mesh((2,), ("data",))):
    ...     get_abstract_mesh()
    AbstractMesh('data': 2, axis_types=(Explicit,))
    """
    mesh = current_mesh()
    if mesh is None:
        return AbstractMesh((), ())
    manual = {axis[0]: AxisType.Manual for axis in trace.manual_axes()}
    return mesh.abstract_mesh.update_axis_types(manual) if manual else mesh.abstract_mesh


def _unsharded(ndim: int) -> NamedSharding:
    """Return the sharding in a type that has none, on the mesh of the running code.

    Without one it is the mesh of the arguments of the function that is traced.
    """
    mesh = abstract_mesh()
    if mesh.empty and state.argument_mesh is not None and not trace.at_base():
        mesh = state.argument_mesh
    return NamedSharding(mesh, PartitionSpec(*[None] * ndim))


ShapedArray.unsharded = staticmethod(_unsharded)


def concrete_like(mesh: AnyMesh) -> AnyMesh:
    """Return an abstract mesh with the devices of the mesh of the context, if they have a shape."""
    context = context_mesh()
    if not isinstance(mesh, AbstractMesh) or not isinstance(context, Mesh):
        return mesh
    is_same = context.shape_tuple == mesh.shape_tuple and not trace.manual_axes()
    return context.of_types(mesh.axis_types) if is_same else mesh


@contextlib.contextmanager
def using_mesh(mesh: AnyMesh) -> Iterator[None]:
    """Within the context, use another mesh, also in a function that is traced."""
    owner = object()
    enter_mesh(owner, mesh, state.mesh)
    try:
        yield
    finally:
        leave_mesh(owner)


def use_abstract_mesh(mesh: AbstractMesh) -> contextlib.AbstractContextManager[None]:
    """Within the context, use the axes of `mesh`, with the devices of the mesh around it, if any.

    It may be used in a function that is traced. Raises ArgumentError for another value.

    >>> with use_abstract_mesh(AbstractMesh((2,), ("data",))):
    ...     get_abstract_mesh().axis_names
    ('data',)
    """
    if not isinstance(mesh, AbstractMesh):
        raise ArgumentError(
            "Expected mesh of type `olympus.sharding.AbstractMesh`. Got type: "
            f"{type(mesh)}: use_abstract_mesh got {mesh!r:.80}"
        )
    around = abstract_mesh()
    if not mesh.empty and not around.empty and mesh.size != around.size:
        raise ArgumentError(
            f"use_abstract_mesh cannot change the size of the mesh. Got new mesh: {mesh} with "
            f"size={mesh.size} and prev mesh: {around} with size={around.size}"
        )
    return using_mesh(concrete_like(mesh))


@overload
def named(caller: str, where: PartitionSpec, parameter: str = ...) -> NamedSharding: ...
@overload
def named(caller: str, where: Any, parameter: str = ...) -> Any: ...
def named(caller: str, where: Any, parameter: str = "shardings") -> Any:
    """Return a PartitionSpec as the sharding on the mesh of the context; other values unchanged.

    `caller` is the function whose argument `parameter` it is.  Raises MissingMeshError without such
    a mesh, ShardingError for an axis that it does not have, or that occurs twice.
    """
    if not isinstance(where, PartitionSpec):
        return where
    mesh = current_mesh()
    if mesh is None:
        raise MissingMeshError(
            f"{caller} requires a non-empty mesh in context if you are passing `PartitionSpec`s to "
            f"{parameter}. You can define a context mesh via `jax.set_mesh(mesh)`. Alternatively, "
            f"provide `Sharding`s to {parameter} and then the mesh context manager is not "
            f"required: it got {where}",
            hint="pass NamedSharding(mesh, spec), or write `with olympus.set_mesh(mesh):`",
        )
    where.check_distinct(parameter)
    return NamedSharding(mesh, where)


def _on_context_mesh(spec: PartitionSpec, what: str) -> NamedSharding:
    if current_mesh() is None:
        raise MissingMeshError(
            f"When specifying PartitionSpec to `{what.removeprefix('a ')}`, the context mesh "
            "cannot be empty. Please use `jax.set_mesh` to set the mesh context: it got "
            f"{spec}",
            hint="pass NamedSharding(mesh, spec), or write `with olympus.set_mesh(mesh):`",
        )
    return named(what, spec)


PartitionSpec.on_context_mesh = staticmethod(_on_context_mesh)


def entered(caller: str, where: Any) -> Any:
    """Return `named(caller, where)`, on the mesh that is a context if none is set."""
    meshes: tuple[Mesh, ...] = state.entered_meshes
    if meshes and isinstance(where, PartitionSpec) and current_mesh() is None:
        where.check_distinct("shardings")
        return NamedSharding(meshes[-1], where)
    return named(caller, where)
