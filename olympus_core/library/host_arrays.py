"""`olympus.experimental.multihost_utils`, for the one process that runs a program."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from olympus_core.arrays.device_array import DeviceArray, array_to_numpy
from olympus_core.arrays.sharded_array import put_on
from olympus_core.base import tree
from olympus_core.base.errors import ArgumentError, BackendError
from olympus_core.ir.tracer import Tracer
from olympus_core.library.device import device_put
from olympus_core.placement.mesh import Mesh
from olympus_core.placement.partition_spec import PartitionSpec
from olympus_core.placement.sharding import (
    NamedSharding,
    Sharding,
)


def _host(x: Any) -> np.ndarray[Any, Any]:
    return array_to_numpy(x) if isinstance(x, DeviceArray) else np.asarray(x)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """Return the arrays of all processes as NumPy arrays.

    An array has one more dimension, for the processes, unless `tiled`, which concatenates them:
    with one process the first dimension has the size 1.

    >>> process_allgather(np.arange(3))
    array([[0, 1, 2]])
    """
    return tree.map(lambda x: _host(x) if tiled else _host(x)[None], in_tree)


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """Return the arrays of the first process as NumPy arrays; `is_source` has no effect on one.

    >>> broadcast_one_to_all({"step": 3})
    {'step': array(3)}
    """
    return tree.map(_host, in_tree)


def sync_global_devices(name: str) -> None:
    """Return when all processes have called it: with one process, immediately.

    >>> sync_global_devices("after the checkpoint")
    """


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raise an error if the values differ between processes: they never do with one.

    >>> assert_equal({"step": 3}, "the steps differ")
    """


def live_devices(devices: Any) -> NoReturn:
    """Raise BackendError: only programs of several processes can lose devices.

    >>> live_devices(devices())
    Traceback (most recent call last):
      ...
    olympus.errors.BackendError: live_devices needs a program of several processes: ...
    """
    raise BackendError(
        "live_devices needs a program of several processes: Distributed JAX not initialized",
        hint="leave the call out: one process has all of its devices",
    )


def reached_preemption_sync_point(step_id: int) -> bool:
    """Return True if the processes should save before they are stopped: False with one.

    >>> reached_preemption_sync_point(1)
    False
    """
    return False


def host_local_array_to_global_array(local_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Return a tree of arrays, which each process has a part of, on a mesh of all processes.

    pspecs: a PartitionSpec for each array, or a tree prefix. Raises ArgumentError for None.

    >>> mesh = make_mesh((1,), ("x",))
    >>> host_local_array_to_global_array(np.arange(2), mesh, P("x")).sharding.spec
    P('x',)
    """

    def put(x: Any, sharding: Sharding) -> Any:
        return x if isinstance(x, Tracer) else put_on(x, sharding)

    return _on_mesh("host_local_array_to_global_array", put, local_inputs, global_mesh, pspecs)


def global_array_to_host_local_array(global_inputs: Any, global_mesh: Mesh, pspecs: Any) -> Any:
    """Return the parts of arrays that this process has: with one, the whole arrays on the mesh.

    pspecs: a PartitionSpec for each array, or a tree prefix. Raises ArgumentError for None.

    >>> mesh = make_mesh((1,), ("x",))
    >>> global_array_to_host_local_array(np.arange(2), mesh, P("x")).shape
    (2,)
    """

    def put(x: Any, sharding: Sharding) -> Any:
        return x if isinstance(x, DeviceArray | Tracer) else put_on(x, sharding)

    return _on_mesh("global_array_to_host_local_array", put, global_inputs, global_mesh, pspecs)


def _on_mesh(caller: str, put: Any, inputs: Any, mesh: Mesh, pspecs: Any) -> Any:
    leaves, treedef = tree.flatten(inputs)
    full = treedef.unflatten(range(len(leaves)))
    specs = [None] if pspecs is None else tree.prefix_leaves(caller, "pspecs", pspecs, full)
    if any(not isinstance(spec, PartitionSpec) for spec in specs):
        raise ArgumentError(
            f"`None` is not a valid input to the pspecs argument of {caller}: it needs "
            f"PartitionSpecs, and got {pspecs!r:.80}",
            hint="write P() for an array that each device has whole",
        )
    columns = zip(leaves, specs, strict=True)
    return treedef.unflatten([put(x, NamedSharding(mesh, spec)) for x, spec in columns])


def make_array_from_process_local_data(
    sharding: Sharding, local_data: Any, global_shape: Any = None
) -> Any:
    """Return a tree of arrays with a sharding, of the parts that each process has: the whole.

    Raises ArgumentError for another `global_shape` than that of the data, ShardingError for a
    sharding that cannot split it.

    >>> rows = NamedSharding(make_mesh((1,), ("x",)), P("x"))
    >>> make_array_from_process_local_data(rows, np.arange(2)).shape
    (2,)
    """
    if global_shape is not None:
        shapes = tree.map(lambda x: np.shape(x), local_data)
        if tree.leaves(shapes) != tree.leaves(global_shape):
            raise ArgumentError(
                "When calling `make_array_from_process_local_data` on a single process, "
                "global_shape should be None or equal to local_data.shape. Got "
                f"{global_shape=} and local_data.shape={shapes}"
            )
    return device_put(local_data, sharding)
