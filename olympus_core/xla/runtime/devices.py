"""The backends and their devices, and the devices of a target that are not attached.

The client of a backend starts at the first query of its devices. `backends`, for `olympus doctor`,
starts no accelerator, and a missing part is not an error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from olympus_core.base.errors import BackendError, UsageError
from olympus_core.placement.physical_axes import device_order
from olympus_core.xla.bindings import JAXLIB_VERSION, Device
from olympus_core.xla.runtime.absent_devices import PLUGINS, compile_only_devices, target_of
from olympus_core.xla.runtime.cpu import cpu_client
from olympus_core.xla.runtime.gpu import gpu_client
from olympus_core.xla.runtime.tpu import tpu_client
from olympus_core.xla.targets.targets import (
    Target,
    device_model,
    full_topology,
    known_devices,
    target,
)
from olympus_core.xla.targets.topologies import Torus


def devices(backend: str | None = None, requested: int = 1) -> list[Device]:
    """Return the devices of a backend that can run programs here; by default "cpu".

    `requested` is the number of devices that the caller needs, for a CPU that is not started: see
    `cpu_client`.

    Raises:
      BackendError: the backend is not present; the message has the install line.
      UsageError: no backend has this name.
    """
    if backend in (None, "cpu"):
        return list(cpu_client(requested).local_devices())
    target(str(backend))
    client = gpu_client() if backend == "gpu" else tpu_client()
    return list(client.local_devices())


def is_attached(backend: str) -> bool:
    """Return True if this machine has a device of a backend; no library is loaded.

    >>> is_attached("cpu")
    True
    """
    return backend not in PLUGINS or PLUGINS[backend].is_attached()


def runs_here(target: Target) -> bool:
    """Return True if this machine has a device of the kind that a target names.

    For a GPU, its runtime starts.
    """
    if target.backend == "cpu":
        return True
    model = device_model(target)
    if target.backend != "gpu" or model is None or not is_attached("gpu"):
        return False
    try:
        kinds = {str(device.device_kind) for device in devices("gpu")}
    except BackendError:
        return False
    return model.product in kinds


def check_attached(target: Target) -> None:
    """Raise BackendError if the target is a TPU and this machine has none; no library is loaded."""
    if target.backend == "tpu" and not is_attached("tpu"):
        name = target.name or "TPUs"
        raise BackendError(f"the program is for {name}, and this machine has no TPU to run on")


def topology_devices(target: Target) -> tuple[Device, ...]:
    """Return the devices of a target that may be absent: programs are compiled for them, not run.

    They are in the order of the hosts, and equal for equal targets. Without a topology there is
    one.

    Raises:
      BackendError: the compiler is missing; the hint is the line that installs it.
      UsageError: the target names no GPU or TPU.

    Example:
      >>> Mesh(topology_devices(target("gpu", "8xh200")), ("data",)).size
      8
    """
    if target.device is None:
        plugin = PLUGINS.get(target.backend, PLUGINS["gpu"])
        raise UsageError(
            f"{target} names no device to compile for",
            hint=f'name one, as in olympus.target("{plugin.backend}", "8x{plugin.example}")',
        )
    return compile_only_devices(target._replace(topology=full_topology(target)))


def mesh_devices(target: Target, axis_sizes: Sequence[int]) -> Sequence[Device]:
    """Return the devices of a target for a mesh of these axes, in row-major order of the mesh.

    On a torus the axes of the mesh are assigned to physical axes, as `assign_axes` does. A mesh
    that does not have all devices gets them in the order of `topology_devices`.

    Raises:
      BackendError, UsageError: as `topology_devices` does.
    """
    devices = topology_devices(target)
    places = mesh_positions(target, axis_sizes)
    if places is None:
        return devices
    by_place = dict(zip(positions_of(devices), devices, strict=True))
    return tuple(by_place[place] for place in places)


def arranged(devices: tuple[Device, ...], axis_sizes: Sequence[int]) -> tuple[Device, ...]:
    """Return the devices for a mesh: all devices of an absent slice in the order of the mesh."""
    target = absent_target(devices[0]) if devices else None
    if target is None or devices != topology_devices(target):
        return devices
    return tuple(mesh_devices(target, axis_sizes))


def positions_of(devices: Sequence[Device]) -> list[tuple[int, ...]]:
    """Return the position of each device of a TPU: the chip along each axis, and its core."""
    return [(*device.coords, device.core_on_chip) for device in devices]


def mesh_positions(target: Target, axis_sizes: Sequence[int]) -> list[tuple[int, ...]] | None:
    """Return the position of each device of a mesh on the torus of a target, in row-major order.

    None for another topology, and for a mesh that does not have all devices of the torus.
    """
    torus = full_topology(target)
    if not isinstance(torus, Torus) or math.prod(axis_sizes) != torus.num_devices:
        return None
    sizes = [*torus.sizes, 1][:3]  # a place has three coordinates
    order = device_order(axis_sizes, torus.physical_axes)
    grid = np.array(np.unravel_index(order, (*sizes, torus.devices_per_chip))).T
    return [tuple(map(int, place)) for place in grid]


def absent_target(device: Device) -> Target | None:
    """Return the target of a device from `topology_devices`; None for an attached device."""
    return target_of(device)


class BackendStatus(NamedTuple):
    """The state of a backend: its devices, and the install line if it is not `available`."""

    name: str
    available: bool
    devices: tuple[str, ...]
    note: str
    install: str | None


def backends() -> tuple[BackendStatus, ...]:
    """Return the state of every backend, in the order cpu, gpu, tpu.

    >>> [(status.name, status.available) for status in backends()][0]
    ('cpu', True)
    """
    return (_cpu(), *map(_accelerator, PLUGINS))


def _cpu() -> BackendStatus:
    names = tuple(f"cpu:{device.id}" for device in cpu_client().local_devices())
    return BackendStatus("cpu", True, names, "compiles and runs here", None)


def _accelerator(backend: str) -> BackendStatus:
    plugin, kinds = PLUGINS[backend], known_devices(backend)
    try:
        plugin.path()
    except BackendError as exc:
        return BackendStatus(backend, False, kinds, str(exc), plugin.install)
    note = "compiles for these devices without having one"
    return BackendStatus(backend, True, kinds, note, None)


def versions() -> dict[str, str]:
    """Return the versions of jaxlib and of the installed compilers of accelerators.

    >>> "jaxlib" in compiler_versions()
    True
    """
    found = {plugin.package: plugin.version() for plugin in PLUGINS.values()}
    return {"jaxlib": JAXLIB_VERSION, **{name: v for name, v in found.items() if v is not None}}
