"""The shardings in types, and the types of arrays on meshes of `Auto` axes, as users see them.

Programs do not depend on a mesh of `Auto` axes, and their types are without it. A function may see
it while it is traced: the key of a trace has it beside the types.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from olympus_core.arrays.device_array import DeviceArray
from olympus_core.base import dtypes
from olympus_core.base.avals import ShapedArray, register_aval, shaped
from olympus_core.base.context import state, switched
from olympus_core.base.descriptions import ShapeDtypeStruct
from olympus_core.base.errors import ShardingError, ShardingTypeError
from olympus_core.placement.mesh import AbstractMesh, Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import NamedSharding, Sharding, is_on_host


def typed_sharding(sharding: Any, ndim: int) -> NamedSharding | None:
    """Return the sharding in the type of an array of `ndim` dimensions with the given sharding.

    It names explicit axes only, without those of size 1 if `remove_size_one_mesh_axis_from_type` is
    on, and has an entry for each dimension; None without such axes.

    >>> typed_sharding(NamedSharding(mesh, P("data")), 2).spec
    P('data', None)
    """
    if sharding.__class__ is not NamedSharding:
        return None
    if not (sharding.mesh.has_explicit_axes or sharding.spec.has_sets):
        return None
    return _typed_sharding(sharding, ndim, state.remove_size_one_mesh_axis_from_type)


def _explicit_of(sharding: Any, shape: tuple[int, ...]) -> NamedSharding | None:
    typed = typed_sharding(sharding, len(shape))
    if typed is not None:
        typed.check_shape(shape, "an array")
    return typed


ShapedArray.explicit_of = staticmethod(_explicit_of)


@functools.lru_cache(maxsize=4096)
def _typed_sharding(sharding: NamedSharding, ndim: int, removes_ones: bool) -> NamedSharding:
    mesh: AbstractMesh = sharding.mesh.abstract_mesh
    ones = frozenset([n for n, size in mesh.shape_tuple if removes_ones and size == 1])
    explicit, spec = frozenset(mesh.explicit_axes) - ones, sharding.spec
    entries = [tuple([n for n in spec.axes(d) if n in explicit]) for d in range(ndim)]
    sets = {"unreduced": spec.unreduced - ones, "reduced": spec.reduced - ones}
    return NamedSharding(mesh, PartitionSpec(*entries, **sets))


def _struct_aval(x: ShapeDtypeStruct) -> ShapedArray:
    axes = x.manual_axis_type
    varying = frozenset[Any]() if axes is None else axes.varying
    aval = shaped(x.shape, dtypes.canonicalize(x.dtype), x.weak_type, varying)
    aval = aval.with_memory(is_on_host(x.sharding))
    return aval.with_sharding(typed_sharding(x.sharding, aval.ndim))


register_aval(ShapeDtypeStruct, _struct_aval)


class TypeOnMesh(ShapedArray):
    """The type of an array on a mesh that no explicit axis splits; `plain` is without the mesh."""

    __slots__ = ("mesh", "plain")
    mesh: AbstractMesh
    plain: ShapedArray

    @property
    def sharding(self) -> NamedSharding:
        """The sharding on the mesh, which splits no dimension."""
        return NamedSharding(self.mesh, PartitionSpec(*[None] * self.ndim))

    def __reduce__(self) -> tuple[Any, ...]:
        return on_mesh, (self.plain, self.mesh)


#: the classes of arguments that have a place
_PLACED = DeviceArray, ShapeDtypeStruct
#: the classes of most arguments without a mesh
_UNPLACED = frozenset([DeviceArray, np.ndarray, float, int])
_types: dict[tuple[ShapedArray, AbstractMesh], TypeOnMesh] = {}


def on_mesh(aval: ShapedArray, mesh: AbstractMesh | None) -> ShapedArray:
    """Return a type on a mesh; unchanged for None."""
    if mesh is None:
        return aval
    key = aval, mesh
    known = _types.get(key)
    if known is None:
        fields = aval.shape, aval.dtype, aval.weak_type, aval.vma, aval.explicit, aval.on_host
        new = TypeOnMesh._unchecked(*fields)
        assert isinstance(new, TypeOnMesh)
        new.mesh, new.plain = mesh, aval
        known = _types.setdefault(key, new)
    return known


def visible_type(aval: ShapedArray, sharding: Sharding) -> ShapedArray:
    """Return the type of an array with a sharding, as users see it."""
    is_plain = aval.explicit is None and sharding.__class__ is NamedSharding
    if not is_plain or not isinstance(sharding, NamedSharding):
        return aval
    mesh = sharding.mesh
    return on_mesh(aval, mesh.abstract_mesh) if isinstance(mesh, Mesh) else aval


def array_mesh(x: Any) -> AbstractMesh | None:
    """Return the mesh in the type of an array; None for one without a mesh."""
    aval = x.aval
    if aval.__class__ is TypeOnMesh:
        mesh: AbstractMesh = aval.mesh
        return mesh
    return None if aval.explicit is None else aval.explicit.mesh


def argument_mesh(arguments: Sequence[Any]) -> AbstractMesh | None:
    """Return the mesh of `Auto` axes of the arguments of a function, arrays or descriptions.

    None if they are on no mesh, on several, or on one with explicit axes. A function that is traced
    sees it in the types of values, so that another one needs another trace.
    """
    found: AbstractMesh | None = None
    for x in arguments:
        if x.__class__ in _UNPLACED or not isinstance(x, _PLACED):
            continue
        sharding = x.sharding
        if sharding.__class__ is NamedSharding:
            mesh = sharding.mesh.abstract_mesh
            if mesh.has_explicit_axes or (found is not None and mesh != found):
                return None
            found = mesh
    return found


def on_argument_mesh(arguments: Sequence[Any]) -> AbstractContextManager[None]:
    """Within the context, types that users see are on the mesh of the arguments of a function."""
    mesh = argument_mesh(arguments)
    return contextlib.nullcontext() if mesh is None else switched("argument_mesh", mesh)


def check_meshes(name: str, arrays: Sequence[Any], context: Mesh | None) -> None:
    """Raise for arrays on other meshes than the `context`, or on two, if an axis is explicit.

    An array may be on the mesh of an outer context, and a whole one on the same mesh with axes of
    other types: `auto_axes` creates such arrays.  The errors are ShardingError, and
    ShardingTypeError for two meshes.
    """
    meshes = {mesh: x for x in arrays if (mesh := array_mesh(x)) is not None}
    if context is None:
        if len(meshes) > 1 and any(mesh.has_explicit_axes for mesh in meshes):
            one, other = list(meshes)[:2]
            types = ", ".join([x.aval.short_name() for x in arrays])
            raise ShardingTypeError(
                f"{name}: Mesh for all inputs should be equal. Got one mesh: {one} and another "
                f"mesh: {other}: the operands are {types}",
                hint="put the arrays on one mesh with device_put",
            )
        return
    own = context.abstract_mesh
    outer = [before.abstract_mesh for _, before in state.mesh_contexts if before is not None]
    for x in arrays:
        mesh = array_mesh(x)
        if mesh is None or mesh == own or mesh in outer:
            continue
        if x.is_fully_replicated and mesh.shape_tuple == own.shape_tuple:
            continue
        if mesh.has_explicit_axes or own.has_explicit_axes:
            raise ShardingError(
                f"For primitive {name}, context mesh {own} should match the aval mesh {mesh} for "
                f"shape {x.aval.long_name()}",
                hint="put the array on the mesh of the context, or leave the context",
            )
