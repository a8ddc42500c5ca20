"""The devices of a backend, and of a target whose devices are not attached.

A client starts at the first query of its backend.
"""

from __future__ import annotations

from olympus_core.base.errors import BackendError, UsageError
from olympus_core.xla.door import Device
from olympus_core.xla.runtime.cpu import cpu_client
from olympus_core.xla.runtime.gpu import compile_only_devices, gpu_client, target_of
from olympus_core.xla.targets.targets import Target, Topology, target

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
            f"{target} has no devices that programs can be compiled for without having them",
            hint='name a GPU, as in olympus.target("gpu", "8xh200")',
        )
    return compile_only_devices(target._replace(topology=target.topology or Topology()))


def absent_target(device: Device) -> Target | None:
    """Return the target of a device from `topology_devices`; None for an attached device."""
    if device.platform != "gpu":
        return None
    return target_of(device)
