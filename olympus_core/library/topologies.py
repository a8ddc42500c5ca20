"""`olympus.experimental.topologies`: devices that need not be attached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_core import xla
from olympus_core.base.errors import UnsupportedError
from olympus_core.library.device_meshes import create_device_mesh
from olympus_core.placement.mesh import Mesh


class TopologyDescription:
    """The devices of a topology.

    >>> TopologyDescription(devices()).devices == devices()
    True
    """

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = list(devices)


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Return the devices of a platform that this process has.

    >>> get_attached_topology("cpu").devices == devices()
    True
    """
    return TopologyDescription(xla.devices(platform))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """Return the devices of a target: GPUs or TPUs, which programs are compiled for.

    topology_name: the name of a target, such as "8xh200" or "v5e:4x4". platform: "gpu", "cuda" or
    "tpu"; by default that of the name. Options of JAX's plugins, in `kwargs`, have no effect here,
    and are refused.

    Raises UnsupportedError for another platform and for options, and the errors of `target`.

    >>> len(get_topology_desc("8xh200", "gpu").devices)
    8
    """
    if kwargs:
        raise UnsupportedError(f"get_topology_desc takes no options, and got {sorted(kwargs)}")
    names = {"cuda": "gpu", "gpu": "gpu", "tpu": "tpu"}
    backend = platform or xla.backend_of(topology_name)
    if backend not in names:
        raise UnsupportedError(
            f"topology not implemented for {backend}: get_topology_desc describes GPUs and TPUs",
            hint="use get_attached_topology()",
        )
    return TopologyDescription(
        xla.topology_devices(xla.target(names[backend], topology_name or None))
    )


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Return a mesh of all devices of a topology, whose axes have the type `Auto`.

    Raises ShardingError if their number is not the product of `mesh_shape`.

    >>> make_mesh(TopologyDescription(devices()[:1]), (1, 1), ("x", "y")).size
    1
    """
    devices = create_device_mesh(
        mesh_shape, topo.devices, contiguous_submeshes=contiguous_submeshes
    )
    return Mesh(devices, axis_names)
