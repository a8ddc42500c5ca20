"""The mesh of a context: what PartitionSpecs without a mesh are of."""

from __future__ import annotations

from typing import Any, overload

from olympus_core import source, trace
from olympus_core.context import state
from olympus_core.errors import ArgumentError, TraceError
from olympus_core.sharding import AnyMesh, NamedSharding, PartitionSpec

__all__ = ["current_mesh", "get_mesh", "named", "set_mesh"]


class set_mesh:
    """The mesh that PartitionSpecs alone are of, from now on, or within a context.

    Then `jit(in_shardings=, out_shardings=)`, `lax.with_sharding_constraint` and `device_put` take
    a PartitionSpec for a NamedSharding, and `shard_map` needs no mesh.  It holds in this thread.
    None is no mesh.  `with mesh:` is the same as `with set_mesh(mesh):`.

    Raises ArgumentError for what is not a mesh, TraceError in a function that is traced.

    >>> with set_mesh(make_mesh((2, 4), ("data", "model"))):
    ...     step = jit(f, in_shardings=P("data"))(x)
    """

    __slots__ = ("_before",)

    def __init__(self, mesh: AnyMesh | None) -> None:
        if mesh is not None and not isinstance(mesh, AnyMesh):
            raise ArgumentError(
                f"set_mesh needs a mesh or None, and got {mesh!r:.80}",
                hint="pass olympus.make_mesh(...)",
            )
        if not trace.at_base():
            raise TraceError(
                f"set_mesh was called in a function that is traced{source.current().place()}",
                hint="set the mesh before the function is called",
            )
        self._before = state.meshes
        state.meshes = (*self._before[:-1], mesh) if self._before else (mesh,)

    def __enter__(self) -> None:
        """The mesh is set already."""

    def __exit__(self, *exc: object) -> None:
        state.meshes = self._before


def current_mesh() -> AnyMesh | None:
    """The mesh of the `shard_map` around the current code, or else of the context; None without."""
    manual = trace.manual_axes()
    return manual[-1].mesh if manual else get_mesh()


def get_mesh() -> AnyMesh | None:
    """The mesh of the context; None without one."""
    found: AnyMesh | None = state.meshes[-1] if state.meshes else None
    return found


@overload
def named(asker: str, where: PartitionSpec) -> NamedSharding: ...
@overload
def named(asker: str, where: Any) -> Any: ...
def named(asker: str, where: Any) -> Any:
    """A PartitionSpec as the sharding on the mesh of the context; any other value as it is.

    Raises ArgumentError without such a mesh, ShardingError for an axis that it does not have.
    """
    if not isinstance(where, PartitionSpec):
        return where
    mesh = current_mesh()
    if mesh is None:
        raise ArgumentError(
            f"{asker} needs a sharding, and got {where}, with no mesh around it",
            hint="pass NamedSharding(mesh, spec), or write `with olympus.set_mesh(mesh):`",
        )
    return NamedSharding(mesh, where)
