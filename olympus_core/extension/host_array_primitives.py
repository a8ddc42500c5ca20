"""The primitives of `multihost_utils`, which one process binds to whole arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_core.base.avals import ShapedArray, shaped
from olympus_core.base.errors import BackendError
from olympus_core.extension.composed import ComposedPrimitive
from olympus_core.ir.primitive import Batched
from olympus_core.library.host_arrays import (
    global_array_to_host_local_array,
    host_local_array_to_global_array,
)
from olympus_core.placement.mesh import Mesh
from olympus_core.placement.partition_spec import PartitionSpec


class ProcessFailureError(BackendError):
    """Raised for the failure of other processes of a program: `failed_devices` are theirs.

    A program of one process never raises it.
    """

    def __init__(self, failed_devices: set[Any]) -> None:
        self.failed_devices = failed_devices
        super().__init__(f"Devices failed: {failed_devices}")


def host_local_array_to_global_array_impl(
    arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Any:
    """Return an array on a mesh: the part of this process is the whole array.

    Raises ArgumentError for a `pspec` that is None.

    >>> mesh = make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array_impl(np.arange(2), global_mesh=mesh, pspec=P("x")).shape
    (2,)
    """
    return host_local_array_to_global_array(arr, global_mesh, pspec)


def global_array_to_host_local_array_impl(
    arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec
) -> Any:
    """Return the part of an array that this process has: the whole array.

    Raises ArgumentError for a `pspec` that is None.

    >>> mesh = make_mesh((1,), ("x",))
    >>> global_array_to_host_local_array_impl(np.arange(2), global_mesh=mesh, pspec=P("x")).shape
    (2,)
    """
    return global_array_to_host_local_array(arr, global_mesh, pspec)


def ltg_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> ShapedArray:
    """Return the type of the array of all processes, of which `arr` is the part of one: the same.

    >>> ltg_abstract_eval(ShapeDtypeStruct((2,), "int32"), global_mesh=mesh, pspec=P())
    ShapedArray(int32[2])
    """
    return shaped(tuple(arr.shape), arr.dtype)


def gtl_abstract_eval(arr: Any, *, global_mesh: Mesh, pspec: PartitionSpec) -> ShapedArray:
    """Return the type of the part of an array that one process has: the array's own.

    >>> gtl_abstract_eval(ShapeDtypeStruct((2,), "int32"), global_mesh=mesh, pspec=P())
    ShapedArray(int32[2])
    """
    return shaped(tuple(arr.shape), arr.dtype)


class _OnMesh(ComposedPrimitive):
    """An array on a mesh, in the sharding `pspec`; its mapped axes are not split."""

    def abstract_eval(self, *avals: ShapedArray, **params: Any) -> Any:
        return ltg_abstract_eval(avals[0], **params), frozenset()

    def batch(
        self, batched: Batched, args: Sequence[Any], dims: Sequence[int | None], **params: Any
    ) -> tuple[Any, Any]:
        return self.bind(args[0], **_batched(params, dims[0], batched.spmd)), dims[0]


def _batched(params: dict[str, Any], dim: int | None, axes: Any) -> dict[str, Any]:
    entries = list(params["pspec"])
    if dim is not None:
        entries.extend([None] * (dim - len(entries)))
        entries.insert(dim, axes)
    return params | {"pspec": PartitionSpec(*entries)}


def _of_tree(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda arr, *, global_mesh, pspec: function(arr, global_mesh, pspec)


def ltg_batcher(
    insert_axis: bool,
    axis_data: Any,
    vals_in: Sequence[Any],
    dims_in: Sequence[int | None],
    global_mesh: Mesh,
    pspec: PartitionSpec,
) -> tuple[Any, int | None]:
    """Return the array of all processes of a mapped array, and its mapped axis.

    The mapped axis is split along the axes `axis_data.spmd_name` of the mesh, if that is given.
    `insert_axis` has no effect.

    >>> mesh = make_mesh((1,), ("x",))
    >>> ltg_batcher(False, None, [np.ones((2, 3))], [0], mesh, P("x"))[1]
    0
    """
    (x,), (d,) = vals_in, dims_in
    params = {"global_mesh": global_mesh, "pspec": pspec}
    names = getattr(axis_data, "spmd_name", None)
    return host_local_array_to_global_array_p.bind(x, **_batched(params, d, names)), d


host_local_array_to_global_array_p = _OnMesh(
    "host_local_array_to_global_array", _of_tree(host_local_array_to_global_array)
)
global_array_to_host_local_array_p = _OnMesh(
    "global_array_to_host_local_array", _of_tree(global_array_to_host_local_array)
)
