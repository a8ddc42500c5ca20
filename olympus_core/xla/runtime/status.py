"""The backends that can compile and run here, for `olympus doctor`.

This module starts no accelerator, and a missing part is not an error.
"""

from __future__ import annotations

from typing import NamedTuple

from olympus_core.base.errors import BackendError
from olympus_core.xla.door import JAXLIB_VERSION
from olympus_core.xla.runtime.cpu import cpu_client
from olympus_core.xla.runtime.devices import NO_TPU
from olympus_core.xla.runtime.gpu import INSTALL, WHEEL, plugin_path, plugin_version
from olympus_core.xla.targets.targets import known_devices


class BackendStatus(NamedTuple):
    """One backend: `available` to compile for; `install` is the line that would make it so."""

    name: str
    available: bool
    devices: tuple[str, ...]
    note: str
    install: str | None


def backends() -> tuple[BackendStatus, ...]:
    """Return the state of every backend, in the order cpu, gpu, tpu."""
    return (_cpu(), _gpu(), _tpu())


def _cpu() -> BackendStatus:
    found = tuple(f"cpu:{device.id}" for device in cpu_client().local_devices())
    return BackendStatus("cpu", True, found, "compiles and runs here", None)


def _gpu() -> BackendStatus:

    known = known_devices("gpu")
    try:
        plugin_path()
    except BackendError as exc:
        return BackendStatus("gpu", False, known, str(exc), INSTALL)
    return BackendStatus("gpu", True, known, "compiles for these devices without having one", None)


def _tpu() -> BackendStatus:
    return BackendStatus("tpu", False, (), NO_TPU, None)


def versions() -> dict[str, str]:
    """Return the versions of jaxlib and, if it is installed, of the GPU compiler's wheel."""

    found = {"jaxlib": JAXLIB_VERSION}
    if (plugin := plugin_version()) is not None:
        found[WHEEL] = plugin
    return found
