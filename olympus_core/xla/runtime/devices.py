"""The backends and their devices, and the devices of a target that are not attached.

The client of a backend starts at the first query of its devices. `backends`, for `olympus doctor`,
starts no accelerator, and a missing part is not an error.
"""

from __future__ import annotations

from typing import NamedTuple

from olympus_core.base.errors import BackendError, UsageError
from olympus_core.xla.bindings import JAXLIB_VERSION, Device
from olympus_core.xla.runtime.cpu import cpu_client
from olympus_core.xla.runtime.gpu import (
    INSTALL,
    WHEEL,
    compile_only_devices,
    gpu_client,
    plugin_path,
    plugin_version,
    target_of,
)
from olympus_core.xla.targets.targets import Target, Topology, known_devices, target

NO_TPU = "this version of OLYMPUS compiles for cpu and gpu"


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
    if backend == "gpu":
        return list(gpu_client().local_devices())
    raise BackendError(
        f"the tpu backend is not available: {NO_TPU}",
        hint="a program for tpu can be traced and lowered to StableHLO, but not compiled",
    )


def topology_devices(target: Target) -> tuple[Device, ...]:
    """Return the devices of a target that may be absent: programs are compiled for them, not run.

    They are in the order of the hosts, and equal for equal targets. Without a topology there is
    one.

    Raises:
      BackendError: the wheel is missing; the hint is the line that installs it.
      UsageError: the target names no GPU.

    Example:
      >>> Mesh(topology_devices(target("gpu", "8xh200")), ("data",)).size
      8
    """
    if target.backend != "gpu" or target.device is None:
        raise UsageError(
            f"{target} names no GPU to compile for",
            hint='name a GPU, as in olympus.target("gpu", "8xh200")',
        )
    return compile_only_devices(target._replace(topology=target.topology or Topology()))


def absent_target(device: Device) -> Target | None:
    """Return the target of a device from `topology_devices`; None for an attached device."""
    if device.platform != "gpu":
        return None
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
    return (_cpu(), _gpu(), _tpu())


def _cpu() -> BackendStatus:
    names = tuple(f"cpu:{device.id}" for device in cpu_client().local_devices())
    return BackendStatus("cpu", True, names, "compiles and runs here", None)


def _gpu() -> BackendStatus:

    kinds = known_devices("gpu")
    try:
        plugin_path()
    except BackendError as exc:
        return BackendStatus("gpu", False, kinds, str(exc), INSTALL)
    return BackendStatus("gpu", True, kinds, "compiles for these devices without having one", None)


def _tpu() -> BackendStatus:
    return BackendStatus("tpu", False, (), NO_TPU, None)


def versions() -> dict[str, str]:
    """Return the versions of jaxlib and, if it is installed, of the GPU compiler's wheel."""

    versions_by_package = {"jaxlib": JAXLIB_VERSION}
    if (plugin := plugin_version()) is not None:
        versions_by_package[WHEEL] = plugin
    return versions_by_package
