"""`olympus.experimental.mesh_utils`: the devices of a mesh in an order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_core.base.errors import ShardingError
from olympus_core.library.device import local_devices

device_kind_handler_dict: dict[str, Callable[..., Any]] = {}


def create_device_mesh(
    mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    contiguous_submeshes: bool = False,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Return devices as an array of the shape of a mesh, for `olympus.sharding.Mesh`.

    devices: as many as the product of `mesh_shape`, in order; by default all devices. The other
    arguments have no effect. A function of `device_kind_handler_dict` for the kind of the devices
    may return another order.

    Raises ShardingError if the number of devices is not the size of the mesh.

    >>> create_device_mesh((1, 1), devices()[:1]).shape
    (1, 1)
    """
    every = list(local_devices() if devices is None else devices)
    if math.prod(mesh_shape) != len(every):
        raise ShardingError(
            f"Number of devices {len(every)} must equal the product of mesh_shape {mesh_shape}"
        )
    handler = device_kind_handler_dict.get(getattr(every[0], "device_kind", ""))
    if handler is not None:
        found = handler(mesh_shape, every, contiguous_submeshes=contiguous_submeshes)
        if found is not None:
            return np.asarray(found)
    mesh = np.empty(len(every), object)
    mesh[:] = every
    return mesh.reshape(tuple(mesh_shape))


def create_hybrid_device_mesh(
    mesh_shape: Sequence[int],
    dcn_mesh_shape: Sequence[int],
    devices: Sequence[Any] | None = None,
    *,
    process_is_granule: bool = False,
    should_sort_granules_by_key: bool = True,
    allow_split_physical_axes: bool = False,
) -> np.ndarray[Any, Any]:
    """Return devices as an array whose axes join those within groups and between groups.

    mesh_shape: the shape within each group of devices with a fast connection.
    dcn_mesh_shape: the shape of the groups, which a network connects. A group is the devices of a
    slice (`slice_index`), or of a process if `process_is_granule`. The axis i of the result has
    mesh_shape[i] * dcn_mesh_shape[i] devices.

    Raises ShardingError if the number of groups is not the size of `dcn_mesh_shape`, and for
    devices without slices.

    >>> create_hybrid_device_mesh((1, 1), (1, 1), devices()[:1], process_is_granule=True).shape
    (1, 1)
    """
    every = list(local_devices() if devices is None else devices)
    attribute = "process_index" if process_is_granule else "slice_index"
    groups: dict[Any, list[Any]] = {}
    for device in every:
        if not hasattr(device, attribute):
            raise ShardingError(
                f"Device {device} does not have attribute {attribute}. See `process_is_granule` "
                "option"
            )
        groups.setdefault(getattr(device, attribute), []).append(device)
    keys = sorted(groups) if should_sort_granules_by_key else list(groups)
    if math.prod(dcn_mesh_shape) != len(keys):
        raise ShardingError(
            f"Number of slices {len(keys)} must equal the product of dcn_mesh_shape "
            f"{dcn_mesh_shape}"
        )
    blocks = [create_device_mesh(mesh_shape, groups[k]) for k in keys]
    order = np.arange(len(keys)).reshape(tuple(dcn_mesh_shape))
    mesh = np.vectorize(lambda i: blocks[i], otypes=[object])(order)
    joined = np.block(mesh.tolist())
    return np.asarray(joined)
